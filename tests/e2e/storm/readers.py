"""The two readers of README.md, running: each reads all the time in a thread, and is judged when it was halted."""

import collections
import random
import re
import sqlite3
import threading
import time

from harness.strict_json import Real
from harness.tools import ROOT
from harness.values import from_wire, quoted, stored


def blocks():
    """The ```python blocks of README.md by the class that each defines, as they stand."""
    found = re.findall(r"(?ms)^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"))
    return {re.search(r"(?m)^class (\w+)", block)[1]: block for block in found}


def program(name):
    """The class of that name, from README.md."""
    module = {"__name__": "readme"}
    exec(compile(blocks()[name], f"README.md, {name}", "exec"), module)
    return module[name]


def class_and_bytes(value):
    """What SQLite holds, of what Python's sqlite3 gave."""
    if isinstance(value, str):
        return stored("text", value.encode("utf-8", "surrogateescape"))
    kinds = {type(None): "null", int: "integer", float: "real", bytes: "blob"}
    return stored(kinds[type(value)], value)


def from_json(value, affinity):
    return from_wire(Real(repr(value)) if isinstance(value, float) else value, affinity)


class Halting:
    """Refreshes again and again in a thread of its own, until it is halted."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.refreshed = self.started_over = 0
        self.trouble = None
        self.halted = threading.Event()
        self.thread = None

    def go(self):
        self.halted.clear()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def halt(self):
        if self.thread is None:
            return
        self.halted.set()
        self.thread.join(60)
        assert not self.thread.is_alive(), "a reader does not come to an end"
        self.thread = None
        if self.trouble:
            raise self.trouble

    def run(self):
        try:
            while not self.halted.wait(self.rng.choice([0, 0.01, 0.1, 0.5])):
                self.refresh()
        except Exception as e:
            self.trouble = e


class BySql(Halting):
    def __init__(self, path, table, seed):
        super().__init__(seed)
        self.copy = program("TableCopy")(path, table)
        self.watched = True

    def refresh(self):
        deadline = time.monotonic() + 20
        while True:
            try:
                self.started_over += self.copy.refresh()
                self.watched = True
                break
            except LookupError:
                self.watched = False
                break
            except sqlite3.OperationalError as e:
                # While a backup is put back or a journal recovered; a program would ask again, too.
                if "locked" not in str(e) or time.monotonic() > deadline:
                    raise
        self.refreshed += 1

    def content(self, table, columns):
        assert table == self.copy.table
        return [[class_and_bytes(v) for v in row] for row in self.copy.rows.values()]


class ByHttp(Halting):
    def __init__(self, url, seed):
        super().__init__(seed)
        outer = self

        class Counting(program("Copies")):
            reasons = collections.Counter()

            def apply(self, answer):
                if "reset" in answer:
                    outer.started_over += 1
                    reason = answer["reset"]["reason"]
                    self.reasons[reason] += 1
                    # A table that the file put back never knew is named by nobody (WIRE: drop it).
                    if reason in ("below_floor", "ahead_of_head", "restored"):
                        for table in set(self.tables) - set(answer["reset"]["tables"]):
                            self.tables[table].clear()
                super().apply(answer)

        self.copies = Counting(url)

    def refresh(self):
        self.copies.refresh(wait=self.rng.choice([0, 0, 1]))
        self.refreshed += 1

    def content(self, table, columns):
        return [[from_json(row[name], columns[name]) for name in columns]
                for row in self.copies.tables.get(table, {}).values()]


def table_content(db, table, columns):
    wanted = ", ".join(quoted(name) for name in columns)
    with db.connect() as c:
        c.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        return [[class_and_bytes(v) for v in row] for row in c.execute(f"SELECT {wanted} FROM {quoted(table)}")]
