"""One case: a database, its writers and its readers, from a number. A deviation is a `Deviation` with all that is known."""

import multiprocessing
import pathlib
import random
import subprocess
import time
from collections import Counter

from harness.replica import Replica
from harness.server import SANITIZER, Server, binary
from harness.values import from_wire, quoted

from . import log_side, writer
from .readers import CoreReader, HttpReader, StreamReader
from .sqlite_side import connect, execute, name_of, read_table
from .statements import Generator
from .tables import Column, Table, family, random_tables

REST = Table("rest", [Column("id", "INTEGER", "rowid", "PRIMARY KEY")], ["id"], ["id"], rowid_alias=True)
LIMITS = [[1], [1, 2, 3], [1, 5, 20], [7, 100], [10000], [1, 10, 1000, 10000]]

CHASE_PAGES_MAX = 150


class Void(Exception):
    """SQLite broke the file by itself, or a known difference is not to be undone: nothing more can be said."""


class Deviation(AssertionError):
    """The feed, or the owner's own database, was not as it has to be."""


class Case:
    def __init__(self, seed: int, number: int, home: pathlib.Path, statements: int):
        self.rng = rng = random.Random(f"{seed}/{number}")
        self.number, self.home, self.statements = number, home, statements
        self.path = home / "app.db"
        self.several = number % 5 in (1, 3)
        self.journal = rng.choice(["wal", "wal", "delete"])
        self.referring = rng.random() < 0.4
        own = random_tables(rng, rng.choice([2, 3]) if self.referring else rng.choice([3, 4, 5]))
        self.own = own + (family(rng) if self.referring else [])
        self.tables = self.own + [REST]
        # The twin is bare, or has triggers that do nothing: any trigger makes SQLite choose other plans, and in which order
        # a statement meets rows decides what OR IGNORE keeps. Beside a bare twin statements change one row at a time.
        self.bare = not self.several and rng.random() < 0.35
        # SQLite 3.40 misses broken self-references of a REPLACE where no trigger is, so foreign keys need the other twin.
        self.chasing = rng.random() < 0.8
        self.keys_hold = self.referring and not self.bare and (self.several or rng.random() < 0.8)
        # With recursive_triggers and any DELETE trigger, SQLite 3.40 refuses some an UPDATE OR REPLACE that it allows without.
        recursive = "OFF" if self.bare else rng.choice(["ON", "OFF"])
        self.pragmas = [f"PRAGMA foreign_keys = {'ON' if self.keys_hold else 'OFF'}", f"PRAGMA recursive_triggers = {recursive}"]
        self.history: list[writer.Ran] = []
        self.ran = self.rests = self.between_pages = 0
        self.db = self.twin = self.excused = None
        self.processes, self.readers = [], []
        self.stream = None
        self.counts = Counter()

    # --- the life of a case -------------------------------------------------------------------------------------------

    def run(self) -> dict:
        started = time.monotonic()
        self.start_writers()
        server = None
        try:
            self.create()
            self.watch()
            server = Server(self.home, self.path, "--threads", self.rng.choice([1, 1, 2]))
            self.start_readers(server)
            while self.ran < self.statements:
                amount = self.rng.choice([20, 60, 150, 300])
                self.write_together(amount) if self.several else self.write_alone(amount)
                self.rest()
        except Void:
            return {"statements": self.ran, "void": 1, "hints": 0, "wrong_hints": 0}
        except Deviation:
            raise
        except AssertionError as e:
            raise Deviation(f"{e}\n{self.surroundings()}") from e
        finally:
            self.stop_all(server)
        return {"statements": self.ran, "rests": self.rests, "seconds": round(time.monotonic() - started, 2),
                "own_triggers": sum(len(t.triggers) for t in self.tables),
                "several": self.several, "hints": sum(r.hints for r in self.readers), "wrong_hints": sum(r.wrong_hints for r in self.readers),
                "repeated_hints": sum(r.repeated for r in self.readers),
                "repeated_wrong_hints": sum(r.repeated_wrong for r in self.readers),
                "log_hints": self.log.hints, "log_wrong_hints": self.log.wrong_hints,
                "pages": sum(r.replica.pages for r in self.readers), "second_pages": sum(r.second_pages for r in self.readers),
                "second_pages_after_commit": sum(r.second_pages_after_commit for r in self.readers),
                "cuts": self.stream.cuts, "errors": self.counts["errors"], "busy": self.counts["busy"] + self.http.busy}

    def start_writers(self):
        """Before any connection or socket is open, so that the processes inherit none."""
        if not self.several:
            return
        context = multiprocessing.get_context("fork")
        for who in range(self.rng.choice([2, 3, 4])):
            mine, theirs = context.Pipe()
            seed = f"{self.rng.random()}"
            process = context.Process(target=writer.write, daemon=True,
                                      args=(theirs, who, self.path, seed, self.own, self.pragmas))
            process.start()
            self.processes.append((process, mine))

    def create(self):
        self.db = connect(self.path)
        self.db.execute(f"PRAGMA journal_mode = {self.journal}")
        if not self.several:
            self.twin = connect(self.home / "twin.db")
            self.twin.execute("PRAGMA journal_mode = wal")
        for sql in [s for t in self.tables for s in t.create()] + self.pragmas:
            self.db.execute(sql)
            if self.twin:
                self.twin.execute(sql)
        # Rows that were there before anyone watched.
        self.generator = Generator(self.rng, self.own, single=not self.several, one_row=self.bare)
        for _ in range(self.rng.choice([0, 20, 80])):
            for sql in self.generator.transaction():
                self.both(sql)
            self.close_transaction()

    def watch(self):
        command = [binary(), "watch", str(self.path), "--", *(t.name for t in self.tables)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert not SANITIZER.search(done.stderr), done.stderr
        if done.returncode != 0:
            raise Deviation(f"watch ended with {done.returncode}: {done.stderr}{done.stdout}\n" + self.schema())
        self.idle_triggers()

    def idle_triggers(self):
        for i, t in enumerate(self.tables if self.twin and not self.bare else []):
            for event in ("AFTER INSERT", "AFTER UPDATE", "AFTER DELETE", "BEFORE INSERT", "BEFORE UPDATE"):
                self.twin.execute(f"CREATE TRIGGER {quoted(f'idle {i} {event}')} {event} ON {quoted(t.name)} BEGIN SELECT 1; END")

    def start_readers(self, server: Server):
        rng, names = self.rng, [t.name for t in self.tables]
        some = [None, None, sorted(rng.sample(names[:-1], len(names) // 2)) + ["rest"]]
        own = [random.Random(rng.random()) for _ in range(3)]  # so that what is written does not hang on what was read
        self.core = CoreReader(self.path, own[0], rng.choice(some), rng.choice(LIMITS[1:]))
        one_by_rows = rng.random() < 0.2
        chosen = [rng.choice(names[:-1])] if one_by_rows else rng.choice(some)
        self.http = HttpReader(server, own[1], chosen, rng.choice(LIMITS))
        self.stream = StreamReader(server, rng.choice([0.0, 0.02, 0.3]), own[2], rng.choice(some), LIMITS[-1])
        if one_by_rows:
            self.http.start_from_rows(chosen[0])
        self.readers = [self.http, self.stream, self.core]
        self.chances = [rng.choice([1.0, 1.0, 0.5, 0.1]), rng.choice([1.0, 0.3, 0.05]), rng.choice([0.2, 0.05, 0.01])]
        self.log = log_side.LogReplica(self.db, self.tables)

    def stop_all(self, server):
        for process, pipe in self.processes:
            pipe.close()
            process.kill()
            process.join()
        for reader in self.readers[:2]:
            reader.close()
        if server is not None and server.running:
            server.stop()
        for c in (self.db, self.twin):
            if c is not None:
                c.close()

    # --- writing ------------------------------------------------------------------------------------------------------

    def both(self, sql: str):
        """The statement on the watched file and on its twin: the owner must not see a difference."""
        watched = hasattr(self, "log")
        before = log_side.head(self.db) if watched else 0
        outcome = execute(self.db, sql)
        after = log_side.head(self.db) if watched else 0
        self.history.append(writer.Ran(0, sql, before, after, writer.brief(outcome)))
        self.counts["errors"] += isinstance(outcome[0], str)
        if self.twin:
            self.compare_outcomes(sql, outcome, execute(self.twin, sql))
            if sql.count(" ON CONFLICT") > 1:  # at once: what SQLite did wrong there can be gone from the twin later
                self.look_for_corruption()
        if self.db.in_transaction and any(word in str(outcome[0]) for word in ("SQLITE_MISMATCH", "too many levels", "cannot store")):
            # SQLite 3.40 may leave half of such a statement done, but never where a trigger writes.
            self.both("ROLLBACK")
        elif self.db.in_transaction and "FOREIGN KEY" in str(outcome[0]) and sql.startswith("DELETE"):
            # Where a trigger of the owner's keeps a row from the cascade (RAISE(IGNORE)), SQLite 3.40 calls the DELETE of a
            # whole table failed, leaves it done, and lets it be committed; in the watched file it is undone.
            self.both("ROLLBACK")

    def compare_outcomes(self, sql: str, outcome: tuple, expected: tuple):
        seen, want = list(outcome), list(expected)
        failed = isinstance(seen[0], str) and isinstance(want[0], str)
        if failed and seen[2] != want[2]:
            # With any trigger on a table SQLite finds a broken reference after the row went in, not before: so
            # last_insert_rowid() after the refused INSERT differs, until the next one.
            self.excused = (seen[2], want[2])
        if (seen[2], want[2]) == self.excused:
            seen[2] = want[2] = None
        if self.bare:  # which constraint is named first, and the order of RETURNING, are SQLite's to choose
            seen[0], want[0] = ((True, True) if failed else [sorted(x) if isinstance(x, list) else x for x in (seen[0], want[0])])
            if failed and seen[3] != want[3]:  # and with the constraint named first goes what OR ROLLBACK ends
                (self.db if seen[3] else self.twin).execute("ROLLBACK")
                seen[3] = want[3] = False
        if "cannot store" in str(seen[0]) and " OR IGNORE " in sql and not isinstance(want[0], str):
            # With a BEFORE trigger SQLite judges the types of a STRICT table before NOT NULL: a row that breaks both is
            # refused, where OR IGNORE had passed over it and gone on to the statement's other rows.
            if (want[0], want[1]) == ([], 0):
                return
            raise Void
        if seen != want:
            raise Deviation(f"the owner sees a difference:\n  {sql}\n  watched   {outcome}\n  unwatched {expected}\n"
                            + self.surroundings())

    def close_transaction(self):
        for sql in writer.end_transaction(self.db):
            if self.db.in_transaction:
                self.both(sql)

    def write_alone(self, amount: int):
        """Transactions of one writer; after each commit at most one page of each reader."""
        goal = self.ran + amount
        while self.ran < goal:
            for sql in self.generator.transaction():
                self.both(sql)
                self.ran += writer.is_write(sql)
                if self.readers and self.journal == "wal" and self.db.in_transaction and self.rng.random() < 0.03:  # what is not committed must not be seen
                    self.rng.choice(self.readers).page()
            self.close_transaction()
            if self.rng.random() < 0.2:
                self.judge_log()
            for reader, chance in zip(self.readers, self.chances):
                if self.rng.random() < chance:
                    reader.page()

    def write_together(self, amount: int):
        """All writers at once, while pages are taken."""
        share = max(1, amount // len(self.processes))
        for _, pipe in self.processes:
            pipe.send(share)
        waiting = [pipe for _, pipe in self.processes]
        while waiting:
            for pipe in list(waiting):
                if pipe.poll(0.002):
                    told = pipe.recv()
                    assert not isinstance(told, str), told
                    self.history += told
                    self.ran += sum(writer.is_write(r.sql) for r in told)
                    self.counts["errors"] += sum(not r.outcome.startswith("ok") for r in told)
                    self.counts["busy"] += sum("BUSY" in r.outcome for r in told)
                    waiting.remove(pipe)
            if self.rng.random() < 0.1:
                self.judge_log()
            for reader, chance in zip(self.readers, self.chances):
                if self.rng.random() < chance:
                    reader.page()

    def chase(self):
        """The runs that have begun are paged to their ends with a commit before each page; what those commits wrote is left."""
        for reader in [r for r in self.readers if r is not self.stream]:
            for _ in range(CHASE_PAGES_MAX):  # a first read of one row a page never ends while a row is added for each
                self.both("INSERT INTO rest DEFAULT VALUES")
                if self.rng.random() < 0.5:
                    for sql in self.generator.transaction():
                        self.both(sql)
                    self.close_transaction()
                reader.page()
                if reader.stamp() is not None:
                    break

    # --- judging ------------------------------------------------------------------------------------------------------

    def rest(self):
        """Writers pause; each replica goes to the head and has to be the table."""
        if self.several:
            self.history.sort(key=lambda r: (r.after, r.before))
        if self.rng.random() < 0.6:  # else the stream has to find its way to the head by itself
            self.both("INSERT INTO rest DEFAULT VALUES")
        self.rests += 1
        self.look_for_corruption()
        content = self.judge_log()
        if self.chasing:
            self.chase()
            content = self.judge_log()
        head = log_side.head(self.db)
        for reader in self.readers:
            if self.chasing:
                reader.limits = LIMITS[-2]
            reader.to_rest(head)
            reader.limits = reader.own_limits
            for t in self.tables:
                if reader.tables is None or t.name in reader.tables:
                    self.compare(reader.name, t, decoded(reader.replica, t), content[t.name])
        self.owner_is_unharmed(content)

    def look_for_corruption(self):
        """SQLite's own faults, which the twin shows as well, make the case void; anything else is ours."""
        sound = self.db.execute("PRAGMA integrity_check").fetchall()
        if sound == [(b"ok",)]:
            return
        if self.twin and self.twin.execute("PRAGMA integrity_check").fetchall() != [(b"ok",)]:
            raise Void
        if self.several and any(t.unsound for t in self.tables):
            raise Void
        raise AssertionError(f"integrity_check: {sound}")

    def judge_log(self) -> dict[str, dict]:
        """Whether capture is complete; gives the tables as they are."""
        self.db.execute("BEGIN")
        self.log.catch_up(self.db, self.tables)
        content = {t.name: read_table(self.db, t) for t in self.tables}
        self.db.execute("COMMIT")
        for t in self.tables:
            self.compare("the log read by hand", t, self.log.rows[t.name], content[t.name])
        return content

    def compare(self, who: str, t: Table, have: dict, want: dict):
        if have == want:
            return
        key = next(k for k in [*want, *have] if have.get(k) != want.get(k))
        wrong = sum(have.get(k) != want.get(k) for k in {*want, *have})
        raise Deviation(
            f"{who}: {wrong} of {len(want)} rows of {t.name!r} are wrong, such as the key {key}\n"
            f"  replica  {have.get(key)}\n  table    {want.get(key)}\n{self.story(t, key)}\n{self.surroundings()}")

    def owner_is_unharmed(self, content):
        def ask(c, sql):
            return c.execute(sql).fetchall()

        for t in self.tables if self.twin else []:
            self.compare("the unwatched twin", t, read_table(self.twin, t), content[t.name])
        broken = ask(self.db, "PRAGMA foreign_key_check")
        if not self.twin:
            return  # SQLite itself leaves broken self-references now and then; only the twin can tell whose fault it is
        assert Counter(broken) == Counter(ask(self.twin, "PRAGMA foreign_key_check")), broken
        sequences = "SELECT name, seq FROM sqlite_sequence ORDER BY name"
        if any(t.growing for t in self.tables):
            assert ask(self.db, sequences) == ask(self.twin, sequences), ask(self.db, sequences)

    # --- telling ------------------------------------------------------------------------------------------------------

    def story(self, t: Table, key: tuple) -> str:
        """The log's entries of a key, and the statements that wrote them or changed the row."""
        entries = [e for e in log_side.entries(self.db, t) if e[2] == key][-40:]
        stamps = {e[0] for e in entries}
        lines = [f"entries of the key: {' '.join(f'{op}@{stamp}' for stamp, op, _ in entries) or 'none'}"]
        changed = self.changes_of_key(t, key) if self.twin else {}
        told = [i for i, r in enumerate(self.history)
                if i in changed or any(r.before < s <= r.after for s in stamps)][-25:]
        for i in told:
            r = self.history[i]
            lines.append(f"  #{i} writer {r.who} @{r.before + 1}..{r.after} [{r.outcome}] {r.sql}"
                         + (f"\n      the row is now {changed[i]}" if i in changed else ""))
        return "\n".join(lines)

    def changes_of_key(self, t: Table, key: tuple) -> dict:
        """After which statements the row was another one: the history run again on a fresh, unwatched database."""
        c = connect(":memory:")
        for sql in [s for x in self.tables for s in x.create()] + self.pragmas:
            c.execute(sql)
        out, last = {}, None
        for i, r in enumerate(self.history):
            execute(c, r.sql)
            now = read_table(c, t).get(key)
            if now != last:
                out[i] = last = now
        c.close()
        return out

    def schema(self) -> str:
        return "\n".join(f"{s};" for t in self.tables for s in t.create())

    def surroundings(self) -> str:
        last = "\n".join(f"  #{len(self.history) - 6 + i} writer {r.who} @{r.before + 1}..{r.after} [{r.outcome}] {r.sql}"
                         for i, r in enumerate(self.history[-6:]))
        places = "; ".join(f"{r.name} at {r.replica.cursor} of {r.tables or 'all'}" for r in self.readers)
        return (f"{'several writers' if self.several else 'one writer'}, journal {self.journal}, {'; '.join(self.pragmas)}\n"
                f"{places}\nlast statements:\n{last}\nschema:\n{self.schema()}")


def decoded(replica: Replica, t: Table) -> dict[tuple, tuple]:
    """The replica's rows of a table as SQLite values. Two texts of a key that mean one key are two rows here, so an error."""
    kinds = t.affinities()
    names = [c.name for c in t.columns]
    out = {}
    for key, row in replica.rows(t.name).values():
        assert list(key) == t.key_members, f"{t.name}: the members of the key are {list(key)}, not {t.key_members}"
        assert set(row) == set(names), f"{t.name}: the row has {sorted(row)}, the table {sorted(names)}"
        values = tuple(from_wire(value, kinds[name]) for name, value in key.items())
        told = {name: from_wire(row[name], kinds[name]) for name in names}
        assert values == name_of(values), f"{t.name}: the key {key} says -0.0"
        assert not t.key or values == name_of(told[name] for name in key), f"{t.name}: {key} is not the key of {row}"
        assert values not in out, f"{t.name}: the key {values} by two texts"
        out[values] = tuple(told.values())
    return out
