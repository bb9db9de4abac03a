"""The owner's side: a database file, written by plain SQL and compared exactly."""

import contextlib
import sqlite3
import subprocess

from .values import affinity, quoted, stored


class Database:
    """A file in the test's directory. Each call opens and closes its own connection, as other programs do."""

    def __init__(self, path, script="", journal="wal"):
        self.path = path
        with self.connect() as c:
            assert c.execute(f"PRAGMA journal_mode={journal}").fetchone()[0] == journal
            c.executescript(script)

    @contextlib.contextmanager
    def connect(self, **options):
        """A connection in autocommit mode, with a patience of 10 s."""
        connection = sqlite3.connect(self.path, timeout=10, isolation_level=None, **options)
        try:
            yield connection
        finally:
            connection.close()

    def run(self, *statements):
        """Each statement in a commit of its own, on one connection."""
        with self.connect() as c:
            for s in statements:
                c.execute(s)

    def script(self, text):
        """Several statements; one commit if the text says BEGIN and COMMIT."""
        with self.connect() as c:
            c.executescript(text)

    def commit(self, *statements):
        """All statements in one commit."""
        with self.connect() as c:
            c.execute("BEGIN IMMEDIATE")
            for s in statements:
                c.execute(s)
            c.execute("COMMIT")

    def ask(self, sql, parameters=()):
        with self.connect() as c:
            return c.execute(sql, parameters).fetchall()

    def value(self, sql, parameters=()):
        return self.ask(sql, parameters)[0][0]

    def shell(self, text, check=True):
        """The sqlite3 shell, as a person would use it."""
        done = subprocess.run(["sqlite3", "-cmd", ".timeout 10000", str(self.path)], input=text,
                              capture_output=True, text=True, timeout=60)
        if check:
            assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout

    def dump(self):
        return self.shell(".dump\n")

    def content(self, table):
        """The rows of a table as a list of {column: stored value}, hidden columns left out."""
        with self.connect() as c:
            names = [name for name, _ in self._columns(c, table)]
            c.text_factory = bytes
            chosen = ",".join(f"typeof(t.{quoted(n)}),t.{quoted(n)}" for n in names)
            out = []
            for row in c.execute(f"SELECT {chosen} FROM {quoted(table)} AS t"):
                out.append({n: stored(row[2 * i].decode(), row[2 * i + 1]) for i, n in enumerate(names)})
            return out

    def rowids(self, table, alias="rowid"):
        """The rowids in the same order as `content`."""
        return [row[0] for row in self.ask(f"SELECT {alias} FROM {quoted(table)}")]

    def affinities(self, table):
        with self.connect() as c:
            strict = bool([1 for t in c.execute("PRAGMA table_list") if t[1] == table and t[5]])
            return {name: affinity(declared, strict) for name, declared in self._columns(c, table)}

    @staticmethod
    def _columns(c, table):
        # hidden: 1 is a virtual table's own column; 2 and 3 are generated columns, which are shown
        return [(row[1], row[2]) for row in c.execute(f"PRAGMA table_xinfo({quoted(table)})") if row[6] != 1]
