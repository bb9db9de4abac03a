"""The log read without litefeed: says whether capture is complete, so that a wrong replica shows on which side it broke."""

import sqlite3

from harness.values import quoted

from .sqlite_side import exact, name_of, read_table
from .tables import Table


def head(c: sqlite3.Connection) -> int:
    return c.execute("SELECT coalesce(max(seq), 0) FROM litefeed_log").fetchone()[0]


def table_ids(c: sqlite3.Connection) -> dict[str, int]:
    return {bytes(name).decode(): number for number, name in c.execute("SELECT table_id, name FROM litefeed_tables")}


def entries(c: sqlite3.Connection, t: Table, above: int = 0) -> list[tuple[int, str, tuple]]:
    """(stamp, op, key) of a table, in order; the entries that have no key are left out."""
    columns = [bytes(row[1]).decode() for row in c.execute("PRAGMA table_info(litefeed_log)")]
    keys = [name for name in columns if name.startswith("key")][:len(t.key_members)]
    rows = c.execute(f"SELECT seq, op, {', '.join(map(quoted, keys))} FROM litefeed_log "
                     "WHERE table_id = ? AND seq > ? AND op IN ('i', 'u', 'd', 't') ORDER BY seq",
                     (table_ids(c)[t.name], above))
    return [(row[0], bytes(row[1]).decode(), name_of(map(exact, row[2:]))) for row in rows]


class LogReplica:
    """Takes each key that the log names since the last look, as the table has it now; nothing else."""

    def __init__(self, c: sqlite3.Connection, tables: list[Table]):
        self.stamp = head(c)
        self.rows = {t.name: read_table(c, t) for t in tables}
        self.hints = self.wrong_hints = 0

    def catch_up(self, c: sqlite3.Connection, tables: list[Table]):
        for t in tables:
            now, mine = read_table(c, t), self.rows[t.name]
            told: dict[tuple, list[str]] = {}
            for _, op, key in entries(c, t, self.stamp):
                told.setdefault(key, []).append(op)
            for key, ops in told.items():
                if key not in now:
                    mine.pop(key, None)
                elif any(op != "t" for op in ops):
                    self.count(key in mine, ops)
                    mine[key] = now[key]
        self.stamp = head(c)

    def count(self, held: bool, ops: list[str]):
        """An insert, if the first entry is one, leading updates skipped. Who was touched first was there."""
        decisive = next((op for op in ops if op != "u"), "u")
        self.hints += 1
        self.wrong_hints += (decisive == "i") == held
