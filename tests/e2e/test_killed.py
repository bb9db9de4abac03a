"""kill -9 at any moment of what litefeed writes: the file is whole, the owner's writes work, and the feed is whole or says so."""

import os
import random
import sqlite3
import time
from contextlib import closing

import pytest
from harness.database import Database
from harness.replica import Replica
from harness.server import is_sanitized
from harness.tools import litefeed, litefeed_killed

NOTES = "CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT UNIQUE); INSERT INTO notes VALUES(1,'a'),(2,'b');" + "".join(
    f"CREATE TABLE other{i}(id INTEGER PRIMARY KEY, a UNIQUE, b, c UNIQUE);" for i in range(12))
KILLS = int(os.environ.get("LITEFEED_KILLS", "60"))
LATEST_S = 0.4 if is_sanitized() else 0.03  # a command of these has ended by then


def kill(rng, *command):
    return litefeed_killed(rng, *command, latest_s=LATEST_S)


def install(rng, db):
    if rng.random() < 0.5:
        litefeed("unwatch", db.path, "--all")
    return kill(rng, "watch", db.path, "--all")


def repair(rng, db):
    litefeed("watch", db.path, "--all")
    db.run("DROP TRIGGER " + db.value("SELECT name FROM sqlite_schema WHERE type='trigger' AND name LIKE 'litefeed%' ORDER BY random()"),
           "INSERT INTO notes(title) VALUES(hex(randomblob(8)))")
    return kill(rng, "watch", db.path, "--all")


def remove(rng, db):
    litefeed("watch", db.path, "--all")
    return kill(rng, "unwatch", db.path, "--all")


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize("what", [install, repair, remove], ids=lambda f: f.__name__)
def test_a_command_that_is_killed_leaves_nothing_half_done(what, journal, database, seed):
    rng = random.Random(seed)
    db = database(NOTES, journal=journal)
    met = 0
    for round_ in range(KILLS):
        if round_ >= KILLS // 6 and met:
            break
        met += what(rng, db)
        assert db.value("PRAGMA integrity_check") == "ok"
        db.run("INSERT INTO notes(title) VALUES(hex(randomblob(8)))", "UPDATE other1 SET b=1", "DELETE FROM notes WHERE id % 5 = 4")
        tables = db.value("SELECT count(*) FROM sqlite_schema WHERE type='table' AND name LIKE 'litefeed%'")
        assert tables in (0, 8), "all of it or none"
        assert tables or not db.value("SELECT count(*) FROM sqlite_schema WHERE type='trigger'")
    assert met, "some were killed while they ran"
    litefeed("watch", db.path, "--all")
    told = litefeed("changes", db.path, "--since", "0", "--table", "notes").stdout
    assert told.count('"op":"read"') == db.value("SELECT count(*) FROM notes")


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_server_that_is_killed_while_a_restored_file_gets_its_lineage(journal, tmp_path, server, seed):
    rng = random.Random(seed)
    db = Database(tmp_path / "app.db", NOTES, journal)
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    for round_ in range(KILLS // 6):
        with closing(sqlite3.connect(db.path)) as a, closing(sqlite3.connect(tmp_path / "backup.db")) as b:
            a.backup(b)
        db.run(f"INSERT INTO notes(title) VALUES('lost{round_}')")
        replica.catch_up(feed)
        with closing(sqlite3.connect(tmp_path / "backup.db")) as a, closing(sqlite3.connect(db.path, timeout=10)) as b:
            a.backup(b)
        time.sleep(rng.random() * 0.05)
        feed.kill()
        assert db.value("PRAGMA integrity_check") == "ok"
        db.run(f"INSERT INTO notes(title) VALUES('kept{round_}')")
        feed.start(f"127.0.0.1:{feed.port}")
        replica.catch_up(feed).assert_equals(db, "notes")
    assert set(replica.resets) <= {"restored", "ahead_of_head", "feed_restored"} and len(replica.resets) >= KILLS // 6
