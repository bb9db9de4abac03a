"""/tables, /status, /healthz, /readyz and the page: what an operator and a monitor see."""

import re

from harness.waiting import eventually


def test_tables_say_what_is_watched(database, server):
    db = database("CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE pairs(a, b, PRIMARY KEY(b, a)) WITHOUT ROWID;"
                  "CREATE TABLE loose(x); CREATE TABLE plain(id INTEGER PRIMARY KEY)")
    feed = server(db, "--watch", "notes", "--watch", "pairs", "--watch", "loose")
    db.run("INSERT INTO notes(title) VALUES('a')", "INSERT INTO notes(title) VALUES('b')")
    answer = feed.get("/tables").json()
    assert answer["head"] == feed.changes()["head"]
    tables = {t["table"]: t for t in answer["tables"]}
    assert sorted(tables) == ["loose", "notes", "pairs"]
    assert tables["notes"]["key"] == ["id"] and tables["pairs"]["key"] == ["b", "a"] and tables["loose"]["key"] == ["rowid"]
    assert [(c["name"], c["type"]) for c in tables["notes"]["columns"]] == [("id", "INTEGER"), ("title", "TEXT")]
    generation = tables["notes"]["generation"]
    assert generation["number"] == 1 and generation["reason"] == "enabled" and generation["stamp"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", generation["time"])
    assert tables["notes"]["head"] == answer["head"] and tables["notes"]["entries"] >= 2
    assert tables["notes"]["problem"] is None and tables["notes"]["keep"] == "window"


def test_status_tells_feed_file_and_loops(notes):
    db, feed = notes
    db.run("INSERT INTO notes(title) VALUES('a')")
    with feed.events() as stream:
        stream.start()
        status = feed.get("/status").json()
    assert status["feed"]["head"] == feed.changes()["head"] and status["feed"]["floor"] == 0
    assert status["feed"]["format"] == 1 and status["feed"]["problems"] == []
    assert status["file"]["path"].endswith("app.db") and status["file"]["journal_mode"] == "wal"
    assert status["file"]["bytes"] > 0 and status["file"]["wal_bytes"] > 0
    assert sum(loop["subscribers"] for loop in status["loops"]) == 1


def test_health_and_readiness(notes):
    db, feed = notes
    assert feed.get("/healthz").status == 200
    ready = feed.get("/readyz")
    assert ready.status == 200 and ready.json()["ready"] is True and ready.json()["reasons"] == []


def test_nothing_watched_is_served_and_said(database, server):
    db = database()
    feed = server(db)
    assert "nothing is watched" in feed.log()
    assert feed.get("/healthz").status == 200 and feed.get("/readyz").status == 200
    assert feed.get("/tables").json()["tables"] == []
    assert not db.ask("SELECT 1 FROM sqlite_schema WHERE name LIKE 'litefeed%'"), "nothing was written"


def test_a_table_watched_while_it_is_served_appears(database, server):
    from harness.tools import litefeed
    db = database()
    feed = server(db)
    with feed.events() as stream:
        assert stream.status == 200
        litefeed("watch", db.path, "notes")
        eventually(lambda: [t["table"] for t in feed.get("/tables").json()["tables"]] == ["notes"])
        db.run("INSERT INTO notes(title) VALUES('a')")
        seen = []
        while not seen:
            seen = stream.delta()["changes"]
        assert feed.changes(since=0)["changes"][0]["row"]["title"] == "a"


def test_read_only_says_when_capture_does_not_stand(database, server):
    from harness.tools import litefeed
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1,1)")
    litefeed("watch", db.path, "t")
    feed = server(db, "--read-only")
    before = feed.cursor()
    files = db.dump()
    db.run("UPDATE t SET v=2")
    assert feed.changes(since=before)["changes"]
    assert db.dump() != files
    trigger = db.value("SELECT name FROM sqlite_schema WHERE type='trigger' AND sql LIKE '%AFTER UPDATE%'")
    db.run(f'DROP TRIGGER "{trigger}"', "UPDATE t SET v=3")
    answer = feed.get_changes(since=before)
    assert answer.status == 503 or answer.json()["reset"]["reason"] == "triggers_restored", answer
    ready = feed.get("/readyz")
    assert ready.status == 503 and "t" in " ".join(ready.json()["reasons"])
    assert not db.ask(f"SELECT 1 FROM sqlite_schema WHERE name='{trigger}'"), "it repairs nothing"


def test_the_page_is_served(notes):
    _, feed = notes
    page = feed.get("/")
    assert page.status == 200 and page.get("content-type").startswith("text/html")
    assert b"<html" in page.body.lower() and page.get("content-security-policy")
    assert page.get("x-content-type-options") == "nosniff"
