"""What cannot be watched is said by name and with the reason; the rest is watched all the same."""

import pytest
from harness.tools import litefeed

MIXED = ("CREATE VIRTUAL TABLE f USING fts5(a); CREATE VIRTUAL TABLE g USING rtree(id,x0,x1);"
         "CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE VIEW v AS SELECT * FROM t;"
         "CREATE TABLE auto(id INTEGER PRIMARY KEY AUTOINCREMENT)")


def test_B56_what_cannot_be_watched_is_skipped_and_listed(database, server):
    db = database(MIXED)
    feed = server(db, "--watch-all")
    assert sorted(t["table"] for t in feed.get("/tables").json()["tables"]) == ["auto", "t"]
    log = feed.log()
    for name in ["f", "g", "v"]:
        assert f"skips {name}:" in log, log
    for name in ["t", "auto"]:
        assert f"will publish {name}" in log, log
    db.run("INSERT INTO t VALUES(1,'x')", "INSERT INTO f VALUES('y')", "INSERT INTO g VALUES(1,2,3)")
    assert [c["table"] for c in feed.changes(since=0)["changes"]] == ["t"]


@pytest.mark.parametrize("name, reason", [("f", "virtual"), ("g", "virtual"), ("v", "view"), ("f_content", "shadow"),
                                          ("sqlite_sequence", "sqlite"), ("litefeed_log", "litefeed"), ("absent", "")])
def test_B56_each_is_refused_by_name_with_the_reason(name, reason, database):
    db = database(MIXED)
    litefeed("watch", db.path, "t")
    before = db.dump()
    done = litefeed("watch", db.path, name, check=False)
    assert done.returncode == 1
    assert name in done.stderr and reason in done.stderr.lower(), done.stderr
    assert db.dump() == before


UNWATCHABLE = {
    "columns named rowid, _rowid_ and oid": "CREATE TABLE t(rowid, _rowid_, oid)",
    "a unique column whose default is not constant": "CREATE TABLE t(id INTEGER PRIMARY KEY, u NOT NULL DEFAULT (random()) UNIQUE)",
    "a unique index on an expression of the integer key": "CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE UNIQUE INDEX u ON t(id + a)",
    "a unique index on a constant": "CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE UNIQUE INDEX u ON t(1)",
}


@pytest.mark.parametrize("what", UNWATCHABLE)
def test_tables_whose_replace_cannot_be_seen_are_refused(what, database):
    db = database(UNWATCHABLE[what])
    before = db.dump()
    done = litefeed("watch", db.path, "t", check=False)
    assert done.returncode == 1 and "t" in done.stderr, (done.stdout, done.stderr)
    assert db.dump() == before, "nothing was changed"


def test_one_that_is_refused_refuses_the_whole_command(database):
    db = database(MIXED)
    before = db.dump()
    assert litefeed("watch", db.path, "t", "v", check=False).returncode == 1
    assert db.dump() == before
