"""A row is named by its key, by class and bytes; a key that changes is a row that goes and one that comes."""

import pytest
from harness.reading import told
from harness.replica import Replica


def test_B52_a_changed_key_is_a_delete_and_an_insert(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1,'a'),(2,'b')")
    feed = server(db, "--watch", "t")
    before = feed.cursor()
    db.run("UPDATE t SET id=id+10 WHERE id=1")
    answer = feed.changes(since=before)
    assert sorted(told(answer)) == [("delete", 1), ("insert", 11)]
    before = answer["cursor"]
    db.run("UPDATE t SET id=id WHERE id=2")
    assert told(feed.changes(since=before)) == [("update", 2)], "a key that stays the same is an update"


KEY_CHANGES = {
    "a swap by a detour": ("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1,'a'),(2,'b')",
                           ["UPDATE t SET id=-id", "UPDATE t SET id=3+id"]),
    "a swap in one statement": ("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(-1,'a'),(1,'b'),(2,'c')",
                                ["UPDATE OR REPLACE t SET id=-id"]),
    "a shift over its neighbours": ("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1,'a'),(2,'b'),(3,'c')",
                                    ["UPDATE OR REPLACE t SET id=id+1"]),
    "a composite key": ("CREATE TABLE t(k1, k2, v, PRIMARY KEY(k1,k2)) WITHOUT ROWID;"
                        "INSERT INTO t VALUES('a','y',1),('b','y',2)",
                        ["UPDATE t SET k2='z' WHERE k1='a'", "UPDATE t SET k1='b', k2='x' WHERE k1='a'"]),
    "a rowid": ("CREATE TABLE t(v); INSERT INTO t VALUES('a'),('b')", ["UPDATE t SET rowid=rowid+100"]),
    "an upsert that changes the key": (
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v); INSERT INTO t VALUES(1,'a',0),(2,'b',0)",
        ["INSERT INTO t VALUES(7,'a',1) ON CONFLICT(u) DO UPDATE SET id=excluded.id, v=1"]),
    "the case of a key that ignores case": (
        "CREATE TABLE t(k TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, v); INSERT INTO t VALUES('abc',1)",
        ["UPDATE t SET k='ABC'", "UPDATE t SET k='aBc', v=2"]),
    "the class of a key": ("CREATE TABLE t(k PRIMARY KEY NOT NULL, v); INSERT INTO t VALUES(1,'a'),('1','b'),(x'31','c')",
                           ["UPDATE t SET k=1.0 WHERE v='a'", "UPDATE t SET k=2 WHERE v='b'"]),
    "a cascade": ("CREATE TABLE p(id INTEGER PRIMARY KEY); INSERT INTO p VALUES(1),(2);"
                  "CREATE TABLE t(id INTEGER PRIMARY KEY, p REFERENCES p ON UPDATE CASCADE ON DELETE CASCADE);"
                  "INSERT INTO t VALUES(1,1),(2,1),(3,2)",
                  ["PRAGMA foreign_keys=ON", "UPDATE p SET id=5 WHERE id=1", "DELETE FROM p WHERE id=5"]),
}


@pytest.mark.parametrize("what", KEY_CHANGES)
def test_B52_replicas_follow(what, database, server):
    script, statements = KEY_CHANGES[what]
    db = database(script)
    feed = server(db, "--watch", "t")
    replica = Replica().catch_up(feed)
    with db.connect() as c:
        for statement in statements:
            c.execute(statement)
            replica.catch_up(feed)
            replica.assert_equals(db, "t")
    assert replica.resets == []


def test_keys_that_differ_in_class_or_bytes_never_read_the_same(database, server):
    db = database("CREATE TABLE t(k PRIMARY KEY NOT NULL, v) ;"
                  "INSERT INTO t VALUES('1',1),(x'31',2),(1,3),(1.5,4),('1.5',5),(x'',6),('',7),"
                  "(9007199254740993,8),('9007199254740993',9),(9e999,10),('Infinity',11),(x'ff',12),(CAST(x'ff' AS TEXT),13)")
    feed = server(db, "--watch", "t")
    replica = Replica().catch_up(feed)
    assert len(replica.rows("t")) == 13
    replica.assert_equals(db, "t")
    db.run("DELETE FROM t WHERE v % 2 = 0")
    replica.catch_up(feed).assert_equals(db, "t")
    assert replica.resets == []


def test_B21_blob_keys_and_blobs_never_fail_a_write(database, server):
    db = database("CREATE TABLE p(id INTEGER PRIMARY KEY, img);"
                  "CREATE TABLE k(id BLOB PRIMARY KEY NOT NULL, v);"
                  "CREATE TABLE n(id BLOB PRIMARY KEY, v)")
    feed = server(db, "--watch", "p", "--watch", "k", "--watch", "n")
    replica = Replica().catch_up(feed)
    db.run("INSERT INTO p VALUES(2, x'00ff')", "INSERT INTO k VALUES(randomblob(16), 1)", "INSERT INTO k VALUES(x'00ff', 2)",
           "INSERT INTO n VALUES(randomblob(16), 1)", "INSERT INTO n VALUES(x'', 2)",
           "UPDATE k SET id=CAST(id||x'01' AS BLOB) WHERE v=2")
    answer = feed.changes(since=replica.cursor)
    assert {"blob_hex": "00ff01"} in [c["key"].get("id") for c in answer["changes"]]
    replica.apply(answer)
    replica.assert_equals(db, "p", "k", "n")


def test_B53_rows_with_a_null_key_are_never_merged(database, server):
    db = database("CREATE TABLE n(id TEXT PRIMARY KEY, a); INSERT INTO n VALUES(NULL,1),(NULL,2)")
    feed = server(db, "--watch", "n")
    replica = Replica().catch_up(feed)
    assert len(replica.rows("n")) == 2
    assert {tuple(key) for key, _ in replica.rows("n").values()} == {("rowid",)}
    db.run("INSERT INTO n VALUES(NULL,3)", "UPDATE n SET a=9 WHERE a=1", "DELETE FROM n WHERE a=2")
    replica.catch_up(feed).assert_equals(db, "n")


def test_B53_a_vacuum_that_renumbers_is_a_reset(database, server):
    db = database("CREATE TABLE l(a TEXT); INSERT INTO l(rowid,a) VALUES(5,'x'),(9,'y');"
                  "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES(5),(9)")
    feed = server(db, "--watch", "l", "--watch", "t")
    assert "rowid" in feed.log(), "a table that is named by its rowid is warned of"
    replica = Replica().catch_up(feed)
    before = replica.cursor
    db.run("VACUUM")
    assert db.ask("SELECT rowid FROM l") == [(1,), (2,)]
    answer = feed.changes(since=before, snapshot=1)
    assert answer["reset"]["tables"] == ["l"], "only a table whose rowids were renumbered starts over"
    replica.apply(answer)
    replica.assert_equals(db, "l", "t")
    assert sorted(key["rowid"] for key, _ in replica.rows("l").values()) == [1, 2]


@pytest.mark.parametrize("columns, alias", [("rowid, v", "_rowid_"), ("rowid, _rowid_, v", "oid"), ("v", "rowid")])
def test_the_rowid_is_named_by_the_first_alias_that_no_column_has(columns, alias, database, server):
    db = database(f"CREATE TABLE t({columns}); INSERT INTO t(v) VALUES('a')")
    feed = server(db, "--watch", "t")
    assert feed.changes(since=0)["changes"][0]["key"] == {alias: 1}
