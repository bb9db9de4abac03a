"""The owner's migrations succeed, and every one of them is told: never silence over a gap."""

import time

import pytest
from harness.reading import told
from harness.replica import Replica
from harness.waiting import eventually

TABLE = ("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b); INSERT INTO t VALUES(1,'x',1),(2,'y',2);"
         "CREATE TABLE other(id INTEGER PRIMARY KEY); INSERT INTO other VALUES(1)")

REBUILD = ("BEGIN; CREATE TABLE new__t(id INTEGER PRIMARY KEY, a TEXT, b); INSERT INTO new__t(id,a) SELECT id,a FROM t WHERE id<>2;"
           "DROP TABLE t; ALTER TABLE new__t RENAME TO t; COMMIT; INSERT INTO t VALUES(3,'x',1);")


@pytest.fixture
def watched(database, server):
    db = database(TABLE)
    return db, server(db, "--watch", "t", "--watch", "other")


def reset_of(feed, since, **parameters):
    answer = feed.changes(since=since, **parameters)
    assert "reset" in answer, answer
    return answer["reset"]


def test_B22_a_rebuilt_table_is_a_reset(watched):
    db, feed = watched
    replica = Replica().catch_up(feed)
    before = replica.cursor
    db.script(REBUILD)
    assert reset_of(feed, before) == {"reason": "triggers_restored", "tables": ["t"], "floor": 0}
    replica.catch_up(feed).assert_equals(db, "t", "other")
    db.run("INSERT INTO t VALUES(4,'z',4)")
    answer = feed.changes(since=replica.cursor)
    assert told(answer) == [("insert", 4)], "capture stands again"


def test_B22_a_table_rebuilt_while_nobody_served_is_a_reset(watched):
    db, feed = watched
    replica = Replica().catch_up(feed)
    before = replica.cursor
    feed.stop()
    db.script(REBUILD)
    feed.start()
    assert reset_of(feed, before)["reason"] == "triggers_restored"
    replica.catch_up(feed).assert_equals(db, "t", "other")


def test_B22_a_stream_is_told_of_the_rebuild(watched):
    db, feed = watched
    with feed.events(since=feed.cursor(), snapshot=1) as stream:
        stream.start()
        db.script(REBUILD)
        run = stream.run()
        assert run[0]["reset"]["reason"] == "triggers_restored"
        assert told(run[0])[0] == ("truncate",)
        replica = Replica()
        for delta in run:
            replica.apply(delta)
        db.run("INSERT INTO t VALUES(4,'z',4)")
        while len(replica.rows("t")) < 3:
            replica.apply(stream.delta())
        replica.assert_equals(db, "t")


@pytest.mark.parametrize("trigger", range(3))
def test_a_trigger_that_was_dropped_by_hand_is_a_reset(trigger, watched):
    db, feed = watched
    replica = Replica().catch_up(feed)
    names = [row[0] for row in db.ask(
        "SELECT name FROM sqlite_schema WHERE type='trigger' AND tbl_name='t' AND sql LIKE '%AFTER%' ORDER BY name")]
    assert len(names) >= 3
    db.run(f'DROP TRIGGER "{names[trigger]}"', "INSERT INTO t VALUES(3,'z',3)", "UPDATE t SET b=9 WHERE id=1",
           "DELETE FROM t WHERE id=2")
    assert reset_of(feed, replica.cursor)["tables"] == ["t"]
    replica.catch_up(feed).assert_equals(db, "t", "other")


def test_B24_every_alter_succeeds_while_it_is_served(watched):
    db, feed = watched
    replica = Replica().catch_up(feed)
    for statement in ["ALTER TABLE t DROP COLUMN b", 'ALTER TABLE t RENAME COLUMN a TO "a 2"',
                      "ALTER TABLE t ADD COLUMN c DEFAULT 7", 'ALTER TABLE t RENAME COLUMN id TO "the id"',
                      "CREATE INDEX i ON t(c)", "CREATE VIEW v AS SELECT * FROM t", "DROP VIEW v"]:
        db.run(statement)
        db.run("UPDATE t SET c=c+1" if "c" in db.affinities("t") else "UPDATE t SET rowid=rowid")
        replica.catch_up(feed).assert_equals(db, "t", "other")


def test_B51_columns_that_come_and_go_under_steady_polling(watched):
    db, feed = watched
    replica = Replica().catch_up(feed)
    with feed.events(since=replica.cursor, snapshot=1) as stream:
        stream.start()
        follower = Replica()
        follower.catch_up(feed, snapshot=1)
        for statement, write in [("ALTER TABLE t ADD COLUMN c DEFAULT 7", "INSERT INTO t VALUES(3,'z',3,30)"),
                                 ("ALTER TABLE t RENAME COLUMN a TO aa", "UPDATE t SET aa='w' WHERE id=1"),
                                 ("ALTER TABLE t DROP COLUMN b", "UPDATE t SET c=8 WHERE id=2")]:
            before = replica.cursor
            db.run(statement)
            assert reset_of(feed, before) == {"reason": "schema_changed", "tables": ["t"], "floor": 0}
            db.run(write)
            replica.catch_up(feed).assert_equals(db, "t")

            def stream_is_there():
                follower.apply(stream.delta())
                return sorted(follower.rows("t")) == sorted(replica.rows("t")) and follower.rows("t") == replica.rows("t")

            eventually(stream_is_there)
    assert set(replica.resets) == {"schema_changed"}


def test_what_does_not_touch_the_table_resets_nobody(watched):
    db, feed = watched
    before = feed.cursor()
    for statement in ["CREATE TABLE unrelated(x)", "CREATE INDEX i ON t(a)", "CREATE VIEW v AS SELECT a FROM t",
                      "DROP INDEX i", "DROP TABLE unrelated", "ANALYZE"]:
        db.run(statement)
        answer = feed.changes(since=before)
        assert "reset" not in answer and answer["changes"] == [], (statement, answer)
        # An edit and its opposite that come before the server wrote down what it saw could have been anything.
        eventually(lambda: db.value("SELECT schema_version FROM litefeed_meta") == db.value("PRAGMA schema_version"))


def test_B45_a_table_dropped_and_made_anew_ends_in_rows(watched):
    db, feed = watched
    replica = Replica().catch_up(feed)
    db.script("BEGIN; DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1,'new'); COMMIT;"
              "INSERT INTO t VALUES(2,'x');")
    assert reset_of(feed, replica.cursor)["reason"] in ("triggers_restored", "schema_changed"), "both are true"
    replica.catch_up(feed).assert_equals(db, "t", "other")


def test_B45_a_dropped_table_is_told_and_the_rest_goes_on(watched):
    db, feed = watched
    before = feed.cursor()
    db.run("DROP TABLE t", "INSERT INTO other VALUES(2)")
    answer = feed.changes(since=before)
    assert sorted(told(answer)) == [("insert", 2), ("truncate",)]
    truncate, = [c for c in answer["changes"] if c["op"] == "truncate"]
    assert truncate["table"] == "t" and truncate["stamp"] > 0 and set(truncate) == {"table", "op", "stamp"}
    assert "reset" not in answer


def test_a_renamed_table_is_gone_under_its_old_name(watched):
    db, feed = watched
    replica = Replica().catch_up(feed)
    db.run("ALTER TABLE t RENAME TO t2", "INSERT INTO t2 VALUES(3,'z',3)")
    answer = feed.changes(since=replica.cursor, snapshot=1)
    assert ("truncate",) in told(answer, "t")
    replica.apply(answer)
    replica.catch_up(feed, snapshot=1)
    assert replica.rows("t") == {}
    replica.assert_equals(db, "t2", "other")
    db.run("UPDATE t2 SET b=5")
    replica.catch_up(feed, snapshot=1).assert_equals(db, "t2")


@pytest.mark.parametrize("legacy", [0, 1])
def test_B25_an_old_style_rebuild_leaves_a_table_that_can_be_written(legacy, watched):
    db, feed = watched
    replica = Replica().catch_up(feed)
    with db.connect() as c:
        c.execute(f"PRAGMA legacy_alter_table={legacy}")
        c.executescript("BEGIN; ALTER TABLE t RENAME TO t_old; CREATE TABLE t(id INTEGER PRIMARY KEY, a);"
                        "INSERT INTO t SELECT id,a FROM t_old; DROP TABLE t_old; COMMIT;")
        c.execute("INSERT INTO t VALUES(9,'z')")
    replica.catch_up(feed, snapshot=1).assert_equals(db, "t", "other")


def test_an_index_made_after_watching_gets_its_guard(watched):
    db, feed = watched
    replica = Replica().catch_up(feed)
    db.run("CREATE UNIQUE INDEX late ON t(a)")
    replica.catch_up(feed)
    eventually(lambda: db.ask("SELECT 1 FROM sqlite_schema WHERE type='trigger' AND sql LIKE '%late%'"))
    db.run("REPLACE INTO t VALUES(9,'x',0)")
    replica.catch_up(feed).assert_equals(db, "t")
    assert replica.resets == [], "no entry lies between the index and its guard, so nothing was missed"


def test_an_index_that_was_used_before_its_guard_stood_is_a_reset(watched):
    db, feed = watched
    replica = Replica().catch_up(feed)
    db.commit("CREATE UNIQUE INDEX late ON t(a)", "REPLACE INTO t VALUES(9,'x',0)")
    assert reset_of(feed, replica.cursor)["tables"] == ["t"]
    replica.catch_up(feed).assert_equals(db, "t")


def test_a_guard_of_a_dropped_index_is_removed_at_once(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); CREATE UNIQUE INDEX u ON t(a); INSERT INTO t VALUES(1,1,1)")
    feed = server(db, "--watch", "t")
    db.run("DROP INDEX u")
    feed.changes()
    eventually(lambda: not db.ask("SELECT 1 FROM sqlite_schema WHERE type='trigger' AND sql LIKE '%\"a\"%'"))
    db.run("ALTER TABLE t DROP COLUMN a")
    assert Replica().catch_up(feed).content(db, "t") == db.content("t")


def test_the_log_that_was_emptied_by_hand_is_a_reset(watched):
    db, feed = watched
    db.run("INSERT INTO t VALUES(3,'z',3)")
    replica = Replica().catch_up(feed)
    db.run("DELETE FROM litefeed_log", "UPDATE t SET b=0 WHERE id=1", "DELETE FROM t WHERE id=2")
    answer = feed.changes(since=replica.cursor)
    assert answer["reset"]["reason"] in ("feed_restored", "restored", "ahead_of_head"), answer
    replica.catch_up(feed).assert_equals(db, "t", "other")


def test_a_harmless_change_holds_nobody_up(watched):
    """The keeper writes the new schema down when the writer leaves it a moment; commits are told meanwhile."""
    db, feed = watched
    lags = []
    with feed.events(tables="t") as stream, db.connect() as writer:
        stream.start()
        writer.execute("CREATE TABLE unrelated(x)")
        for i in range(10, 30):
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("INSERT INTO t VALUES(?, 'z', 1)", (i,))
            writer.execute("COMMIT")
            writer.execute("BEGIN IMMEDIATE")
            committed = time.monotonic()
            assert told(stream.delta()) == [("insert", i)]
            lags.append(time.monotonic() - committed)
            time.sleep(0.03)
            writer.execute("COMMIT")
    assert max(lags) < 0.25, lags
