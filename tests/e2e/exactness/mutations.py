"""A test that cannot fail is worthless: with a part of the capture taken out, the log alone must no longer tell the table.

    python3 -m exactness.mutations [--seed N]

Each mutation changes litefeed's triggers in a watched file that nobody serves, and the cases run until one is noticed.
"""

import argparse
import itertools
import pathlib
import random
import re
import sys
import tempfile

from harness.values import quoted

from . import log_side
from .case import Case, Deviation, Void
from .sqlite_side import connect

CASES_MAX = 400  # in which there is something to change
STATEMENTS = 500


def dropped(suffix: str):
    """Takes out the triggers whose name ends so."""
    pattern = re.compile(rf"litefeed_\d+_{suffix}")
    return lambda name, sql: None if pattern.fullmatch(name) else sql


def edited(suffix: str, what: str, by: str):
    """Changes the text of the triggers whose name ends so."""
    pattern, text = re.compile(rf"litefeed_\d+_{suffix}"), re.compile(what, re.IGNORECASE)
    return lambda name, sql: text.sub(by, sql) if pattern.fullmatch(name) else sql


GUARD = r"guard_\w+"
MUTATIONS = {
    "no entry of an insert": dropped("insert"),
    "no entry of an update": dropped("update"),
    "no entry of a changed key": dropped("update_key"),
    "no entry of a delete": dropped("delete"),
    "no guard of inserts": dropped(r"guard_insert(_\d+_safe_to_drop)?"),
    "no guard of a changed rowid": dropped("guard_rowid"),
    "no guard of a changed key": dropped("guard_key"),
    "no guard of updates of unique columns": dropped(r"guard_\d+(_safe_to_drop)?"),
    "a changed key without the end of the old one": edited("update_key", r"(BEGIN )INSERT INTO [^;]*OLD\.[^;]*; (INSERT)", r"\1\2"),
    "keys of another class taken for the same": edited("update(_key)?", r"typeof\((?:[^()]*)\)=typeof\((?:[^()]*)\)", "1"),
    "keys compared by their own collation": edited("update(_key)?", r" COLLATE BINARY IS ", " IS "),
    "guards without the collation of the index": edited(GUARD, r'COLLATE "?(?:nocase|rtrim)"?', "COLLATE BINARY"),
    "guards without the default of NOT NULL": edited(GUARD, r'ifnull\((NEW\."(?:[^"]|"")*"),(?:[^()]|\([^()]*\))*\)', r"\1"),
    "guards of an index only when its first column is set": edited(
        GUARD, r'(UPDATE OF "(?:[^"]|"")*"),"(?:[^"]|"")*"(?:,"(?:[^"]|"")*")*', r"\1"),
    "guards of inserts that look at the key only": edited(
        "guard_insert", r" UNION ALL (?:[^'\"]|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")*$", "; END"),
}
NAMES = list(MUTATIONS)


class CaptureCase(Case):
    """One writer, no server: the log is read by hand, between an idle file and its twin."""

    def __init__(self, seed: int, number: int, home: pathlib.Path, mutation):
        super().__init__(seed, number * 5, home, STATEMENTS)  # numbers whose case has one writer
        self.mutation = mutation
        self.changed = 0

    def run(self) -> bool:
        """Whether a trigger was changed. Raises `Deviation` when it was noticed."""
        try:
            self.create()
            self.watch()
            self.mutate()
            if self.changed:
                self.readers, self.chances = [], []
                self.log = log_side.LogReplica(self.db, self.tables)
                while self.ran < self.statements:
                    self.write_alone(self.rng.choice([20, 60, 150]))
                    self.rest()
            return self.changed > 0
        finally:
            self.stop_all(None)

    def mutate(self):
        c = connect(self.path)
        found = c.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'litefeed~_%' ESCAPE '~' "
                          "ORDER BY rowid").fetchall()
        for name, sql in ((bytes(n).decode(), bytes(s).decode()) for n, s in found):
            other = self.mutation(name, sql)
            if other != sql:
                self.changed += 1
                c.execute(f"DROP TRIGGER {quoted(name)}")
                if other is not None:
                    c.execute(other)
        c.close()


def first_noticed(name: str, seed: int) -> tuple[int, str] | None:
    """The first case that notices, and how."""
    tried = 0
    for number in itertools.count():
        if tried == CASES_MAX:
            return None
        with tempfile.TemporaryDirectory(prefix="mutation-") as home:
            try:
                tried += CaptureCase(seed, number, pathlib.Path(home), MUTATIONS[name]).run()
            except Deviation as e:
                return number, str(e)
            except Void:
                tried += 1  # SQLite itself broke the file, the twin's as well: the case says nothing


def main() -> int:
    p = argparse.ArgumentParser(prog="python3 -m exactness.mutations", description=__doc__)
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    asked = p.parse_args()
    print(f"mutations: seed {asked.seed}", flush=True)
    missed = 0
    for name in NAMES:
        found = first_noticed(name, asked.seed)
        missed += found is None
        said = f"noticed by case {found[0]}: {found[1].splitlines()[0]}" if found else f"NOT noticed by {CASES_MAX} cases"
        print(f"{name}: {said}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
