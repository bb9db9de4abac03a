"""The file in trouble: at start one line says what is wrong, while running requests get 503 and streams are held, and then all is
well again by itself. Nothing of the owner's is harmed: no file that he cannot write, no write that waits, no journal undone wrongly."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from harness import strict_json
from harness.database import Database
from harness.replica import Replica
from harness.server import SANITIZER, binary
from harness.small_disk import SmallDisk
from harness.tools import litefeed, spawn
from harness.users import is_root, let_through, owners, stranger
from harness.waiting import eventually

NOTES = "CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT); INSERT INTO notes VALUES(1,'a'),(2,'b')"
COMMANDS = {"serve": ("serve", "{}", "--listen", "127.0.0.1:0"), "serve --watch": ("serve", "{}", "--watch", "notes", "--listen", "127.0.0.1:0"),
            "serve --read-only": ("serve", "{}", "--read-only", "--listen", "127.0.0.1:0"), "watch": ("watch", "{}", "notes"),
            "status": ("status", "{}"), "changes": ("changes", "{}", "--since", "0"), "tail": ("tail", "{}", "--since", "0"),
            "unwatch": ("unwatch", "{}", "--all")}


def run(command, path, prefix=(), within_s=20):
    """One command to its end: (exit code, stderr)."""
    done = subprocess.run([*prefix, binary(), *[a.format(path) for a in COMMANDS[command]]], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=within_s)
    assert not SANITIZER.search(done.stderr), done.stderr
    return done.returncode, done.stderr


def refused(command, path, said, prefix=()):
    """Ends at once with exit code 1 and one line that names the file and says `said`."""
    began = time.monotonic()
    code, told = run(command, path, prefix)
    assert code == 1 and told.count("\n") == 1, (code, told)
    assert str(path) in told and said in told, told
    assert time.monotonic() - began < 10
    return told


def write_text(p):
    p.write_text("This is no database, whatever its name says.\n" * 200)


def damage(p):
    Database(p, NOTES, "delete")
    with open(p, "r+b") as f:
        f.seek(100)
        f.write(b"\xff" * 3000)


CURELESS = {
    "missing": (lambda p: None, "there is no file"),
    "a directory": (lambda p: p.mkdir(), "directory"),
    "no database": (write_text, "no SQLite database"),
    "encrypted": (lambda p: p.write_bytes(os.urandom(16384)), "encrypted"),
    "a pipe": (lambda p: os.mkfifo(p), "not a file"),
    "damaged": (lambda p: damage(p), "restore a copy"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("trouble", CURELESS)
def test_what_no_waiting_cures_ends_with_one_line(trouble, command, tmp_path):
    make, said = CURELESS[trouble]
    home = tmp_path / "home"
    home.mkdir()
    make(home / "x.db")
    before = sorted(p.name for p in home.iterdir())
    refused(command, home / "x.db", said)
    assert sorted(p.name for p in home.iterdir()) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_that_is_not_there_is_named(command, tmp_path):
    assert str(tmp_path / "nowhere") in refused(command, tmp_path / "nowhere" / "x.db", "there is no directory")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_may_not_be_opened_says_so(command, tmp_path):
    db = Database(tmp_path / "x.db", NOTES)
    let_through(tmp_path)
    db.path.chmod(0o000)
    refused(command, db.path, "by this user", stranger())


def test_an_empty_file_is_a_database_without_tables(tmp_path, server):
    path = tmp_path / "x.db"
    path.touch()
    assert "nothing is watched" in litefeed("status", path).stdout
    code, told = run("watch", path)
    assert code == 1 and told == "litefeed: cannot watch notes: there is no such table\n"
    feed = server(path)
    assert "nothing is watched" in feed.log() and feed.changes(since=0)["changes"] == []
    db = Database(path, NOTES)
    litefeed("watch", path, "notes")
    eventually(lambda: len(feed.changes(since=0)["changes"]) == 2)
    replica = Replica().catch_up(feed)
    db.run("INSERT INTO notes VALUES(3,'c')")
    replica.catch_up(feed).assert_equals(db, "notes")


@contextlib.contextmanager
def locked(db, journal):
    """The owner holds the whole file: nobody else may even read."""
    with db.connect() as c:
        if journal == "wal":
            c.execute("PRAGMA locking_mode=exclusive")
        c.execute("BEGIN EXCLUSIVE")
        c.execute("INSERT INTO notes VALUES(7,'locked')")
        yield c
        c.execute("COMMIT")


def held(feed, **parameters):
    """A stream that began while the file could not be read."""
    stream = feed.events(**parameters)
    assert stream.status == 200
    assert stream.next(0.3, quiet_ok=True) is None and stream.parser.comments == [" litefeed 1"] and not stream.ended
    return stream


def in_trouble(feed, said=""):
    """Every question is told to come back later; the process lives. Gives what /readyz says."""
    for target in ["/changes?since=0", "/rows/notes", "/tables", "/status"]:
        answer = feed.get(target)
        assert answer.status == 503 and int(answer.get("retry-after")) >= 1, answer
        assert answer.problem()[0] == ("busy" if said == "locked" else "unavailable"), answer
    assert feed.get("/healthz").status == 200
    ready = feed.get("/readyz")
    assert ready.status == 503 and int(ready.get("retry-after")) >= 1
    return str(ready.json()["reasons"])


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_locked_file_is_waited_for_at_start(journal, database, server):
    db = database(NOTES, journal=journal)
    with locked(db, journal):
        feed = server(db, "--watch", "notes", "--hide", "notes.title")
        assert feed.log().count("holds it locked") == 1 and "waiting until" in feed.log()
        in_trouble(feed, "locked")
        with held(feed, since=0) as stream:
            pass
        stream = held(feed, since=0)
    with stream:
        stream.start(10)
        # The table is watched as soon as the file lets it, and what is to be hidden is.
        told = eventually(lambda: feed.changes(since=0)["changes"], 10)
        assert [c["row"] for c in told] == [{"id": 1}, {"id": 2}, {"id": 7}]
        eventually(lambda: feed.get("/readyz").status == 200)
        db.run("INSERT INTO notes VALUES(8,'c')")
        eventually(lambda: '{"id":8}' in str(stream.delta()["changes"]).replace("'", '"').replace(" ", ""), 10)
    assert b"title" not in feed.get("/rows/notes").body


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_commands_wait_a_while_for_a_locked_file_and_tail_for_ever(journal, database):
    db = database(NOTES, journal=journal)
    litefeed("watch", db.path, "notes")
    with locked(db, journal):
        follower = spawn(binary(), "tail", db.path, "--since", "0")
        running = [subprocess.Popen([binary(), *[a.format(db.path) for a in COMMANDS[c]]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True) for c in ("watch", "status", "changes", "unwatch")]
        began = time.monotonic()
        for one in running:
            told = one.communicate(timeout=20)
            assert one.returncode == 1 and told[0] == "", told
            assert "locked" in told[1] and str(db.path) in told[1] and told[1].count("\n") == 1, told
        assert 2 < time.monotonic() - began < 15
        assert follower.poll() is None
    assert [strict_json.loads(follower.stdout.readline())["key"] for _ in range(3)] == [{"id": 1}, {"id": 2}, {"id": 7}]
    follower.send_signal(signal.SIGTERM)
    assert follower.wait(5) == 0
    assert "locked" in follower.communicate()[1]


def test_a_lock_while_running_is_waited_for(database, server):
    db = database(NOTES, journal="delete")
    feed = server(db, "--watch", "notes")
    with feed.events(since=0) as old:
        old.start()
        old.run()
        with locked(db, "delete"):
            in_trouble(feed, "locked")
            new = held(feed, since="now")
            assert old.quiet(0.3) and not old.ended
        assert [c["key"] for c in old.changes(1, 5)] == [{"id": 7}]
        with new:
            new.start()
    assert "cannot" not in feed.log(), "a lock is nothing to log"


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_the_owner_never_waits_for_a_reader_longer_than_a_look(journal, database, server):
    db = database(NOTES, journal=journal)
    feed = server(db, "--watch", "notes", "--threads", "2")
    with feed.events(since=0) as stream, db.connect() as c:
        stream.start()
        took = []
        for i in range(200):
            began = time.monotonic()
            c.execute("UPDATE notes SET title=?", (str(i),))
            took.append(time.monotonic() - began)
        assert sorted(took)[150] < 0.25 and max(took) < 5, sorted(took)[-5:]


def take_away(db, how, safe):
    """Takes the file away as `how` says; gives what puts it back."""
    home = db.path.parent
    shutil.copytree(home, safe)
    if how == "removed":
        for p in home.iterdir():
            p.unlink()
        return lambda: shutil.copytree(safe, home, dirs_exist_ok=True)
    if how == "its directory removed":
        shutil.rmtree(home)
        return lambda: shutil.copytree(safe, home)
    moved = home.with_name("moved")
    home.rename(moved)
    return lambda: moved.rename(home)


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize("how", ["removed", "its directory removed", "its directory moved"])
def test_a_file_that_goes_and_comes_back(how, journal, tmp_path, server):
    (tmp_path / "home").mkdir()
    db = Database(tmp_path / "home" / "app.db", NOTES, journal)
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    with feed.events(since=replica.cursor) as stream:
        stream.start()
        put_back = take_away(db, how, tmp_path / "safe")
        eventually(lambda: "there is no" in in_trouble(feed))
        assert not db.path.exists(), "litefeed makes no database"
        new = held(feed, since=replica.cursor)
        assert stream.quiet(0.2) and not stream.ended
        put_back()
        db.run("INSERT INTO notes VALUES(3,'c')")
        assert [c["key"] for c in stream.changes(1, 10)] == [{"id": 3}]
        with new:
            new.start()
    replica.catch_up(feed).assert_equals(db, "notes")
    assert replica.resets == [] and feed.get("/readyz").status == 200
    assert feed.log().count("there is no") == 1 and feed.log().count("is read again") == 1


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_new_file_under_the_name_is_watched_as_the_server_was_asked_to(journal, tmp_path, server):
    (tmp_path / "home").mkdir()
    db = Database(tmp_path / "home" / "app.db", NOTES, journal)
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    with feed.events(since=replica.cursor, snapshot=1) as stream:
        stream.start()
        for p in db.path.parent.iterdir():
            p.unlink()
        with sqlite3.connect(db.path, isolation_level=None) as c:
            c.execute(f"PRAGMA journal_mode={journal}")
            c.execute("CREATE TABLE other(x)")
        eventually(lambda: "no such table" in str(feed.get("/readyz").json()["reasons"]), 10)
        db.script(NOTES + ",(9,'z')")
        eventually(lambda: feed.get("/readyz").status == 200 and len(feed.changes(since=0)["changes"]) == 3, 10)
        follower = Replica()
        follower.tables = {"notes": dict(replica.rows("notes"))}
        while len(follower.rows("notes")) != 3:
            for change in stream.delta(10)["changes"]:
                follower.change(change)
    follower.assert_equals(db, "notes")


def test_a_file_that_is_replaced_under_its_name(database, server, tmp_path):
    db = database(NOTES)
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    for how in ("mv", "cp"):
        other = Database(tmp_path / "other.db", NOTES.replace("'a'", f"'{how}'"))
        litefeed("watch", other.path, "notes")
        with db.connect() as c:
            c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if how == "mv":
            for end in ("-wal", "-shm"):
                os.unlink(f"{db.path}{end}")
            os.replace(other.path, db.path)
        else:
            shutil.copyfile(other.path, db.path)
            other.path.unlink()
        eventually(lambda: replica.catch_up(feed) and f"'{how}'" in str(replica.rows("notes")))
        db.run("UPDATE notes SET title='after' WHERE id=2")
        replica.catch_up(feed).assert_equals(db, "notes")
    assert len(replica.resets) == 2 and set(replica.resets) <= {"restored", "ahead_of_head"}, replica.resets


@pytest.mark.parametrize("how", ["noise", "a text", "half of it", "nothing"])
@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_file_that_is_overwritten_and_mended(how, journal, database, server):
    db = database(NOTES + ";CREATE TABLE pad(x); INSERT INTO pad VALUES(randomblob(30000))", journal=journal)
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    with db.connect() as c:
        c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    good = db.path.read_bytes()
    bad = {"noise": os.urandom(len(good)), "a text": b"no database " * 5000, "half of it": good[:len(good) // 2], "nothing": b""}[how]
    with feed.events(since=replica.cursor, snapshot=1) as stream:
        stream.start()
        db.path.write_bytes(bad)
        for _ in range(20):
            for target in ["/changes?since=0", "/rows/notes", "/tables", "/readyz"]:
                # SQLite may still have the pages of the good file, and an empty one is a database without tables.
                assert feed.get(target).status in ((200, 404) if how == "nothing" else (200,)) + (503,)
        assert not stream.ended
        db.path.write_bytes(good)
        db.run("INSERT INTO notes VALUES(3,'c')")
        eventually(lambda: replica.catch_up(feed) and len(replica.rows("notes")) == 3, 10)
        replica.assert_equals(db, "notes")
        eventually(lambda: '"c"' in str(stream.delta(10)).replace("'", '"'), 10)
    assert feed.log().count("\n") < 20, feed.log()


WRITER = """
import os, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
c.execute("PRAGMA cache_size=1")
c.execute("BEGIN IMMEDIATE")
c.execute("UPDATE notes SET title='torn'")
c.executemany("INSERT INTO notes VALUES(?,?)", ((i, 'y' * 400) for i in range(10, 3000)))
os.kill(os.getpid(), 9)
"""


def die_writing(db):
    """A program of the owner's dies in the middle of a transaction of which half is in the file: a hot journal stands beside it."""
    subprocess.run([sys.executable, "-c", WRITER, str(db.path)], check=False)
    assert os.path.getsize(f"{db.path}-journal") > 0 and b"torn" in db.path.read_bytes()


def test_a_journal_of_a_program_that_died_is_rolled_back_at_start(database, server):
    db = database(NOTES, journal="delete")
    litefeed("watch", db.path, "notes")
    die_writing(db)
    feed = server(db, "--watch", "notes")
    assert [c["row"]["title"] for c in feed.changes(since=0)["changes"]] == ["a", "b"]
    assert not os.path.exists(f"{db.path}-journal") and db.value("PRAGMA integrity_check") == "ok"


@pytest.mark.parametrize("command", ["status", "changes", "tail"])
def test_a_journal_of_a_program_that_died_is_rolled_back_by_commands(command, database):
    db = database(NOTES, journal="delete")
    litefeed("watch", db.path, "notes")
    die_writing(db)
    if command == "tail":
        follower = spawn(binary(), "tail", db.path, "--since", "0")
        assert strict_json.loads(follower.stdout.readline())["row"]["title"] == "a"
        follower.send_signal(signal.SIGTERM)
        assert follower.wait(5) == 0
        follower.communicate()
    else:
        assert run(command, db.path)[0] == 0
    assert not os.path.exists(f"{db.path}-journal")
    assert db.ask("SELECT title FROM notes ORDER BY id") == [("a",), ("b",)]


def test_a_journal_of_a_program_that_died_is_rolled_back_while_running(database, server):
    db = database(NOTES, journal="delete")
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    with feed.events(since=replica.cursor) as stream:
        stream.start()
        die_writing(db)
        eventually(lambda: not os.path.exists(f"{db.path}-journal"))
        replica.catch_up(feed).assert_equals(db, "notes")
        db.run("INSERT INTO notes VALUES(3,'c')")
        assert [c["row"]["title"] for c in stream.changes(1, 10)] == ["c"], "nothing torn was told"
    assert replica.resets == [] and "torn" not in str(replica.tables)


def contents(db):
    return {p.name: p.read_bytes() for p in db.path.parent.iterdir() if p.suffix != ".log" and not p.name.endswith("-shm")}


def test_read_only_never_rolls_back_and_says_who_does(tmp_path):
    (tmp_path / "home").mkdir()
    db = Database(tmp_path / "home" / "app.db", NOTES, "delete")
    litefeed("watch", db.path, "notes")
    die_writing(db)
    before = contents(db)
    refused("serve --read-only", db.path, "journal")
    assert contents(db) == before


def test_read_only_writes_nothing_at_start_nor_at_end(tmp_path, server):
    (tmp_path / "home").mkdir()
    db = Database(tmp_path / "home" / "app.db", NOTES)
    litefeed("watch", db.path, "notes")
    # The owner dies with commits in the WAL: a command that closes as any program does would checkpoint them.
    subprocess.run([sys.executable, "-c", "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
                    "c.execute(\"INSERT INTO notes VALUES(3,'c')\"); os.kill(os.getpid(), 9)", str(db.path)], check=False)
    before = contents(db)
    assert len(before["app.db-wal"]) > 0
    feed = server(db, "--read-only")
    assert len(feed.changes(since=0)["changes"]) == 3
    feed.stop()
    assert contents(db) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_stranger_does_not_roll_back_and_says_who_does(command, tmp_path):
    (tmp_path / "home").mkdir()
    db = Database(tmp_path / "home" / "app.db", NOTES, "delete")
    litefeed("watch", db.path, "notes")
    die_writing(db)
    let_through(db.path.parent)
    db.path.chmod(0o444)
    db.path.parent.chmod(0o555)
    before = contents(db)
    refused(command, db.path, "journal", stranger())
    assert contents(db) == before
    db.path.parent.chmod(0o755)


@pytest.fixture
def shared(tmp_path):
    """A watched file of its owner's that a stranger may read, in a directory where everybody may make files."""
    home = tmp_path / "shared"
    home.mkdir()
    db = Database(home / "app.db", NOTES)
    litefeed("watch", db.path, "notes")
    let_through(home)
    # Who is not root has nobody else to be: then the directory is shut, and nothing can be made either.
    home.chmod(0o777 if is_root() else 0o555)
    db.path.chmod(0o644 if is_root() else 0o444)
    yield db
    home.chmod(0o755)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_stranger_leaves_no_file_beside_a_wal_that_was_closed(command, shared):
    told = refused(command, shared.path, "WAL mode", stranger())
    assert "run as its owner" in told
    assert [p.name for p in shared.path.parent.iterdir()] == ["app.db"]


def test_a_stranger_reads_while_the_owner_has_it_open_and_leaves_no_file_of_his_own(shared, server):
    shared.path.parent.chmod(0o777)
    shared.path.chmod(0o644)
    owner = sqlite3.connect(shared.path, isolation_level=None)
    owner.execute("INSERT INTO notes VALUES(3,'c')")
    feed = server(shared, prefix=stranger())
    replica = Replica().catch_up(feed)
    owner.execute("INSERT INTO notes VALUES(4,'d')")
    owner.close()
    replica.catch_up(feed).assert_equals(shared, "notes")
    feed.stop()
    assert owners(shared.path.parent) == {os.geteuid()}
    shared.run("INSERT INTO notes VALUES(5,'e')")
    assert sorted(p.name for p in shared.path.parent.iterdir()) == ["app.db"], "the owner's own last close cleans up"


def test_a_file_that_becomes_wal_under_a_stranger_gets_no_file_of_his(shared, server):
    assert is_root() or shared.path.parent.chmod(0o755) is None
    shared.path.chmod(0o644)
    assert shared.value("PRAGMA journal_mode=delete") == "delete"
    feed = server(shared, prefix=stranger(), environment={"LITEFEED_READ_ONLY": "1"})
    replica = Replica().catch_up(feed)
    with feed.events(since=replica.cursor) as stream:
        stream.start()
        assert shared.value("PRAGMA journal_mode=wal") == "wal"
        if is_root():
            eventually(lambda: "WAL mode" in in_trouble(feed))
            assert [p.name for p in shared.path.parent.iterdir()] == ["app.db"]
        with shared.connect() as owner:
            owner.execute("INSERT INTO notes VALUES(3,'c')")
            assert [c["key"] for c in stream.changes(1, 10)] == [{"id": 3}]
        assert owners(shared.path.parent) == {os.geteuid()}
    replica.catch_up(feed).assert_equals(shared, "notes")


def test_a_file_that_may_not_be_read_any_more(tmp_path, server):
    (tmp_path / "home").mkdir()
    db = Database(tmp_path / "home" / "app.db", NOTES, "delete")
    litefeed("watch", db.path, "notes")
    let_through(db.path.parent)
    db.path.chmod(0o644)
    feed = server(db, "--read-only", prefix=stranger())
    replica = Replica().catch_up(feed)
    shut = Database(tmp_path / "shut.db", NOTES.replace("'a'", "'new'"), "delete")
    litefeed("watch", shut.path, "notes")
    shut.path.chmod(0o000)
    os.replace(shut.path, db.path)
    eventually(lambda: "by this user" in in_trouble(feed))
    db.path.chmod(0o644)
    eventually(lambda: feed.get("/readyz").status == 200)
    replica.catch_up(feed).assert_equals(db, "notes")
    assert replica.resets == ["restored"]


@pytest.fixture
def small_disk(tmp_path):
    (tmp_path / "disk").mkdir()
    disk = SmallDisk(tmp_path / "disk")
    yield disk
    disk.close()


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_full_disk_does_not_stop_reading_and_is_waited_for(journal, small_disk, server):
    db = Database(small_disk.path / "app.db", NOTES, journal)
    litefeed("watch", db.path, "notes")
    replica = Replica()
    # A trigger of ours is gone, and putting it back takes a page.
    db.run("DROP TRIGGER " + db.value("SELECT name FROM sqlite_schema WHERE type='trigger' AND name LIKE '%ins%' LIMIT 1"))
    with db.connect() as holds_the_shm_open:
        holds_the_shm_open.execute("SELECT * FROM notes").fetchall()
        small_disk.fill()
        feed = server(db, prefix=small_disk.prefix)
        answer = feed.get_changes(since=0)
        assert answer.status == 503 and int(answer.get("retry-after")) >= 1 and "full" in answer.json()["detail"], answer
        assert "full" in str(feed.get("/readyz").json()["reasons"])
        with held(feed, since="now") as stream:
            small_disk.free(feed.process)
            stream.start(10)
        eventually(lambda: feed.get("/readyz").status == 200)
        replica.catch_up(feed).assert_equals(db, "notes")
        db.run("INSERT INTO notes VALUES(3,'c')")
        replica.catch_up(feed).assert_equals(db, "notes")
    assert feed.log().count("full") <= 2, feed.log()
    feed.stop()


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_watching_waits_for_room_on_the_disk(journal, small_disk, server):
    db = Database(small_disk.path / "app.db", NOTES, journal)
    with db.connect() as holds_the_shm_open:
        holds_the_shm_open.execute("SELECT * FROM notes").fetchall()
        small_disk.fill()
        feed = server(db, "--watch", "notes", prefix=small_disk.prefix)
        assert "full" in feed.log() and "tried again" in feed.log()
        assert "full" in str(eventually(lambda: feed.get("/readyz").json()["reasons"]))
        if small_disk.mounted:
            code, told = run("watch", db.path)
            assert code == 1 and "full" in told and "nothing was changed" in told and told.count("\n") == 1, told
        small_disk.free(feed.process)
        eventually(lambda: len(feed.changes(since=0)["changes"]) == 2, 10)
        eventually(lambda: feed.get("/readyz").status == 200)
    feed.stop()
    assert db.value("PRAGMA integrity_check") == "ok"
