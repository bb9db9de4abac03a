"""Every tampering with schema or log, and the reset that a reader at the head before gets: from the server that lives through it,
and from one that was started after it. And what resets nobody.

What stands elsewhere is not repeated: a live server and dropped triggers, rebuilt, renamed, dropped and altered tables and indexes are in
test_schema_changes.py; VACUUM seen by commands, and restored files, in test_resets.py; damaged tables of ours in test_hostile_file.py.
"""

import contextlib
import os
import sqlite3

import pytest
from harness import strict_json
from harness.reading import told
from harness.replica import Replica
from harness.tools import litefeed

COLUMNS = "id INTEGER PRIMARY KEY, a TEXT, b"
SCRIPT = (f"CREATE TABLE t({COLUMNS}); CREATE UNIQUE INDEX u ON t(a); CREATE TABLE other({COLUMNS}); CREATE TABLE unwatched(x);"
          "INSERT INTO t VALUES(1,'x',1),(2,'y',2),(3,'z',3); INSERT INTO other VALUES(1,'o',1);")
WRITE = "UPDATE t SET b = 9 WHERE id = 1"
BOTH, AFTER = ("live", "restart"), ("restart",)


def triggers_of(db):
    return db.ask("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 't' ORDER BY rowid")


def twelve_steps(db, columns, values, with_triggers):
    """https://www.sqlite.org/lang_altertable.html, section 7; a row gets lost in it."""
    kept = [sql for _, sql in triggers_of(db)] if with_triggers else []
    db.run("PRAGMA foreign_keys = OFF", "BEGIN", f"CREATE TABLE new_t({columns})", f"INSERT INTO new_t SELECT {values} FROM t WHERE id <> 2",
           "DROP TABLE t", "ALTER TABLE new_t RENAME TO t", "CREATE UNIQUE INDEX u ON t(a)", *kept, "COMMIT")


def through_temp(db, with_triggers):
    kept = [sql for _, sql in triggers_of(db)] if with_triggers else []
    db.run("CREATE TEMP TABLE kept AS SELECT * FROM t", "DROP TABLE t", f"CREATE TABLE t({COLUMNS})",
           "INSERT INTO t SELECT * FROM temp.kept WHERE id <> 2", "CREATE UNIQUE INDEX u ON t(a)", *kept)


def put_back(db):
    sql = dict(triggers_of(db))["litefeed_1_update"]
    db.run("DROP TRIGGER litefeed_1_update", WRITE, sql)


# name: (when, what is done, reason, tables)
TOLD = {
    "a trigger dropped": (AFTER, ["DROP TRIGGER litefeed_1_insert"], "triggers_restored", ["t"]),
    "a trigger made another": (BOTH, ["DROP TRIGGER litefeed_1_insert", "CREATE TRIGGER litefeed_1_insert AFTER INSERT ON t BEGIN SELECT 1; END"],
                               "triggers_restored", ["t"]),
    "a guard dropped, and writes after": (BOTH, ["DROP TRIGGER litefeed_1_guard_insert", WRITE], "triggers_restored", ["t"]),
    "an AFTER trigger of the owner's": (BOTH, ["CREATE TRIGGER own AFTER UPDATE ON t BEGIN SELECT 1; END"], "triggers_restored", ["t"]),
    "a BEFORE trigger of the owner's": (BOTH, ["CREATE TRIGGER own BEFORE DELETE ON t BEGIN SELECT RAISE(IGNORE); END"], "triggers_restored", ["t"]),
    "rebuilt in twelve steps, another column": (
        BOTH, lambda db: twelve_steps(db, COLUMNS + ", c", "id, a, b, 0", False), "triggers_restored", ["t"]),
    "rebuilt in twelve steps, another column, our triggers too": (
        BOTH, lambda db: twelve_steps(db, COLUMNS + ", c", "id, a, b, 0", True), "schema_changed", ["t"]),
    "through TEMP": (BOTH, lambda db: through_temp(db, False), "triggers_restored", ["t"]),
    "renamed": (AFTER, ["ALTER TABLE t RENAME TO t2"], "enabled", ["t2"]),
    "renamed by legacy_alter_table": (BOTH, ["PRAGMA legacy_alter_table = ON", "ALTER TABLE t RENAME TO t2"], "enabled", ["t2"]),
    "two tables' names swapped": (BOTH, ["ALTER TABLE t RENAME TO x", "ALTER TABLE other RENAME TO t", "ALTER TABLE x RENAME TO other"],
                                  "triggers_restored", ["t", "other"]),
    "dropped and made again": (AFTER, ["DROP TABLE t", f"CREATE TABLE t({COLUMNS})", "INSERT INTO t VALUES(1,'new',1)"],
                               "triggers_restored", ["t"]),
    "a column added": (AFTER, ["ALTER TABLE t ADD COLUMN c DEFAULT 5"], "schema_changed", ["t"]),
    "a column dropped": (AFTER, ["ALTER TABLE t DROP COLUMN b"], "schema_changed", ["t"]),
    "a column renamed": (AFTER, ["ALTER TABLE t RENAME COLUMN b TO c"], "schema_changed", ["t"]),
    "the key renamed": (BOTH, ["ALTER TABLE t RENAME COLUMN id TO number"], "schema_changed", ["t"]),
    "a unique index made and used": (AFTER, ["CREATE UNIQUE INDEX w ON t(b)", "REPLACE INTO t VALUES(9,'q',2)"], "triggers_restored", ["t"]),
    "a unique index dropped, and writes after": (BOTH, ["DROP INDEX u", WRITE], "triggers_restored", ["t"]),
    "a unique index swapped and used": (BOTH, ["DROP INDEX u", "CREATE UNIQUE INDEX u ON t(b)", "REPLACE INTO t VALUES(9,'q',2)"],
                                        "triggers_restored", ["t"]),
    # What ends as it began: only schema_version tells, so all start over.
    "a trigger dropped, a write, put back": (BOTH, put_back, "schema_changed", ["t", "other"]),
    "a column dropped and added": (BOTH, ["ALTER TABLE t DROP COLUMN b", "ALTER TABLE t ADD COLUMN b"], "schema_changed", ["t", "other"]),
    "a column renamed, its name added, the old one dropped": (
        BOTH, ["ALTER TABLE t RENAME COLUMN b TO c", "ALTER TABLE t ADD COLUMN b", "ALTER TABLE t DROP COLUMN c"], "schema_changed", ["t", "other"]),
    "a unique index made, used and dropped": (
        BOTH, ["CREATE UNIQUE INDEX w ON t(b)", "REPLACE INTO t VALUES(9,'q',2)", "DROP INDEX w"], "schema_changed", ["t", "other"]),
    "the log emptied": (AFTER, ["DELETE FROM litefeed_log", WRITE], "restored", ["t", "other"]),
    "the log dropped": (BOTH, ["DROP TABLE litefeed_log"], "restored", ["t", "other"]),
    "litefeed_meta dropped": (BOTH, ["DROP TABLE litefeed_meta"], "restored", ["t", "other"]),
    "litefeed_meta emptied": (BOTH, ["DELETE FROM litefeed_meta"], "restored", ["t", "other"]),
    "litefeed_tables dropped": (BOTH, ["DROP TABLE litefeed_tables"], "restored", ["t", "other"]),
    "litefeed_tables emptied, and writes after": (("restart",), ["DELETE FROM litefeed_tables", WRITE], "feed_restored", ["t", "other"]),
    "a table taken out of litefeed_tables": (("restart",), ["DELETE FROM litefeed_tables WHERE name = 't'", WRITE], "feed_restored", ["t"]),
    "all but the triggers dropped": (BOTH, [f"DROP TABLE litefeed_{name}" for name in (
        "log", "meta", "tables", "schema", "marks", "contracts", "consumers", "shapes")], "restored", ["t", "other"]),
    "entries taken out of the log": (BOTH, [WRITE, "DELETE FROM litefeed_log WHERE seq = (SELECT max(seq) FROM litefeed_log)",
                                            "INSERT INTO other VALUES(3,'q',3)", "UPDATE t SET b = 4 WHERE id = 2",
                                            "DELETE FROM litefeed_log WHERE seq = (SELECT max(seq) - 1 FROM litefeed_log)"],
                                     "below_floor", ["t", "other"]),
}

# Dropped and made again with our triggers as they were, as SQLite's own procedure says: each of these hides a gap.
MADE_ANEW = {
    "rebuilt in twelve steps, our triggers too": lambda db: twelve_steps(db, COLUMNS, "id, a, b", True),
    "through TEMP, our triggers too": lambda db: through_temp(db, True),
}


def do(db, what):
    what(db) if callable(what) else db.run(*what)


@pytest.fixture
def through(database, server):
    """Does something to a file of which a reader holds everything: (database, feed, replica, its cursor before)."""

    def go(what, when, script=SCRIPT, tables=("t", "other"), arguments=()):
        db = database(script)
        feed = server(db, *[a for t in tables for a in ("--watch", t)])
        db.run("INSERT INTO other VALUES(2,'p',2)")
        replica = Replica().catch_up(feed)
        feed.arguments = list(arguments)
        if when == "restart":
            feed.stop()
        do(db, what)
        if when == "restart":
            feed.start()
        return db, feed, replica, replica.cursor

    return go


def tables_of(db):
    names = {row[0] for row in db.ask("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    return sorted(names & {"t", "t2", "other"})


@pytest.mark.parametrize("when, name", [(when, name) for name, row in TOLD.items() for when in row[0]])
def test_a_tampering_is_told(when, name, through):
    _, what, reason, tables = TOLD[name]
    db, feed, replica, before = through(what, when)
    reset = feed.changes(since=before)["reset"]
    assert (reset["reason"], reset["tables"]) == (reason, tables)
    replica.catch_up(feed, snapshot=1).assert_equals(db, *tables_of(db))
    assert replica.rows("t") == {} or "t" in tables_of(db)
    db.run("INSERT INTO other(id) VALUES(77)")
    assert told(feed.changes(since=replica.cursor)) == [("insert", 77)], "and goes on with exactly its changes"


@pytest.mark.parametrize("when", BOTH)
@pytest.mark.parametrize("name", MADE_ANEW)
def test_a_table_made_anew_under_the_same_triggers_is_told(name, when, through):
    db, feed, replica, before = through(MADE_ANEW[name], when)
    replica.catch_up(feed, snapshot=1).assert_equals(db, "t", "other")


@pytest.mark.parametrize("when", BOTH)
def test_a_vacuum_under_a_rowid_key_is_told(when, through):
    db, feed, replica, before = through(["VACUUM"], when, SCRIPT + "CREATE TABLE r(x); INSERT INTO r VALUES(1),(2),(3); DELETE FROM r WHERE x = 2;",
                                        ("t", "other", "r"))
    assert feed.changes(since=before)["reset"] == {"reason": "triggers_restored", "tables": ["r"], "floor": 0}
    assert len(replica.catch_up(feed).rows("r")) == 2


def test_a_table_that_was_dropped_while_nobody_served_is_told(through):
    db, feed, replica, before = through(["DROP TABLE t"], "restart")
    answer = feed.changes(since=before)
    assert told(answer) == [("truncate",)] and "reset" not in answer


UNSEEN = {"VACUUM": ("CREATE TABLE g(x); INSERT INTO g VALUES(1),(2),(3); DELETE FROM g WHERE x = 1", ["VACUUM"]),
          "a guard dropped": ("CREATE TABLE g(x INTEGER PRIMARY KEY, u UNIQUE); INSERT INTO g VALUES(1,1),(2,2)",
                              ["DROP TRIGGER litefeed_1_guard_insert", "REPLACE INTO g VALUES(9,1)"])}


@pytest.mark.parametrize("command", [
    ("compact",), ("watch", "g"), ("watch", "other"), ("watch", "g", "--keep", "latest"), ("unwatch", "other"),
    ("compact", "--entries-max", "1000")])
@pytest.mark.parametrize("what", UNSEEN)
def test_a_command_that_comes_first_hides_nothing(what, command, database):
    """What nobody saw yet is judged before a command writes down what it sees."""
    script, statements = UNSEEN[what]
    db = database(script + ";CREATE TABLE other(x INTEGER PRIMARY KEY)")
    litefeed("watch", db.path, "g")
    if command == ("unwatch", "other"):
        litefeed("watch", db.path, "other")
    replica = Replica()
    replica.apply(ask(db, 0))
    db.run(*statements)
    litefeed(command[0], db.path, *command[1:])
    litefeed("watch", db.path, "g")
    replica.apply(ask(db, replica.cursor))
    keys = sorted(number for key, _ in replica.rows("g").values() for number in key.values())
    assert keys == [row[0] for row in db.ask("SELECT rowid FROM g ORDER BY rowid")]


# Where a place is lost, the tables to read again are named; those that are not watched any more should be dropped as well.

def ask(db, since):
    return strict_json.loads(litefeed("changes", db.path, "--since", since, "--snapshot").stdout)


def copy(source, target):
    with contextlib.closing(sqlite3.connect(source)) as a, contextlib.closing(sqlite3.connect(target)) as b:
        a.backup(b)


@pytest.mark.parametrize("how", ["thinned", "restored to when it was not watched", "restored to before it was watched"])
def test_a_table_unwatched_where_the_place_is_lost_is_told(how, database, tmp_path):
    db = database(SCRIPT)
    litefeed("watch", db.path, "other")
    if how != "restored to before it was watched":
        litefeed("watch", db.path, "t")
        if how != "thinned":
            litefeed("unwatch", db.path, "t")
    if how != "thinned":
        copy(db.path, tmp_path / "backup.db")
        litefeed("watch", db.path, "t")
    replica = Replica()
    replica.apply(ask(db, 0))
    if how == "thinned":
        litefeed("unwatch", db.path, "t")
        db.run("UPDATE other SET b = 1", "UPDATE other SET b = 2")
        litefeed("compact", db.path, "--entries-max", "1")
    else:
        copy(tmp_path / "backup.db", db.path)
    replica.apply(ask(db, replica.cursor))
    assert replica.resets and replica.rows("t") == {}


# What resets nobody.

def back_up(db):
    copy(db.path, f"{db.path}.backup")
    db.run(f"VACUUM INTO '{db.path}.vacuumed'")


def attach(db):
    with db.connect() as c:
        c.execute(f"ATTACH '{db.path}.other' AS o")
        c.execute("CREATE TABLE o.t(id INTEGER PRIMARY KEY, a TEXT, b)")
        c.execute("CREATE TRIGGER o.own AFTER INSERT ON o.t BEGIN DELETE FROM t; END")
        c.execute("INSERT INTO o.t VALUES(1,'x',1)")


def with_temp(db):
    with db.connect() as c:
        c.execute("CREATE TEMP TABLE scratch AS SELECT * FROM t")
        c.execute("CREATE TEMP TRIGGER seen AFTER INSERT ON unwatched BEGIN DELETE FROM scratch; END")
        c.execute("INSERT INTO unwatched VALUES(1)")


def touch(db):
    os.utime(db.path)
    os.utime(db.path, (0, 0))


QUIET = {
    "a checkpoint": ["PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(RESTART)", "PRAGMA wal_checkpoint(TRUNCATE)"],
    "VACUUM": ["DELETE FROM unwatched", "VACUUM"],
    "a backup being taken": back_up,
    "ANALYZE": ["ANALYZE", "PRAGMA optimize"],
    "REINDEX": ["REINDEX"],
    "TEMP tables, and a TEMP trigger elsewhere": with_temp,
    "another file attached and written": attach,
    "an unwatched table altered": ["ALTER TABLE unwatched ADD COLUMN y", "CREATE UNIQUE INDEX ux ON unwatched(x)",
                                   "CREATE TRIGGER own AFTER INSERT ON unwatched BEGIN SELECT 1; END", "INSERT INTO unwatched VALUES(1, 2)",
                                   "ALTER TABLE unwatched RENAME COLUMN x TO z"],
    "an unwatched table renamed": ["ALTER TABLE unwatched RENAME TO renamed", "INSERT INTO renamed VALUES(1)"],
    "an unwatched table dropped": ["DROP TABLE unwatched"],
    "an unwatched table made": ["CREATE TABLE made(x PRIMARY KEY)", "INSERT INTO made VALUES(1)"],
    "the file touched": touch,
    "nothing": [],
    "a guard dropped": ["DROP TRIGGER litefeed_1_guard_insert"],
    "a guard dropped, and writes elsewhere": ["DROP TRIGGER litefeed_1_guard_insert", "INSERT INTO unwatched VALUES(1)"],
    "a unique index dropped": ["DROP INDEX u"],
    "a unique index swapped": ["DROP INDEX u", "CREATE UNIQUE INDEX u ON t(b)"],
    "marks, consumers, contracts and shapes dropped": [f"DROP TABLE litefeed_{name}" for name in ("marks", "consumers", "contracts", "shapes")],
    "the names of our own settings": ["PRAGMA user_version = 7", "PRAGMA application_id = 7"],
}


def goes_on(db, feed, before):
    answer = feed.changes(since=before)
    assert "reset" not in answer and answer["changes"] == [], answer
    is_unique = bool(db.ask("SELECT 1 FROM pragma_index_info('u') WHERE name = 'a'"))
    db.run(WRITE, "REPLACE INTO t VALUES(8,'z',8)", "DELETE FROM other")
    answer = feed.changes(since=before)
    assert "reset" not in answer
    assert [(c["table"], c["op"], c["key"]["id"]) for c in answer["changes"]] == [
        ("t", "update", 1), *[("t", "delete", 3)] * is_unique, ("t", "insert", 8), ("other", "delete", 1), ("other", "delete", 2)]


@pytest.mark.parametrize("when", BOTH)
@pytest.mark.parametrize("name", QUIET)
def test_what_takes_nothing_away_resets_nobody(name, when, through):
    db, feed, replica, before = through(QUIET[name], when)
    goes_on(db, feed, before)


def test_a_second_server_on_the_file_resets_nobody(through, server):
    db, feed, replica, before = through([], "live")
    second = server(db, "--watch", "t", "--threads", "2")
    db.run("INSERT INTO t VALUES(4,'w',4)")
    for one in (feed, second):
        answer = one.changes(since=before)
        assert "reset" not in answer and told(answer) == [("insert", 4)]
    second.stop()
    goes_on(db, feed, feed.cursor())


def test_entries_a_year_old_are_told_while_nobody_thins(database, server):
    db = database(SCRIPT)
    litefeed("watch", db.path, "t", "other")
    db.run(WRITE, "INSERT INTO other VALUES(2,'p',2)", "UPDATE litefeed_log SET at_ms = at_ms - 366 * 86400000")
    feed = server(db)
    assert told(feed.changes(since=2)) == [("update", 1), ("insert", 2)]
    goes_on(db, feed, feed.cursor())
