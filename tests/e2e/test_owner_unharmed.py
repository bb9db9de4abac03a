"""The owner's file after watching: whatever worked before works after, and SQLite finds nothing wrong with it."""

import signal
import sqlite3
import subprocess

import pytest
from harness.replica import Replica
from harness.tools import litefeed, tool
from harness.waiting import eventually

TABLES = {
    "plain": "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT, c)",
    "unique columns": "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b TEXT NOT NULL DEFAULT 'x' UNIQUE, c)",
    "a composite unique": "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c, UNIQUE(a, b))",
    "unique indexes": "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c); CREATE UNIQUE INDEX ua ON t(a); CREATE UNIQUE INDEX ub ON t(b, a)",
    "partial and expression indexes": "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c); CREATE UNIQUE INDEX p ON t(a) WHERE b > 0;"
                                      "CREATE UNIQUE INDEX e ON t(lower(b)); CREATE INDEX plain ON t(c)",
    "generated columns": "CREATE TABLE t(id INTEGER PRIMARY KEY, a, g AS (a||'!') UNIQUE, s AS (length(b)) STORED, b, c)",
    "foreign keys": "CREATE TABLE p(id INTEGER PRIMARY KEY); INSERT INTO p VALUES(1);"
                    "CREATE TABLE t(id INTEGER PRIMARY KEY, a REFERENCES p ON DELETE CASCADE, b UNIQUE, c);"
                    "CREATE TABLE child(id INTEGER PRIMARY KEY, t REFERENCES t(b))",
    "no rowid": "CREATE TABLE t(id, a, b UNIQUE, c, PRIMARY KEY(id, a)) WITHOUT ROWID",
    "no key": "CREATE TABLE t(id, a UNIQUE, b, c)",
    "checks": "CREATE TABLE t(id INTEGER PRIMARY KEY, a CHECK(a > 0), b UNIQUE CHECK(b <> 'no'), c, CHECK(a <> b))",
    "a view and triggers of the owner's": "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b, c); CREATE TABLE log(x);"
                                          "CREATE TRIGGER own AFTER UPDATE OF a ON t BEGIN INSERT INTO log VALUES(NEW.a); END;"
                                          "CREATE VIEW v AS SELECT id, b FROM t",
    "odd names": 'CREATE TABLE t(id INTEGER PRIMARY KEY, "a" UNIQUE, "new" UNIQUE, "b c", "select" UNIQUE, c)',
}

ALTERS = ["ALTER TABLE t RENAME TO t2"] + [
    f"ALTER TABLE t RENAME COLUMN {c} TO renamed" for c in ("id", "a", "b", "c", "g", '"b c"', '"new"')] + [
    f"ALTER TABLE t DROP COLUMN {c}" for c in ("id", "a", "b", "c", "g", "s", '"b c"', '"select"')] + [
    "ALTER TABLE t ADD COLUMN d", "ALTER TABLE t ADD COLUMN d NOT NULL DEFAULT 5", "ALTER TABLE t ADD COLUMN d AS (1)",
    "ALTER TABLE t ADD COLUMN d REFERENCES t", "ALTER TABLE t ADD COLUMN d UNIQUE"]

# A unique index that is dropped leaves its guard until a running server removes it: the one thing that can fail.
DROPPED = [("unique indexes", ["DROP INDEX ua", "DROP INDEX ub", "ALTER TABLE t DROP COLUMN a"]),
           ("partial and expression indexes", ["DROP INDEX p", "DROP INDEX e", "ALTER TABLE t DROP COLUMN b"])]


def outcome(db, *statements):
    """None when all succeed, else what SQLite said of the first that failed."""
    with db.connect() as c:
        for s in statements:
            try:
                c.execute(s)
            except sqlite3.Error as failed:
                return str(failed)
    return None


def columns(db):
    return db.ask("SELECT m.name, x.name, x.type FROM sqlite_schema m, pragma_table_xinfo(m.name) x"
                  " WHERE m.type='table' AND m.name NOT LIKE 'litefeed%' ORDER BY m.name, x.cid")


@pytest.mark.parametrize("table", TABLES)
def test_every_alter_that_works_unwatched_works_watched(table, database):
    for i, statement in enumerate(ALTERS):
        plain = database(TABLES[table], name=f"plain{i}.db", journal="delete")
        watched = database(TABLES[table], name=f"watched{i}.db", journal="delete")
        litefeed("watch", watched.path, "t")
        alone, with_us = outcome(plain, statement), outcome(watched, statement)
        assert (alone is None) == (with_us is None), f"{statement}: unwatched {alone}, watched {with_us}"
        if alone is None:
            assert columns(plain) == columns(watched), statement
        name = "t2" if "t2" in statement and alone is None else "t"
        for write in [f"INSERT OR REPLACE INTO {name} DEFAULT VALUES", f"DELETE FROM {name}"]:
            assert outcome(plain, write) == outcome(watched, write), (statement, write)


@pytest.mark.parametrize("table, statements", DROPPED, ids=[d[0] for d in DROPPED])
def test_the_one_exception_lasts_until_a_running_server_has_seen_it(table, statements, database, server):
    db = database(TABLES[table])
    litefeed("watch", db.path, "t")
    *drops, alter = statements
    assert outcome(db, *drops) is None
    failed = outcome(db, alter)
    assert failed is None or "litefeed" in failed, "the message names the trigger that stands in the way"
    server(db)
    if failed is not None:
        eventually(lambda: outcome(db, alter) is None, within_s=5, pause_s=0.1)
    assert "a" not in db.affinities("t") or "b" not in db.affinities("t")


def test_without_replace_guards_there_is_no_exception(database):
    for table, statements in DROPPED:
        db = database(TABLES[table], name=table.replace(" ", "-") + ".db")
        litefeed("watch", db.path, "t", "--no-replace-guard")
        assert outcome(db, *statements) is None


@pytest.mark.parametrize("table", TABLES)
def test_sqlite_finds_nothing_wrong(table, database, server):
    db = database(TABLES[table])
    feed = server(db, "--watch", "t")
    replica = Replica().catch_up(feed)
    with db.connect() as c:
        names = [row[1] for row in c.execute("PRAGMA table_info(t)") if row[1] != "id"]
        chosen = ",".join('"%s"' % n for n in names)
        for i in range(1, 30):
            values = ",".join(str((i * 7 + k) % 11 + 1) for k in range(len(names)))
            c.execute(f"INSERT OR REPLACE INTO t(id, {chosen}) VALUES({i % 9 + 1}, {values})")
            c.execute(f'UPDATE OR REPLACE t SET "{names[-1]}" = {i}')
        c.execute("DELETE FROM t WHERE id % 3 = 0")
        assert c.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert c.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    replica.catch_up(feed).assert_equals(db, "t")
    assert replica.resets == []


def test_foreign_keys_are_checked_as_before(database, server):
    script = TABLES["foreign keys"]
    plain, watched = database(script, name="plain.db"), database(script, name="watched.db")
    server(watched, "--watch-all")
    results = []
    for db in (plain, watched):
        with db.connect() as c:
            seen = []
            for s in ["INSERT INTO t VALUES(1,1,1,1)", "INSERT INTO child VALUES(1,1)", "INSERT INTO child VALUES(2,77)"]:
                c.execute(s)
            seen.append(c.execute("PRAGMA foreign_key_check").fetchall())
            c.execute("PRAGMA foreign_keys=ON")
            for s in ["DELETE FROM t WHERE id=1", "INSERT INTO t VALUES(2,99,2,2)", "DELETE FROM child WHERE id=1", "DELETE FROM p"]:
                try:
                    c.execute(s)
                    seen.append("done")
                except sqlite3.IntegrityError as failed:
                    seen.append(str(failed))
            seen.append(c.execute("SELECT count(*) FROM t").fetchall())
            results.append(seen)
    assert results[0] == results[1]


def test_the_settings_of_the_file_are_left_alone(database, server):
    pragmas = ["application_id", "user_version", "auto_vacuum", "page_size", "encoding", "journal_mode"]
    for journal in ["wal", "delete"]:
        db = database("PRAGMA page_size=8192; PRAGMA auto_vacuum=2; PRAGMA user_version=42; PRAGMA application_id=77; VACUUM;"
                      "CREATE TABLE t(id INTEGER PRIMARY KEY)", journal=journal, name=f"{journal}.db")
        before = [db.value(f"PRAGMA {p}") for p in pragmas]
        feed = server(db, "--watch", "t")
        db.run("INSERT INTO t VALUES(1)")
        feed.changes(since=0)
        assert [db.value(f"PRAGMA {p}") for p in pragmas] == before
        feed.stop()
        assert [db.value(f"PRAGMA {p}") for p in pragmas] == before


def test_a_file_is_copied_with_its_feed_and_dumps_read_back(database, server, tmp_path):
    db = database()
    litefeed("watch", db.path, "notes")
    db.run("INSERT INTO notes(title) VALUES('a')")
    copy = database("", name="copy.db")
    copy.shell(db.dump())
    assert copy.dump() == db.dump()
    feed = server(copy)
    replica = Replica().catch_up(feed)
    copy.run("UPDATE notes SET title='b'")
    replica.catch_up(feed).assert_equals(copy, "notes")


def test_B36_the_owner_meets_no_lock_of_ours(database, server):
    db = database(journal="wal")
    feed = server(db, "--watch", "notes")
    with feed.events() as stream, db.connect() as c:
        stream.start()
        c.execute("PRAGMA busy_timeout=0")
        c.execute("PRAGMA synchronous=OFF")
        for i in range(2000):
            c.execute("BEGIN")
            c.execute("SELECT count(*) FROM notes").fetchone()
            c.execute("INSERT INTO notes(title) VALUES(?)", (str(i),))
            c.execute("COMMIT")


def test_B37_a_server_that_only_reads_writes_nothing_to_the_file(database, server, tmp_path):
    db = database()
    feed = server(db, "--watch", "notes")
    trace = tmp_path / "trace"
    tracer = subprocess.Popen([tool("strace"), "-f", "-y", "-qq", "-e", "trace=pwrite64,write,ftruncate,fsync,fdatasync,unlink",
                               "-o", str(trace), "-p", str(feed.process.pid)], stderr=subprocess.DEVNULL)
    eventually(lambda: "TracerPid:\t0\n" not in open(f"/proc/{feed.process.pid}/status", encoding="ascii").read())
    with feed.events() as stream:
        stream.start()
        for i in range(12):
            db.run(f"INSERT INTO notes(title) VALUES('{i}')", "PRAGMA wal_checkpoint")
            stream.delta()
        assert len(feed.changes(since=0)["changes"]) == 12
    tracer.send_signal(signal.SIGINT)
    tracer.wait()
    assert [line for line in trace.read_text().splitlines() if "app.db" in line and "app.db-shm" not in line] == []
