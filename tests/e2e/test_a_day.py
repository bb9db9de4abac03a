"""A day of traffic, an hour in some seconds: what the server holds at its end is what it held in the morning."""

import contextlib
import os
import pathlib
import random
import threading

import pytest
from harness.http_wire import Connection, request_bytes
from harness.replica import Replica
from harness.server import is_sanitized
from harness.sse import Stream
from harness.tools import litefeed

HOURS = int(os.environ.get("LITEFEED_DAY_HOURS", "6" if is_sanitized() else "24"))
# Enough to see a leak of an entry's size; LITEFEED_DAY_COMMITS=86400, one a second, is the long run.
COMMITS = int(os.environ.get("LITEFEED_DAY_COMMITS", "7200"))
STAYING = 8
GROWTH_KB_MAX = 2048
SCRIPT = """
CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT UNIQUE, body TEXT);
CREATE TABLE tags(note INTEGER, tag TEXT, PRIMARY KEY(note, tag)) WITHOUT ROWID;
"""
# Every key that will be there comes once: a log of the latest entries is then as long in the morning as at night.
FILL = """
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 499) INSERT INTO notes SELECT i, i, 'a' FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 7999)
INSERT INTO tags SELECT i / 16, substr('0123456789abcdef', i % 16 + 1, 1) FROM n;
"""


def resident_kb(feed):
    status = pathlib.Path(f"/proc/{feed.process.pid}/status").read_text("ascii")
    return int(status.split("VmRSS:")[1].split()[0])


def write(connection, rng, commits):
    """Commits of one statement each, over some 500 rows of each table."""
    for _ in range(commits):
        note = rng.randrange(500)
        text = f"{rng.getrandbits(40):x}" * 8
        connection.execute(*rng.choice([
            ("INSERT OR REPLACE INTO notes(id, title, body) VALUES(?, ?, ?)", (note, text[:12], text)),
            ("UPDATE notes SET body = ? WHERE id = ?", (text, note)),
            ("UPDATE OR IGNORE notes SET id = ? WHERE id = ?", (rng.randrange(500), note)),
            ("DELETE FROM notes WHERE id = ?", (note,)),
            ("INSERT OR IGNORE INTO tags VALUES(?, ?)", (note, text[:1])),
            ("DELETE FROM tags WHERE note = ?", (note,))]))


def stay(port, done):
    """A page that is open all day: takes what comes, until `done`."""
    with contextlib.closing(Connection(port)) as page:
        page.send(request_bytes("/events"))
        page.sock.settimeout(0.2)
        while not done.is_set():
            with contextlib.suppress(TimeoutError):
                assert page.sock.recv(1 << 16), "the stream ended before the day"


def visit(feed, rng, cursors):
    """Who comes by: a poll from an earlier place, a page that resumes, a first read, a monitor."""
    feed.get("/changes?since=" + rng.choice(cursors))
    stream = Stream(feed.port, "/events?snapshot=1", {"Last-Event-ID": rng.choice(cursors)})
    stream.next(within_s=20)
    stream.connection.close()
    for target in ("/rows/notes?limit=100", "/tables", "/status", "/nowhere"):
        feed.get(target)


@pytest.mark.timeout(240 + COMMITS // 100)
@pytest.mark.parametrize("keep", ["window", "latest"])
def test_memory_is_flat_over_a_day(keep, database, server, seed):
    db = database(SCRIPT)
    litefeed("watch", db.path, "--retention", "1s", "--keep", keep, "notes", "tags")
    db.script(FILL)
    feed = server(db, "--compact-every", "1s", environment={"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"})
    rng, replica, cursors, memory = random.Random(seed), Replica(), ["0"], []
    done = threading.Event()
    pages = [threading.Thread(target=stay, args=(feed.port, done)) for _ in range(STAYING)]
    for page in pages:
        page.start()
    try:
        with db.connect() as writer:
            writer.execute("PRAGMA synchronous=OFF")
            for hour in range(HOURS):
                for _ in range(4):
                    write(writer, rng, COMMITS // HOURS // 4)
                    visit(feed, rng, cursors[-8:])
                    cursors.append(replica.catch_up(feed).cursor)
                if hour % 6 == 3:
                    writer.execute(f"ALTER TABLE notes ADD COLUMN added_{hour} TEXT")
                feed.get("/changes?since=now&wait=1")  # what was written grows old
                memory.append(resident_kb(feed))
        replica.catch_up(feed).assert_equals(db, "notes", "tags")
        assert all(page.is_alive() for page in pages)
    finally:
        done.set()
        for page in pages:
            page.join()
    print(f"{COMMITS} commits, resident kB by the hour: {memory}")
    assert db.value("SELECT floor + folded > 0 FROM litefeed_meta")
    if not is_sanitized():
        assert max(memory[HOURS // 2:]) < max(memory[:HOURS // 4]) + GROWTH_KB_MAX, memory
