"""Rows that REPLACE removes without firing a delete trigger are told as deletes, whatever index they met."""

import pytest
from harness.reading import told
from harness.replica import Replica


def test_B18_rows_that_replace_removes_are_told(database, server):
    db = database("CREATE TABLE u(id INTEGER PRIMARY KEY, email TEXT UNIQUE, n);"
                  "INSERT INTO u VALUES(1,'a@x',1),(2,'b@x',2),(3,'c@x',3);")
    feed = server(db, "--watch", "u")
    replica = Replica().catch_up(feed)
    before = replica.cursor
    db.run("REPLACE INTO u VALUES(9,'b@x',99)", "UPDATE OR REPLACE u SET email='a@x' WHERE id=3")
    answer = feed.changes(since=before)
    assert sorted(told(answer)) == [("delete", 1), ("delete", 2), ("insert", 9), ("update", 3)]
    replica.apply(answer)
    replica.assert_equals(db, "u")
    assert db.value("PRAGMA recursive_triggers") == 0


INDEXES = {
    "a composite unique index": (
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, UNIQUE(a, b)); INSERT INTO t VALUES(1,1,1),(2,1,2),(3,2,1)",
        ["REPLACE INTO t VALUES(9,1,2)", "UPDATE OR REPLACE t SET a=1 WHERE id=3"]),
    "a partial unique index": (
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a, live); CREATE UNIQUE INDEX p ON t(a) WHERE live=1;"
        "INSERT INTO t VALUES(1,'x',1),(2,'x',0),(3,'y',1)",
        ["REPLACE INTO t VALUES(9,'x',1)", "UPDATE OR REPLACE t SET live=1 WHERE id=2"]),
    "an expression's unique index": (
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT); CREATE UNIQUE INDEX e ON t(lower(a));"
        "INSERT INTO t VALUES(1,'Ann'),(2,'Bob'),(3,'Eve')",
        ["REPLACE INTO t VALUES(9,'ANN')", "UPDATE OR REPLACE t SET a='BOB' WHERE id=3"]),
    "a conflict clause in the schema": (
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE ON CONFLICT REPLACE); INSERT INTO t VALUES(1,'x'),(2,'y')",
        ["INSERT INTO t VALUES(9,'x')", "UPDATE t SET a='y' WHERE id=9"]),
    "a table without rowid": (
        "CREATE TABLE t(k TEXT, n INTEGER, v UNIQUE, PRIMARY KEY(k, n)) WITHOUT ROWID;"
        "INSERT INTO t VALUES('a',1,'x'),('a',2,'y'),('b',1,'z')",
        ["REPLACE INTO t VALUES('c',1,'x')", "REPLACE INTO t VALUES('a',2,'w')",
         "UPDATE OR REPLACE t SET v='w' WHERE k='b'"]),
    "a key that ignores case": (
        "CREATE TABLE t(k TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, v); INSERT INTO t VALUES('abc',1),('def',2)",
        ["REPLACE INTO t VALUES('ABC',9)", "UPDATE OR REPLACE t SET k='Def' WHERE k='ABC'"]),
    "a unique column with a default": (
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT NOT NULL DEFAULT 'd' UNIQUE); INSERT INTO t VALUES(1,'d'),(2,'e')",
        ["REPLACE INTO t VALUES(9,NULL)", "UPDATE OR REPLACE t SET u=NULL WHERE id=2"]),
    "a generated unique column": (
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a, g AS (a * 2) UNIQUE); INSERT INTO t(id,a) VALUES(1,1),(2,2),(3,3)",
        ["REPLACE INTO t(id,a) VALUES(9,1)", "UPDATE OR REPLACE t SET a=2 WHERE id=3"]),
    "two unique columns at once": (
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b UNIQUE); INSERT INTO t VALUES(1,1,1),(2,2,2),(3,3,3)",
        ["REPLACE INTO t VALUES(3,1,2)"]),
    "an index made by CREATE UNIQUE INDEX": (
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE UNIQUE INDEX i ON t(a); INSERT INTO t VALUES(1,'x'),(2,'y')",
        ["REPLACE INTO t VALUES(9,'x')", "INSERT OR REPLACE INTO t(a) VALUES('y')"]),
    "a table named new": (
        'CREATE TABLE "new"(id INTEGER PRIMARY KEY, a UNIQUE); INSERT INTO "new" VALUES(1,\'x\'),(2,\'y\'),(3,\'z\')',
        ['REPLACE INTO "new" VALUES(9,\'x\')', 'UPDATE OR REPLACE "new" SET a=\'y\' WHERE id=3']),
    "twelve columns": (
        "CREATE TABLE t(id INTEGER PRIMARY KEY," + ",".join(f"c{i}" for i in range(12)) +
        ", UNIQUE(" + ",".join(f"c{i}" for i in range(12)) + "));"
        "INSERT INTO t VALUES(1," + ",".join("1" * 12) + "),(2," + ",".join("2" * 12) + ")",
        ["REPLACE INTO t VALUES(9," + ",".join("1" * 12) + ")",
         "UPDATE OR REPLACE t SET " + ",".join(f"c{i}=1" for i in range(12)) + " WHERE id=2"]),
}


@pytest.mark.parametrize("what", INDEXES)
@pytest.mark.parametrize("recursive", [0, 1])
def test_B18_replace_through(what, recursive, database, server):
    script, statements = INDEXES[what]
    table = "new" if "new" in what else "t"
    db = database(script)
    feed = server(db, "--watch", table)
    replica = Replica().catch_up(feed)
    with db.connect() as c:
        c.execute(f"PRAGMA recursive_triggers={recursive}")
        for statement in statements:
            c.execute(statement)
            replica.catch_up(feed)
            replica.assert_equals(db, table)
    assert replica.resets == []


def test_B19_what_is_not_inserted_is_not_told(database, server):
    db = database("CREATE TABLE u(id INTEGER PRIMARY KEY, email TEXT UNIQUE); INSERT INTO u VALUES(1,'a')")
    feed = server(db, "--watch", "u")
    before = feed.cursor()
    with feed.events(since=before) as stream:
        stream.start()
        db.run("INSERT OR IGNORE INTO u VALUES(2,'a')", "INSERT INTO u VALUES(1,'z') ON CONFLICT DO NOTHING")
        assert told(feed.changes(since=before)) == []
        assert stream.quiet(0.3), "a statement that did nothing wakes nobody"
        db.run("INSERT INTO u VALUES(1,'z') ON CONFLICT(id) DO UPDATE SET email=excluded.email")
        answer = stream.delta()
    assert told(answer) == told(feed.changes(since=before)) == [("update", 1)]
    assert answer["changes"][0]["row"] == {"id": 1, "email": "z"}


@pytest.mark.parametrize("policy", ["ABORT", "FAIL", "IGNORE", "REPLACE", "ROLLBACK"])
def test_B20_the_outer_conflict_policy_does_not_disturb_capture(policy, database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v UNIQUE); INSERT INTO t VALUES(1,1),(2,2)")
    feed = server(db, "--watch", "t")
    replica = Replica().catch_up(feed)
    meta = db.ask("SELECT * FROM litefeed_meta")
    head = feed.changes()["head"]
    db.run(f"INSERT OR {policy} INTO t VALUES(3,3)", f"INSERT OR {policy} INTO t VALUES(8,8),(9,9)",
           f"UPDATE OR {policy} t SET v=v+100 WHERE id>2")
    answer = feed.changes(since=replica.cursor)
    assert sorted(told(answer)) == [("insert", 3), ("insert", 8), ("insert", 9)]
    assert answer["head"] == head + 6, "one entry for each row that a statement wrote"
    replica.apply(answer)
    replica.assert_equals(db, "t")
    assert db.ask("SELECT * FROM litefeed_meta") == meta


def test_a_statement_that_fails_tells_nothing(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v UNIQUE); INSERT INTO t VALUES(1,1),(2,2)")
    feed = server(db, "--watch", "t")
    before = feed.cursor()
    import sqlite3
    with db.connect() as c:
        with pytest.raises(sqlite3.IntegrityError):
            c.execute("INSERT INTO t VALUES(3,3),(4,1)")
        with pytest.raises(sqlite3.IntegrityError):
            c.execute("INSERT OR FAIL INTO t VALUES(5,5),(6,1)")
    answer = feed.changes(since=before)
    assert told(answer) == [("insert", 5)], "OR FAIL keeps what came before the failure"
