"""A client that believes what it is told and nothing else: put by key, remove by key, clear by table."""

from .strict_json import text_of
from .values import from_wire


# What such a reset does not name is not in the feed any more.
PLACE_LOST = ("below_floor", "ahead_of_head", "restored", "malformed")


class Replica:
    """Tables as {key text: (key, row)}. Hints that cannot be true are counted; they never make rows wrong."""

    def __init__(self):
        self.tables = {}
        self.cursor = "0"
        self.hints = 0
        self.wrong_hints = 0
        self.resets = []
        self.pages = 0

    def rows(self, table):
        return self.tables.setdefault(table, {})

    def apply(self, told, feed=None):
        """One answer of /changes or one event. A reset is cured by reading /rows (needs `feed`), unless it comes as rows."""
        reset = told.get("reset")
        if reset is not None:
            self.resets.append(reset["reason"])
            assert reset["tables"], "a reset names its tables"
            if reset["reason"] in PLACE_LOST:
                for name in set(self.tables) - set(reset["tables"]):
                    self.tables[name].clear()
            truncated = {c["table"] for c in told["changes"] if c["op"] == "truncate"}
            if not set(reset["tables"]) <= truncated:
                assert feed is not None, f"a reset without rows: {reset}"
                for table in reset["tables"]:
                    self.read_again(feed, table)
        last_stamp = 0
        for change in told["changes"]:
            self.change(change)
            stamp = change.get("stamp")
            if change["op"] in ("insert", "update", "delete"):
                assert last_stamp < stamp, f"stamps are in order: {last_stamp} before {change}"
                last_stamp = stamp
        self.cursor = told["cursor"]
        self.pages += 1

    def change(self, change):
        op, rows = change["op"], self.rows(change["table"])
        if op == "truncate":
            assert "key" not in change and "row" not in change, change
            rows.clear()
            return
        name = text_of(change["key"])
        if op == "delete":
            assert "row" not in change, change
            rows.pop(name, None)
            return
        assert op in ("insert", "update", "read"), change
        assert ("stamp" in change) == (op != "read"), change
        if op != "read":
            self.hints += 1
            self.wrong_hints += (op == "insert") == (name in rows)
        rows[name] = (change["key"], change["row"])

    def read_again(self, feed, table):
        """Clears a table and reads it by /rows, page by page. A table that is gone has no rows."""
        rows = self.rows(table)
        rows.clear()
        after = None
        while True:
            answer = feed.patiently(lambda: feed.get_rows(table, after=after))
            if answer.status == 404:
                return
            page = answer.json()
            for one in page["rows"]:
                rows[text_of(one["key"])] = (one["key"], one["row"])
            after = page["next"]
            if after is None:
                return

    def catch_up(self, feed, between=None, **parameters):
        """Asks /changes until the run ends. `between` is called after each page."""
        while True:
            told = feed.changes(since=self.cursor, **parameters)
            self.apply(told, feed)
            if between:
                between()
            if not told["more"]:
                return self

    def follow(self, stream, within_s=5):
        """Applies the events of one run of a stream."""
        while True:
            told = stream.delta(within_s)
            self.apply(told)
            if not told["more"]:
                return self

    def content(self, database, table):
        """The rows as {column: stored value}, read with the affinities of the table as it is."""
        kinds = database.affinities(table)
        out = []
        for key, row in self.rows(table).values():
            stored_row = {name: from_wire(value, kinds.get(name, "BLOB")) for name, value in row.items()}
            for name, value in key.items():
                if name in row:
                    assert value == row[name], f"the key {key} is not that of the row {row}"
            out.append(stored_row)
        return out

    def assert_equals(self, database, *tables):
        """Exactly the table: the same rows, each value of the same class and bytes."""
        for table in tables:
            have = sorted(self.content(database, table), key=repr)
            want = sorted(database.content(table), key=repr)
            if have != want:
                extra = [r for r in have if r not in want][:5]
                missing = [r for r in want if r not in have][:5]
                raise AssertionError(
                    f"{table}: {len(have)} rows in the replica, {len(want)} in the table; "
                    f"only in the replica: {extra}; only in the table: {missing}")
