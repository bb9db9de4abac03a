"""--hide and --only hold in every answer, error and line of the log, and whatever the owner does to the table."""

import time

import pytest
from harness.sse import Stream
from harness.tools import litefeed
from harness.waiting import eventually

# Every name and every value of what is hidden bears this mark; so no answer and no line of the log may.
MARK = "HIDDENmark"
SCHEMA = f"""CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT, {MARK}name TEXT UNIQUE, {MARK}other BLOB DEFAULT '{MARK}default');
CREATE TABLE tags(name TEXT NOT NULL PRIMARY KEY, colour TEXT, {MARK}only TEXT, "{MARK}, more" TEXT) WITHOUT ROWID;
INSERT INTO notes VALUES(1, 'a', '{MARK}1', '{MARK}2');
INSERT INTO tags VALUES('x', 'red', '{MARK}3', '{MARK}4');"""
RULES = ["--hide", f"notes.{MARK}name", "--hide", f"notes.{MARK}other", "--only", "tags:colour"]
TARGETS = [
    "/", "/changes?since=0", "/changes?since=0&format=ndjson", "/changes?since=0&snapshot=1&table=notes", "/changes?since=1",
    "/changes", "/changes?since=9999", "/changes?since=9999&snapshot=1", "/changes?since=x", "/changes?table=nothing", "/changes?x=1",
    "/changes?since=0&limit=1", "/rows/notes", "/rows/tags", "/rows/notes?limit=1", "/rows/notes?format=ndjson", "/rows/notes?after=x",
    "/rows/nothing", "/tables", "/status", "/healthz", "/readyz", "/nothing", "/metrics", "/tables/notes/shape?at=1"]


class Heard:
    """What every endpoint says, gathered."""

    def __init__(self, feed):
        self.feed = feed
        self.text = ""
        self.streams = []

    def follow(self):
        for target in ["/events?since=0", "/events?since=0&names=table", "/events?since=9999&snapshot=1", "/events?heartbeat=1", "/events?since=x"]:
            self.streams.append(Stream(self.feed.port, target))
        return self

    def ask(self):
        for target in TARGETS:
            for method in ["GET", "HEAD", "OPTIONS", "PUT"]:
                answer = self.feed.get(target, method=method)
                self.text += f"{target} {answer.fields} {answer.body.decode()}\n"
        for target in ["/events?table=nothing", "/events?x=1"]:
            answer = self.feed.get(target)
            self.text += f"{target} {answer.fields} {answer.body.decode()}\n"
        for s in self.streams:
            while s.next(0.1, quiet_ok=True):
                pass
            self.text += f"{s.head.fields} {bytes(s.raw).decode()}\n"
        return self

    def check(self):
        for place, text in [("an answer", self.text), ("the log", self.feed.log())]:
            lines = [line for line in text.splitlines() if MARK in line]
            assert not lines, f"{place} tells it: {lines[0][:2000]}"

    def close(self):
        for s in self.streams:
            s.close()


def feed_of(database, server, *more):
    db = database(SCHEMA)
    return db, server(db, "--watch", "notes", "--watch", "tags", *RULES, *more)


def restart_writes(db):
    db.run(f"INSERT INTO notes VALUES(2, 'b', '{MARK}5', '{MARK}6')", f"UPDATE notes SET {MARK}name = '{MARK}7' WHERE id = 1",
           f"INSERT OR REPLACE INTO notes VALUES(3, 'c', '{MARK}7', NULL)", "UPDATE notes SET id = 20 WHERE id = 2",
           f"INSERT INTO tags VALUES('y', 'blue', '{MARK}8', '{MARK}9')", "DELETE FROM tags WHERE name = 'x'")


def test_no_endpoint_tells_a_hidden_name_or_value(database, server):
    db, feed = feed_of(database, server)
    heard = Heard(feed).follow()
    restart_writes(db)
    heard.ask()
    assert '"title":"c"' in heard.text and '"colour":"blue"' in heard.text, "what is not hidden is told"
    columns = {t["table"]: [c["name"] for c in t["columns"]] for t in feed.get("/tables").json()["tables"]}
    assert columns == {"notes": ["id", "title"], "tags": ["name", "colour"]}
    heard.check()
    heard.close()


def test_the_help_and_the_refusals_before_it_serves_are_for_the_operator(database):
    db = database(SCHEMA)
    for rule, told in [(["--hide", "notes.id"], "key"), (["--hide", "notes.nothing"], "nothing"), (["--only", "tags:nothing"], "nothing")]:
        done = litefeed("serve", db.path, "--watch", "notes", "--watch", "tags", *rule, "--listen", "127.0.0.1:0", check=False, within_s=10)
        assert done.returncode == 1 and told in done.stderr


CHANGES = {
    "a hidden column gets another name": f"ALTER TABLE notes RENAME COLUMN {MARK}name TO {MARK}renamed",
    "a hidden column gets an innocent name": f"ALTER TABLE notes RENAME COLUMN {MARK}name TO plain",
    "a hidden column is dropped": f"ALTER TABLE notes DROP COLUMN {MARK}other",
    "a kept column gets another name": "ALTER TABLE tags RENAME COLUMN colour TO hue",
    "the table gets another name": "ALTER TABLE notes RENAME TO papers",
    "the table gets two other names": "ALTER TABLE notes RENAME TO papers; ALTER TABLE papers RENAME TO sheets",
    "a column comes": "ALTER TABLE notes ADD COLUMN extra DEFAULT 'plain'",
    "a column comes where some are kept": f"ALTER TABLE tags ADD COLUMN {MARK}extra DEFAULT '{MARK}'",
    "the table is made again": f"""BEGIN; CREATE TABLE copy(id INTEGER PRIMARY KEY, title TEXT, {MARK}name TEXT, {MARK}other BLOB);
        INSERT INTO copy SELECT * FROM notes; DROP TABLE notes; ALTER TABLE copy RENAME TO notes; COMMIT;""",
    "the table is gone": "DROP TABLE notes",
    "the table cannot be watched any more": f"""CREATE UNIQUE INDEX {MARK}index ON notes(id, abs({MARK}name))""",
    "its triggers are gone": "DROP TRIGGER litefeed_1_insert; DROP TRIGGER litefeed_1_update",
    "it is a view now": "ALTER TABLE notes RENAME TO base; CREATE VIEW notes AS SELECT * FROM base",
}


@pytest.mark.parametrize("more", [[], ["--read-only"]], ids=["", "read-only"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_whatever_the_owner_changes_nothing_hidden_is_told(change, more, database, server):
    db = database(SCHEMA)
    litefeed("watch", db.path, "notes", "tags")
    feed = server(db, *RULES, *more)
    heard = Heard(feed).follow().ask()
    names = [r[0] for r in db.ask("SELECT name FROM sqlite_schema WHERE type='trigger'")]
    if "litefeed_1_insert" in change:
        change = ";".join(f'DROP TRIGGER "{n}"' for n in names if n.startswith("litefeed_1_"))
    db.script(change)
    time.sleep(0.4)
    heard.ask()
    for (table,) in db.ask("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'litefeed%' AND name NOT LIKE 'sqlite%'"):
        heard.text += str(feed.get_rows(table).body) + "\n"
        db.run(f"UPDATE {table} SET rowid = rowid" if table != "tags" else "UPDATE tags SET name = name")
    eventually(lambda: feed.get("/healthz").status == 200)
    heard.ask().check()
    heard.close()
    assert feed.running


def test_a_rule_that_fits_no_more_withholds_its_table_until_it_fits_again(database, server):
    db, feed = feed_of(database, server)
    cursor = feed.cursor()
    db.run(f"ALTER TABLE notes RENAME COLUMN {MARK}name TO plain")
    told = feed.changes(since=cursor)
    assert told["reset"] == {"reason": "schema_changed", "tables": ["notes"], "floor": 0} and told["changes"] == []
    assert feed.changes(since=told["cursor"]).get("reset") is None, "it is told once"
    told = feed.changes(since=cursor, snapshot=1)
    assert [(c["op"], c["table"]) for c in told["changes"]] == [("truncate", "notes")]
    ready = feed.get("/readyz")
    assert ready.status == 503 and ready.json()["reasons"] == ["notes: a rule of --hide or --only fits its columns no more"]
    db.run("INSERT INTO notes(title) VALUES('unseen')", "INSERT INTO tags(name, colour) VALUES('z', 'green')")
    assert [c["table"] for c in feed.changes(since=told["cursor"])["changes"]] == ["tags"], "the others go on"
    db.run(f"ALTER TABLE notes RENAME COLUMN plain TO {MARK}name")
    told = feed.changes(since=cursor, snapshot=1)
    assert {c["row"]["title"] for c in told["changes"] if c["op"] == "read"} == {"a", "unseen"}
    assert feed.get("/readyz").status == 200


def test_a_table_that_is_renamed_takes_its_rules_along(database, server):
    db, feed = feed_of(database, server)
    db.run("ALTER TABLE notes RENAME TO papers")
    eventually(lambda: feed.get_rows("papers").status == 200)
    assert feed.rows("papers")["rows"] == [{"key": {"id": 1}, "row": {"id": 1, "title": "a"}}]
