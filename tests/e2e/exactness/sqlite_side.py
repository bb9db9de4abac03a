"""SQLite's own view: tables as they are, to the class and the bytes, and what the owner's program sees of a statement."""

import sqlite3

from harness.values import quoted, stored

from .tables import Table

ZERO, NEGATIVE_ZERO = stored("real", 0.0), stored("real", -0.0)
KINDS = {int: "integer", float: "real", bytes: "blob"}


class Text(bytes):
    """TEXT as its bytes: a str cannot hold what is not UTF-8, and plain bytes would be a BLOB."""


def exact(value):
    """A value as the harness names it: equal only if class and bytes are."""
    if value is None:
        return ("null",)
    if type(value) is Text:
        return ("text", bytes(value))
    return stored(KINDS[type(value)], value)


def name_of(values) -> tuple:
    """A key as the feed names its row: -0.0 and 0.0 are one key, since no key can hold both."""
    return tuple(ZERO if v == NEGATIVE_ZERO else v for v in values)


def connect(path, timeout_s: float = 60.0) -> sqlite3.Connection:
    c = sqlite3.connect(path, timeout=timeout_s, isolation_level=None, cached_statements=16)
    c.text_factory = Text
    c.execute("PRAGMA synchronous = OFF")
    return c


def read_table(c: sqlite3.Connection, t: Table) -> dict[tuple, tuple]:
    """Key → row, columns in the table's order."""
    key = ", ".join(quoted(k) for k in t.key) if t.key else t.rowid_name
    names = ", ".join(quoted(x.name) for x in t.columns)
    width = len(t.key_members)
    out = {}
    for row in c.execute(f"SELECT {key}, {names} FROM {quoted(t.name)} NOT INDEXED"):
        values = tuple(map(exact, row))
        key_values = name_of(values[:width])
        assert key_values not in out, f"{t.name}: two rows with the key {key_values}"
        out[key_values] = values[width:]
    return out


def execute(c: sqlite3.Connection, sql: str) -> tuple:
    """Error or rows, changes(), last_insert_rowid(), whether a transaction is open."""
    try:
        result = [tuple(map(exact, row)) for row in c.execute(sql)]
    except sqlite3.Error as e:
        result = f"{getattr(e, 'sqlite_errorname', type(e).__name__)}: {e}"
    changes, last = c.execute("SELECT changes(), last_insert_rowid()").fetchone()
    return result, changes, last, c.in_transaction
