"""What the owner's program sees is as without litefeed: its triggers, its counts, its settings."""

from harness.reading import told
from harness.replica import Replica


def outcomes(db):
    """What a program is told of its own writes."""
    out = []
    with db.connect() as c:
        for sql in ["INSERT INTO t VALUES(100,1,'a')", "INSERT INTO t(v,u) VALUES(2,'b')",
                    "UPDATE t SET v=v+1", "DELETE FROM t WHERE id=100", "INSERT OR IGNORE INTO t VALUES(7,1,'b')",
                    "REPLACE INTO t VALUES(8,1,'b')", "INSERT INTO t(u) VALUES('c'),('d') RETURNING id, u",
                    "UPDATE t SET v=0 RETURNING id, v", "DELETE FROM t WHERE v=0 RETURNING *"]:
            rows = c.execute(sql).fetchall()
            out.append((sql, rows, c.execute("SELECT changes(), last_insert_rowid()").fetchone()))
    return out


def test_B27_counts_and_returning_are_as_without_litefeed(database, server):
    script = "CREATE TABLE t(id INTEGER PRIMARY KEY, v, u UNIQUE);"
    plain, watched = database(script, name="plain.db"), database(script, name="watched.db")
    server(watched, "--watch", "t")
    assert outcomes(watched) == outcomes(plain)


def test_B28_an_owners_trigger_that_updates_its_own_row_is_followed(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v, upd INT DEFAULT 0); INSERT INTO t VALUES(1,'a',0);"
                  "CREATE TRIGGER usr AFTER UPDATE ON t BEGIN UPDATE t SET upd=upd+1 WHERE id=NEW.id; END")
    feed = server(db, "--watch", "t")
    before = feed.cursor()
    db.run("UPDATE t SET v='b' WHERE id=1")
    answer = feed.changes(since=before)
    assert told(answer) == [("update", 1)]
    assert answer["changes"][0]["row"] == {"id": 1, "v": "b", "upd": 1}


def test_B28_a_trigger_that_the_owner_adds_later_loses_no_change(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v, upd INT DEFAULT 0); INSERT INTO t VALUES(1,'a',0)")
    feed = server(db, "--watch", "t")
    replica = Replica().catch_up(feed)
    db.run("CREATE TRIGGER usr AFTER UPDATE ON t BEGIN UPDATE t SET upd=upd+1 WHERE id=NEW.id; END",
           "UPDATE t SET v='b' WHERE id=1", "INSERT INTO t VALUES(2,'c',0)", "UPDATE t SET v='d' WHERE id=2")
    replica.catch_up(feed).assert_equals(db, "t")
    db.run("UPDATE t SET v='e'")
    replica.catch_up(feed).assert_equals(db, "t")
    assert db.value("PRAGMA recursive_triggers") == 0


def test_B28_an_owners_trigger_that_ignores_does_not_hide_the_row(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v);"
                  "CREATE TRIGGER a AFTER INSERT ON t WHEN NEW.v='stop' BEGIN SELECT RAISE(IGNORE); END;"
                  "CREATE TRIGGER b BEFORE INSERT ON t WHEN NEW.v='never' BEGIN SELECT RAISE(IGNORE); END")
    feed = server(db, "--watch", "t")
    before = feed.cursor()
    db.run("INSERT INTO t VALUES(1,'stop')", "INSERT INTO t VALUES(2,'never')", "INSERT INTO t VALUES(3,'go')")
    assert told(feed.changes(since=before)) == [("insert", 1), ("insert", 3)]


def test_B26_writes_pass_where_the_schema_is_not_trusted(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v); INSERT INTO t VALUES(1,'a',0)")
    feed = server(db, "--watch", "t")
    replica = Replica().catch_up(feed)
    with db.connect() as c:
        c.execute("PRAGMA trusted_schema=OFF")
        c.execute("INSERT INTO t VALUES(2,'b',0)")
        c.execute("REPLACE INTO t VALUES(3,'a',1)")
        c.execute("UPDATE t SET v=v+1, u=u||'x'")
        c.execute("DELETE FROM t WHERE id=2")
    replica.catch_up(feed).assert_equals(db, "t")
    assert replica.resets == []


def test_B26_triggers_use_only_what_an_old_sqlite_knows(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v); CREATE UNIQUE INDEX x ON t(lower(v)) WHERE v<>''")
    server(db, "--watch", "t")
    for name, sql in db.ask("SELECT name, sql FROM sqlite_schema WHERE type='trigger'"):
        text = sql.lower()
        for newer in ["json", "returning", "on conflict", "->", "strict", "or ignore", "or replace", "iif("]:
            assert newer not in text, (name, sql)


def test_a_savepoint_that_is_rolled_back_tells_nothing(notes):
    db, feed = notes
    before = feed.cursor()
    with db.connect() as c:
        c.execute("BEGIN")
        c.execute("INSERT INTO notes(title) VALUES('kept')")
        c.execute("SAVEPOINT a")
        c.execute("INSERT INTO notes(title) VALUES('lost')")
        c.execute("ROLLBACK TO a")
        c.execute("INSERT INTO notes(title) VALUES('kept too')")
        c.execute("COMMIT")
    assert [c["row"]["title"] for c in feed.changes(since=before)["changes"]] == ["kept", "kept too"]


def test_temp_tables_and_attached_files_with_our_names_are_left_alone(notes, database):
    db, feed = notes
    other = database("CREATE TABLE litefeed_log(x); CREATE TABLE notes(id INTEGER PRIMARY KEY, title)", name="other.db")
    before = feed.cursor()
    with db.connect() as c:
        c.execute("CREATE TEMP TABLE litefeed_log(y)")
        c.execute("ATTACH ? AS other", (str(other.path),))
        c.execute("INSERT INTO main.notes(title) VALUES('a')")
        c.execute("INSERT INTO other.notes(title) VALUES('b')")
        assert c.execute("SELECT count(*) FROM temp.litefeed_log").fetchone() == (0,)
        assert c.execute("SELECT count(*) FROM other.litefeed_log").fetchone() == (0,)
    assert told(feed.changes(since=before)) == [("insert", 1)]


def test_guards_look_up_and_never_scan(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b, c, UNIQUE(b, c));"
                  "CREATE UNIQUE INDEX e ON t(lower(c)); CREATE UNIQUE INDEX p ON t(b) WHERE c IS NOT NULL")
    server(db, "--watch", "t")
    with db.connect() as c:
        for sql in ["REPLACE INTO t VALUES(1,2,3,4)", "UPDATE t SET a=1, b=2, c=3 WHERE id=1"]:
            plan = [row[3] for row in c.execute("EXPLAIN QUERY PLAN " + sql)]
            assert not [step for step in plan if step.startswith("SCAN") and "sqlite" not in step
                        and "CONSTANT" not in step and "SUBQUERY" not in step], plan
