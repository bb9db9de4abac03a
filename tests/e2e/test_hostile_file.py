"""A hostile file: whatever stands in it, nothing of it runs, litefeed never crashes, and it is well again when the file is."""

import os
import random
import re
import sqlite3
import subprocess

import pytest
from harness.database import Database
from harness.reading import all_changes
from harness.replica import Replica
from harness.server import binary, is_sanitized
from harness.tools import litefeed, run_node
from harness.waiting import eventually

NOTES = "CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT); INSERT INTO notes VALUES(1,'a'),(2,'b')"
ANSWERS = (200, 304, 404, 410, 503)


def ask_everything(feed):
    """Every resource answers, with what a client can read; the process lives."""
    statuses = []
    for target in ["/changes?since=0", "/changes?since=1", "/rows/notes", "/rows/notes?limit=1", "/tables", "/status", "/readyz"]:
        answer = feed.get(target)
        assert answer.status in ANSWERS, answer
        answer.json()
        if answer.status == 503:
            assert int(answer.get("retry-after")) >= 1, answer
        statuses.append(answer.status)
    assert feed.running and feed.get("/healthz").status == 200
    return statuses


# Damaged pages

def flipped(good, dice):
    out = bytearray(good)
    for _ in range(dice.choice([1, 1, 3, 20, 200])):
        out[dice.randrange(len(out))] = dice.randrange(256)
    return bytes(out)


PAGES = (NOTES + ",(3,NULL);CREATE TABLE words(w TEXT COLLATE NOCASE PRIMARY KEY, n REAL) WITHOUT ROWID;"
         "INSERT INTO words SELECT 'w' || value, value FROM (WITH RECURSIVE s(value) AS (VALUES(1) UNION ALL SELECT value+1 FROM s"
         " WHERE value<300) SELECT value FROM s); CREATE UNIQUE INDEX t ON notes(title); CREATE TABLE big(a UNIQUE, b);"
         "INSERT INTO big VALUES(1, randomblob(20000)), (2, zeroblob(9000))")


def test_flipped_bytes_crash_no_server_and_the_good_file_mends_it(database, server, seed):
    db = database(PAGES, journal="delete")
    feed = server(db, "--watch-all")
    replica = Replica().catch_up(feed)
    good = db.path.read_bytes()
    dice = random.Random(seed)
    with feed.events(since=0, snapshot=1) as stream:
        stream.start()
        for i in range(40):
            db.path.write_bytes(flipped(good, dice))
            ask_everything(feed)
            if i % 8 == 7:
                db.path.write_bytes(good)
                # SQLite keeps pages until the file's change counter moves, which a copy of bytes does not do.
                db.run(*[f"UPDATE notes SET title='{i}' WHERE id=1"] * 5)
                good = db.path.read_bytes()
                eventually(lambda: feed.get("/readyz").status == 200, 10)
                replica.cursor = "0"
                replica.tables = {}
                replica.catch_up(feed).assert_equals(db, "notes", "words", "big")
        assert not stream.ended
    assert db.value("PRAGMA integrity_check") == "ok"


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_flipped_bytes_crash_no_command(journal, database, seed):
    db = database(PAGES, journal=journal)
    litefeed("watch", db.path, "--all")
    good = db.path.read_bytes()
    dice = random.Random(seed)
    for i in range(40):
        bad = flipped(good, dice)
        for arguments in [("changes", db.path, "--since", "0"), ("status", db.path), ("watch", db.path, "notes")]:
            for end in ("", "-wal", "-shm", "-journal"):
                if os.path.exists(f"{db.path}{end}"):
                    os.unlink(f"{db.path}{end}")
            db.path.write_bytes(bad)
            done = litefeed(*arguments, check=False, within_s=30)
            assert done.returncode in (0, 1), (i, arguments, done.returncode, done.stderr)
            assert (done.returncode == 1) == bool(done.stderr), (i, arguments, done.stderr)


def test_a_damaged_word_is_printed_as_text(database):
    db = database(NOTES)
    litefeed("watch", db.path, "notes")
    db.run("UPDATE litefeed_tables SET reason = CAST(x'656ebb1b' AS TEXT)")
    assert "(en\\xbb\\x1b)" in litefeed("status", db.path).stdout


# Names and definitions

ODD_NAMES = ["it's", 'a"b', "a`b", "[x]", "a]b", "--", "/*", "%s%n", "line\nbreak", "tab\there", "\x01\x1b[31m", "select", "ünïcode ☃", " ",
             "a.b", "a,b", "a;DROP TABLE notes;--", "\u202egnp", "new", "old", "lf_row", "NULL", "0", "🙂" * 40]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def odd_schema():
    out = []
    for i, name in enumerate(ODD_NAMES):
        column, other = quoted(ODD_NAMES[(i + 1) % len(ODD_NAMES)]), quoted(ODD_NAMES[(i + 2) % len(ODD_NAMES)])
        table = quoted(name)
        out.append(f"CREATE TABLE {table}({column} TEXT COLLATE NOCASE PRIMARY KEY NOT NULL CHECK(length({column}) < 99 OR {column} = ');--\"'),"
                   f" {other} INTEGER UNIQUE CONSTRAINT {quoted('c' + name)} NOT NULL DEFAULT {i},"
                   f" {quoted('g' + name)} AS ({column} || '''' || {other}) {'STORED' if i % 2 else 'VIRTUAL'})")
        out.append(f"CREATE UNIQUE INDEX {quoted('i' + name)} ON {table}(lower({column}), {other}) WHERE {other} > 0")
        out.append(f"CREATE VIEW {quoted('v' + name)} AS SELECT * FROM {table}")
        out.append(f"CREATE TRIGGER {quoted('t' + name)} AFTER UPDATE ON {table} BEGIN SELECT ';--' WHERE NEW.{other} IS 'x''\"'; END")
    return ";".join(out)


def test_names_of_every_kind_are_names(database, server):
    db = database(odd_schema())
    feed = server(db, "--watch-all")
    replica = Replica().catch_up(feed)
    assert {t["table"] for t in feed.get("/tables").json()["tables"]} == set(ODD_NAMES)
    for i, name in enumerate(ODD_NAMES):
        column, other = quoted(ODD_NAMES[(i + 1) % len(ODD_NAMES)]), quoted(ODD_NAMES[(i + 2) % len(ODD_NAMES)])
        with db.connect() as c:
            for key, value in [("a", 1), ("b'\"", 2), ("A", 3), ("c", 2)]:
                c.execute(f"INSERT OR REPLACE INTO {quoted(name)}({column}, {other}) VALUES(?, ?)", (key, value))
            c.execute(f"UPDATE OR REPLACE {quoted(name)} SET {other} = 3 WHERE {column} = 'c'")
        assert feed.get_rows(name).status == 200
    replica.catch_up(feed).assert_equals(db, *ODD_NAMES)
    assert replica.resets == []
    told_on_stderr = feed.log()
    assert "\x1b" not in told_on_stderr and "\x01" not in told_on_stderr, "what a name holds does not reach a terminal"


def test_a_deep_check_is_read_like_any_other(database, server):
    deep = "(" * 30 + "v" + "+1)" * 30
    wide = " OR ".join(f"v IS {i}" for i in range(900))
    db = database(f"CREATE TABLE notes(id INTEGER PRIMARY KEY, v CHECK({deep} > 0 OR 1), w CHECK({wide} OR 1) UNIQUE)")
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    db.run("INSERT INTO notes VALUES(1,1,1)", "REPLACE INTO notes VALUES(2,2,1)")
    replica.catch_up(feed).assert_equals(db, "notes")


# What wants to run

def test_triggers_on_litefeeds_own_tables_do_not_run_for_litefeed(database, server):
    db = database(NOTES + ";CREATE TABLE loot(what)")
    feed = server(db, "--watch", "notes")
    for table in ("log", "tables", "meta", "schema"):
        for when in ("BEFORE", "AFTER"):
            for event in ("INSERT", "UPDATE", "DELETE"):
                db.run(f"CREATE TRIGGER evil_{table}_{when}_{event} {when} {event} ON litefeed_{table} "
                       f"BEGIN INSERT INTO loot VALUES('{table} {event}'); END")
    replica = Replica().catch_up(feed)
    db.run("ALTER TABLE notes ADD COLUMN more")
    eventually(lambda: [t["generation"]["number"] for t in feed.get("/tables").json()["tables"]] == [2])
    assert db.ask("SELECT * FROM loot") == [], "a repair writes to all four"
    litefeed("watch", db.path, "loot")
    litefeed("unwatch", db.path, "loot")
    assert db.ask("SELECT * FROM loot") == []
    db.run("INSERT INTO notes VALUES(3,'c','d')")
    assert {what for what, in db.ask("SELECT * FROM loot")} == {"log INSERT"}, "the owner's own write runs what the owner has"
    replica.catch_up(feed).assert_equals(db, "notes")
    feed.stop()
    litefeed("unwatch", db.path, "--all")
    assert not db.ask("SELECT 1 FROM sqlite_schema WHERE name LIKE 'litefeed%' OR name LIKE 'evil%'")


# 2^40 rows, and as many names to look up for whoever so much as prepares a query of it.
NESTED = ";CREATE VIEW v0 AS SELECT 1 AS a;" + ";".join(f"CREATE VIEW v{i} AS SELECT x.a FROM v{i - 1} x, v{i - 1} y" for i in range(1, 41))


def test_views_are_not_looked_into(database, server):
    db = database(NOTES + NESTED + ";CREATE TRIGGER io INSTEAD OF INSERT ON v1 BEGIN DELETE FROM notes; END")
    feed = server(db, "--watch", "notes")
    before = feed.cursor()
    db.run("CREATE INDEX i ON notes(title)", "INSERT INTO notes VALUES(3,'c')")
    assert [c["row"] for c in feed.changes(since=before)["changes"]] == [{"id": 3, "title": "c"}]
    assert "view" in litefeed("watch", db.path, "--all", within_s=10).stdout
    assert "view" in litefeed("watch", db.path, "v40", check=False, within_s=10).stderr
    assert "notes" in litefeed("status", db.path, within_s=10).stdout


def test_a_view_in_a_tables_place_is_no_table(database, server):
    db = database(NOTES)
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    db.script("ALTER TABLE notes RENAME TO hidden; CREATE VIEW notes AS SELECT id, 'forged' AS title FROM hidden;"
              "CREATE TRIGGER io INSTEAD OF UPDATE ON notes BEGIN DELETE FROM hidden; END")
    eventually(lambda: "truncate" in str(all_changes(feed, replica.cursor)[0]))
    replica.catch_up(feed)
    assert replica.rows("notes") == {} and len(replica.rows("hidden")) == 2
    assert b"forged" not in feed.get("/rows/notes").body
    ask_everything(feed)


def test_a_virtual_table_of_an_unknown_kind_stops_nothing(database, server):
    db = database(NOTES)
    with db.connect() as c:
        c.execute("PRAGMA writable_schema=1")
        for name in ("strange", "litefeed_strange"):
            c.execute("INSERT INTO sqlite_schema VALUES('table',?,?,0,?)", (name, name, f"CREATE VIRTUAL TABLE {name} USING nobody_knows(a)"))
    feed = server(db, "--watch-all")
    replica = Replica().catch_up(feed)
    lineage = db.value("SELECT lineage FROM litefeed_meta")
    db.run("ALTER TABLE notes ADD COLUMN more")
    replica.catch_up(feed).assert_equals(db, "notes")
    assert db.value("SELECT lineage FROM litefeed_meta") == lineage


# Litefeed's own tables, as others left them

LOG = "INSERT INTO litefeed_log(seq, table_id, op, at_ms, key) VALUES"
TAMPERED = [
    f"{LOG}(9223372036854775807,1,'i',0,1)",
    f"{LOG}(9007199254740992,1,'i',0,1)",
    f"{LOG}(-5,1,'i',0,1)",
    f"{LOG}(NULL,NULL,NULL,NULL,NULL),(NULL,1,x'00','zz',NULL),(NULL,1,'i','zz',x'00'),(NULL,1,'u',-9e999,9e999)",
    f"{LOG}(NULL,-9223372036854775807,'g',9223372036854775807,''),(NULL,1,'',-9223372036854775807,zeroblob(99))",
    "DELETE FROM litefeed_meta",
    "UPDATE litefeed_meta SET lineage=NULL",
    "UPDATE litefeed_meta SET lineage=x'00ff'",
    "UPDATE litefeed_meta SET lineage='<script>\"'",
    "UPDATE litefeed_meta SET floor=-9",
    "UPDATE litefeed_meta SET floor=9223372036854775807",
    "UPDATE litefeed_meta SET floor_digest=-1, installed_at_ms=9223372036854775807, schema_version=NULL, catalog_version=NULL",
    "UPDATE litefeed_meta SET installed_at_ms=-9223372036854775807, seen_through=9223372036854775807, format=NULL",
    "UPDATE litefeed_tables SET name=NULL, key_columns=NULL, shape=NULL, reason=NULL",
    "UPDATE litefeed_tables SET key_columns='[[[['",
    "UPDATE litefeed_tables SET generation_seq=9223372036854775807",
    "UPDATE litefeed_tables SET generation_seq=-1",
    "UPDATE litefeed_tables SET generation=9223372036854775807",
    "UPDATE litefeed_tables SET table_id=-7",
    "UPDATE litefeed_tables SET updated_at_ms=-9223372036854775807, reason=x'00', generation_id=9e999, contract=-1",
    "UPDATE litefeed_tables SET shape=NULL",
    "UPDATE litefeed_schema SET name=NULL, sql=NULL, type=NULL, place=-place",
    "DELETE FROM litefeed_schema",
    "ALTER TABLE litefeed_meta DROP COLUMN lineage",
    "ALTER TABLE litefeed_meta DROP COLUMN format",
    "DROP TABLE litefeed_marks",
    "ALTER TABLE litefeed_tables RENAME COLUMN name TO nom",
]


def moved(done):
    """What is kept of litefeed_tables is read anew when the catalog's version moves."""
    return [done, *["UPDATE litefeed_meta SET catalog_version=catalog_version+1"] * done.startswith("UPDATE litefeed_tables")]


@pytest.mark.parametrize("done", TAMPERED)
def test_what_others_write_into_litefeeds_tables_hides_nothing(done, database, server):
    db = database(NOTES)
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    db.run("INSERT INTO notes VALUES(3,'c')", *moved(done), "UPDATE notes SET title='z' WHERE id=1")
    eventually(lambda: feed.get("/readyz").status == 200, 10)
    replica.catch_up(feed).assert_equals(db, "notes")
    assert 503 not in ask_everything(feed)
    db.run("INSERT INTO notes VALUES(4,'d')")
    replica.catch_up(feed).assert_equals(db, "notes")
    litefeed("compact", db.path)
    replica.catch_up(feed).assert_equals(db, "notes")


DAMAGED = ["DELETE FROM litefeed_meta", "DROP TABLE litefeed_log", "UPDATE litefeed_tables SET key_columns='[[[['",
           f"{LOG}(9007199254740992,1,'i',0,1)"]


@pytest.mark.parametrize("done", DAMAGED)
def test_where_nobody_may_write_damage_is_told_until_the_cure_that_is_named(done, database, server):
    db = database(NOTES)
    litefeed("watch", db.path, "notes")
    feed = server(db, "--read-only")
    replica = Replica().catch_up(feed)
    db.run(*moved(done))
    eventually(lambda: feed.get("/readyz").status == 503)
    answer = feed.get_changes(since=0)
    assert answer.status == 503 and "damaged; litefeed watch begins the feed again" in answer.json()["detail"], answer
    ask_everything(feed)
    assert "litefeed watch" in litefeed("status", db.path, check=False).stderr
    assert "litefeed watch" in litefeed("compact", db.path, check=False).stderr
    litefeed("watch", db.path, "notes")
    eventually(lambda: feed.get("/readyz").status == 200, 10)
    db.run("INSERT INTO notes VALUES(3,'c')")
    replica.catch_up(feed).assert_equals(db, "notes")


FORGED = {
    "a view": "ALTER TABLE litefeed_meta RENAME TO m; CREATE VIEW litefeed_meta AS SELECT * FROM m",
    "a virtual table": "CREATE TABLE m AS SELECT * FROM litefeed_meta; DROP TABLE litefeed_meta; CREATE VIRTUAL TABLE litefeed_meta USING fts5("
                       "id, format, lineage, floor, floor_digest, retention_s, entries_max, folded, seen_through, schema_version, catalog_version,"
                       "installed_at_ms, compacted_at_ms); INSERT INTO litefeed_meta SELECT * FROM m",
}


@pytest.mark.parametrize("forged", FORGED)
def test_what_only_bears_our_tables_name_is_not_read(forged, database, server):
    db = database(NOTES)
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    db.script(FORGED[forged])
    eventually(lambda: feed.get("/readyz").status == 200, 10)
    ask_everything(feed)
    db.run("INSERT INTO notes VALUES(3,'c')")
    replica.catch_up(feed).assert_equals(db, "notes")
    assert db.ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'litefeed%' AND type = 'view'") == [(0,)]


# Large and wide

@pytest.mark.parametrize("key", ["a rowid", "a column"])
def test_two_thousand_columns(key, database, server):
    columns = [f"c{i}" for i in range(2000)]
    first = "c0 INTEGER PRIMARY KEY" if key == "a column" else "c0"
    db = database(f"CREATE TABLE wide({first}, {', '.join(columns[1:])})")
    db.run(*[f"INSERT INTO wide(c0, c7, c1999) VALUES({i}, 'seven', {i})" for i in range(5)])
    feed = server(db, "--watch", "wide")
    replica = Replica().catch_up(feed, limit=2)
    db.run("UPDATE wide SET c1998='x' WHERE c0=3", "DELETE FROM wide WHERE c0=1", "INSERT INTO wide(c0) VALUES(9)")
    replica.catch_up(feed)
    rows = sorted((row["c0"], row["c7"], row["c1998"], row["c1999"], len(row)) for _, row in replica.rows("wide").values())
    assert rows == [(*row, 2000) for row in db.ask("SELECT c0, c7, c1998, c1999 FROM wide ORDER BY c0")]
    pages, after = [], None
    while True:
        page = feed.rows("wide", limit=2, after=after)
        pages += page["rows"]
        after = page["next"]
        if after is None:
            break
    assert sorted(row["row"]["c0"] for row in pages) == [0, 2, 3, 4, 9]


def peak_mb(feed):
    with open(f"/proc/{feed.process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) / 1024


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_row_that_cannot_be_computed_stops_nobody(journal, database, server):
    db = database(NOTES + "; CREATE TABLE words(id INTEGER PRIMARY KEY, j TEXT, g AS (json_extract(j, '$.a')))", journal=journal)
    feed = server(db, "--watch-all")
    begun = feed.cursor()
    with feed.events(since=begun) as all_of_it, feed.events(since=begun, table="notes") as notes:
        all_of_it.start(), notes.start()
        # The newer SQLite of better-sqlite3 takes JSON5, ours does not.
        run_node("""new (require('better-sqlite3'))(process.argv[1]).exec(
            `INSERT INTO words(id, j) VALUES(1, '{"a":5}'), (2, '{a:6}'), (3, '{}')`)""", db.path)
        db.run("INSERT INTO notes VALUES(7, 'after')")
        told = all_of_it.changes(4, 10)
        assert [(c["key"]["id"], c.get("row", {}).get("g"), c.get("unreadable")) for c in told] == \
            [(1, 5, None), (2, None, True), (3, None, None), (7, None, None)]
        assert notes.changes(1, 10)[0]["row"]["title"] == "after"
    assert feed.changes(since=begun)["changes"] == told
    assert [r.get("unreadable") for r in feed.rows("words")["rows"]] == [None, True, None]
    assert feed.get("/readyz").status == 200


HUNDRED_MB = {
    "a text": "replace(hex(zeroblob(50000000)),'00','ab')",
    "a blob": "zeroblob(100000000)",
}


@pytest.mark.parametrize("what", HUNDRED_MB)
def test_a_row_of_100_mb_passes_by_without_filling_the_memory(what, database, server):
    db = database(NOTES)
    feed = server(db, "--watch", "notes", "--row-bytes-max", "1000000")
    before = feed.cursor()
    feed.changes(since=0)
    with feed.events(since=before) as stream:
        stream.start()
        standing = peak_mb(feed)
        db.run(f"INSERT INTO notes VALUES(7,{HUNDRED_MB[what]})", "INSERT INTO notes VALUES(8,'after')")
        large = {"table": "notes", "op": "insert", "stamp": 2, "key": {"id": 7}, "too_large": 100000000}
        assert stream.changes(2, 20)[0] == large
        assert feed.changes(since=before)["changes"][0] == large
        first = feed.changes(since=0)["changes"]
        assert [(c["key"]["id"], c.get("too_large")) for c in first] == [(1, None), (2, None), (7, 100000000), (8, None)]
        assert [(r["key"]["id"], r.get("too_large")) for r in feed.rows("notes")["rows"]] == [(1, None), (2, None), (7, 100000000), (8, None)]
        ids, after = [], None
        while True:
            page = feed.rows("notes", limit=1, after=after)
            ids += [r["key"]["id"] for r in page["rows"]]
            after = page["next"]
            if after is None:
                break
        assert ids == [1, 2, 7, 8]
        assert is_sanitized() or peak_mb(feed) - standing < 30, (standing, peak_mb(feed))
    # Short again, it comes whole.
    db.run("UPDATE notes SET title='short' WHERE id=7")
    assert feed.changes(since=0)["changes"][2]["row"] == {"id": 7, "title": "short"}


LARGE_TABLES = {
    "a rowid table": "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT, secret)",
    "without rowid": "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT, secret) WITHOUT ROWID",
    "a generated column": "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT, secret, g AS (id + 1))",
    "a text key": "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, a, b TEXT, secret)",
    "no key": "CREATE TABLE t(id, a, b TEXT, secret)",
}


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
@pytest.mark.parametrize("table", LARGE_TABLES)
def test_the_limit_counts_what_may_leave_the_house(table, encoding, tmp_path, server):
    made = sqlite3.connect(tmp_path / "app.db")
    made.execute(f"PRAGMA encoding='{encoding}'")
    made.execute(LARGE_TABLES[table])
    made.commit()
    made.close()
    db = Database(tmp_path / "app.db")
    assert db.value("PRAGMA encoding") == encoding
    mb = 1_000_000
    db.run(f"INSERT INTO t(id,a,b,secret) VALUES(1, zeroblob({3 * mb}), 'x', NULL)",
           f"INSERT INTO t(id,a,b,secret) VALUES(2, NULL, replace(hex(zeroblob({mb})),'00','ab'), NULL)",
           f"INSERT INTO t(id,a,b,secret) VALUES(3, 'small', 'small', zeroblob({9 * mb}))",
           f"INSERT INTO t(id,a,b,secret) VALUES(4, zeroblob({mb}), replace(hex(zeroblob({mb})),'00','ab'), zeroblob({9 * mb}))",
           "INSERT INTO t(id,a,b,secret) VALUES(5, 'small', 'small', 'small')")
    feed = server(db, "--watch", "t", "--hide", "t.secret", environment={"LITEFEED_ROW_BYTES_MAX": str(2 * mb + 1)})
    for limit in (1, 2, 1000):
        changes, _ = all_changes(feed, 0, limit=limit)
        # A text key is text, and counts.
        rows = {str(c["key"].get("id", c["key"].get("rowid"))): c for c in changes}
        assert len(changes) == 5
        stored = rows["1"]["too_large"]
        assert 3 * mb <= stored <= 3 * mb + 8, stored
        assert len(rows["2"]["row"]["b"]) == 2 * mb
        assert (rows["3"]["row"]["a"], rows["5"]["row"]["a"]) == ("small", "small")
        assert rows["4"]["too_large"] >= 3 * mb
    before = feed.cursor()
    db.run("UPDATE t SET b='touched'||b")
    changes = {str(c["key"].get("id", c["key"].get("rowid"))): c for c in feed.changes(since=before)["changes"]}
    assert "too_large" in changes["1"] and "too_large" in changes["4"]
    assert changes["3"]["row"]["b"] == "touchedsmall"


def test_a_row_at_the_limit_comes_and_one_beyond_it_does_not(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); INSERT INTO t VALUES(1,'12345',x'0102030405'),(2,'12345',x'010203040506'),(3,12345678901,2.5)")
    feed = server(db, "--watch", "t", "--row-bytes-max", "10")
    changes = feed.changes(since=0)["changes"]
    assert ["row" in c for c in changes] == [True, False, True] and changes[1]["too_large"] == 11


def test_the_limit_is_checked(database):
    db = database(NOTES)
    for bad in ("0", "-1", "x", "9999999999"):
        done = subprocess.run([binary(), "serve", str(db.path), "--row-bytes-max", bad], capture_output=True, text=True, timeout=20)
        assert done.returncode == 2 and "--row-bytes-max" in done.stderr, done.stderr


def test_a_key_of_64_mb_is_a_key(database, server, tmp_path):
    db = database("CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, n); INSERT INTO notes VALUES('first',1)")
    feed = server(db, "--watch", "notes")
    before = feed.cursor()
    size = 64_000_000
    standing = peak_mb(feed)
    db.run(f"INSERT INTO notes VALUES(replace(hex(zeroblob({size // 2})),'00','ab'), 2)")
    large = b'"' + b"ab" * (size // 2) + b'"'
    for target in (f"/changes?since={before}", "/changes?since=0", "/rows/notes"):
        out = tmp_path / "answer"
        subprocess.run(["curl", "-sS", "-m", "60", "-o", str(out), f"{feed.url}{target}"], check=True)
        # It stands in the key and in the row.
        assert out.read_bytes().count(large) == 2
    cursor = feed.changes(since="now")["cursor"]
    assert len(cursor) < 100
    db.run("INSERT INTO notes VALUES('aa', 1)")  # before it, so that a page of one is small
    page = feed.get_rows("notes", limit=1)
    assert page.status == 200 and len(page.json()["next"]) <= 512
    assert is_sanitized() or peak_mb(feed) - standing < 12 * size / 1e6
