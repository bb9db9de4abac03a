"""Clients that come and go, in every way there is: what the server holds for them goes with them."""

import itertools
import json
import os
import pathlib
import random
import socket
import struct
import subprocess
import sys
import time

import pytest
from harness.http_wire import Connection, request_bytes
from harness.server import is_sanitized
from harness.waiting import eventually

HERE = pathlib.Path(__file__).resolve().parent
# Some seconds' worth; LITEFEED_VISITS=1000000 is the long run.
VISITS = int(os.environ.get("LITEFEED_VISITS", "1000" if is_sanitized() else "20000"))
# A sanitizer keeps its own books of all memory beside it: how large is not the server's doing.
MEMORY_KB_MAX = (1024 if is_sanitized() else 64) * 1024
NO_LINGER = struct.pack("ii", 1, 0)  # close() sends a reset


def held(feed):
    """What the server holds: resident kB, descriptors, connections, subscribers and waiters, this question's own aside."""
    pid = feed.process.pid
    loops = feed.get("/status").json()["loops"]
    resident = int(pathlib.Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    return [resident, len(os.listdir(f"/proc/{pid}/fd"))] + [sum(one[what] for one in loops) for what in
                                                             ("connections", "subscribers", "waiters")]


def visit(port, how, rng):
    """One client: what it asks for, how much of the answer it reads, and how it leaves."""
    asks = {
        "nothing": b"",
        "half a header": b"GET /changes?since=0 HTTP/1.1\r\nHost: local",
        "an answer": request_bytes("/healthz"),
        "a large answer": request_bytes("/changes?since=0&limit=100000"),
        "a stream": request_bytes("/events"),
        "a first read": request_bytes("/events?since=0"),
        "a long poll": request_bytes("/changes?since=now&wait=3"),
        "rubbish": b"\x16\x03\x01\x02\x00\x01\x00\x01",
    }[how]
    with socket.create_connection(("127.0.0.1", port)) as s:
        if asks:
            s.sendall(asks)
        if asks and rng.random() < 0.3:
            s.settimeout(0.005)
            try:
                s.recv(rng.choice([1, 100, 5000]))
            except (TimeoutError, ConnectionError):
                pass
        leaves = rng.random()
        if leaves < 0.4:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        elif leaves < 0.5:
            s.shutdown(socket.SHUT_WR)


WAYS = ["nothing", "half a header", "an answer", "a large answer", "a stream", "a first read", "a long poll", "rubbish"]


@pytest.mark.timeout(180 + VISITS // 100)
def test_whoever_leaves_leaves_nothing_behind(database, server, seed):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    with db.connect() as c:
        c.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1500)"
                  "INSERT INTO t(v) SELECT hex(randomblob(200)) FROM n")
        c.commit()
    feed = server(db, "--watch", "t", environment={"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"})
    rng = random.Random(seed)
    ways = itertools.cycle(WAYS)

    def visits(count):
        for i in range(count):
            visit(feed.port, next(ways), rng)
            if i % 500 == 0:
                db.run("UPDATE t SET v = hex(randomblob(200)) WHERE id % 150 = 1")

    visits(VISITS // 10)  # what the first visitors make it keep: buffers, statements
    eventually(lambda: held(feed)[2:] == [1, 0, 0], within_s=60)
    resident, *before = held(feed)
    visits(VISITS)
    eventually(lambda: held(feed)[1:] == before, within_s=60)
    if not is_sanitized():
        assert held(feed)[0] < resident + 6 * 1024, (resident, held(feed))


@pytest.mark.timeout(240)
def test_peers_that_vanish_without_a_word_are_given_up(notes, tmp_path):
    """In a network of its own: the kernel gives a peer up after a minute, and then everything of it is gone."""
    db, feed = notes
    feed.stop()
    seen = subprocess.run(["unshare", "-rn", sys.executable, "-m", "harness.half_open", db.path, tmp_path], cwd=HERE,
                          capture_output=True, text=True, timeout=200)
    assert seen.returncode == 0, seen.stdout + seen.stderr
    said = json.loads(seen.stdout.splitlines()[-1])
    assert said["there"] == {"connections": 31, "subscribers": 20}
    assert {k: said["gone"][k] for k in said["before"]} == said["before"], said


def resident_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


@pytest.mark.parametrize("target", ["/changes?since=0&limit=100000", "/rows/t?limit=100000", "/events?since=0"])
def test_B12_a_first_read_of_a_million_rows_by_a_reader_of_1_kB_a_second(target, database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, title TEXT, n INTEGER)")
    with db.connect() as c:
        c.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1000000)"
                  "INSERT INTO t SELECT i, 'the title of row ' || i, i % 7 FROM n")
        c.commit()
        c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    feed = server(db, "--watch", "t", environment={"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"})
    slow = Connection(feed.port)
    slow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.send(request_bytes(target))
    assert slow.sock.recv(1000).startswith(b"HTTP/1.1 200 ")
    largest_log = largest_memory = 0
    with db.connect() as c:
        c.execute("PRAGMA synchronous=OFF")
        until = time.monotonic() + 8
        while time.monotonic() < until:
            began = time.monotonic()
            for i in range(100):
                c.execute("UPDATE t SET n = n + 1 WHERE id BETWEEN ? AND ? + 30", (i * 9000, i * 9000))
                c.commit()
            largest_log = max(largest_log, os.path.getsize(f"{db.path}-wal"))
            largest_memory = max(largest_memory, resident_kb(feed.process.pid))
            assert slow.sock.recv(250)
            time.sleep(max(0.0, 0.25 - (time.monotonic() - began)))
    assert largest_log < 12 * 1024 * 1024, f"the WAL grew to {largest_log}"
    assert largest_memory < MEMORY_KB_MAX, f"{largest_memory} kB of memory"
    assert feed.changes(since="now")["cursor"]
    slow.close()
