"""Many streams, slow ones, none left over: the server stays itself under load and ends in order."""

import os
import resource
import signal
import time

import pytest
from harness import sse
from harness.http_wire import Connection, read_chunk, request_bytes
from harness.waiting import eventually

# What the address sanitizer holds back of freed memory would be counted as the server's.
MEMORY_AS_IT_IS = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"}


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


def test_B14_sigterm_ends_200_streams_in_order(notes):
    db, feed = notes
    streams = [feed.events() for _ in range(200)]
    for s in streams:
        s.start()
    db.run("INSERT INTO notes(title) VALUES('a')")
    for s in streams:
        assert s.delta()
    began = time.monotonic()
    process = feed.process
    process.send_signal(signal.SIGTERM)
    assert process.wait(2) == 0
    assert time.monotonic() - began < 2
    retries = set()
    for s in streams:
        events = s.read_to_end()
        assert [e.type for e in events] == ["bye"] and events[0].own_id is None
        assert events[0].json()["reason"]
        assert s.ended == "whole"
        assert 5000 <= s.parser.retry_ms <= 15000
        retries.add(s.parser.retry_ms)
        s.close()
    assert len(retries) > 50, "they do not all come back in one instant"


def test_B14_sigint_ends_it_too_and_a_long_poll_is_answered(notes):
    _, feed = notes
    with feed.connect() as c:
        c.send(request_bytes(f"/changes?since={feed.cursor()}&wait=30"))
        time.sleep(0.2)
        began = time.monotonic()
        feed.process.send_signal(signal.SIGINT)
        answer = c.read_answer()
        assert answer.status in (200, 503) and time.monotonic() - began < 2
    assert feed.process.wait(3) == 0


def test_B14_a_stream_that_comes_too_late_is_told_so(notes):
    _, feed = notes
    with feed.connect() as c, feed.events() as other:
        other.start()
        assert c.ask("/healthz").status == 200
        request = request_bytes("/events")
        c.send(request[:20])
        time.sleep(0.1)
        feed.process.send_signal(signal.SIGTERM)
        assert [e.type for e in other.read_to_end()] == ["bye"]
        c.send(request[20:])
        answer = c.read_answer()
        assert answer.status == 200 and answer.get("content-type") == "text/event-stream"
        assert b'event: bye\ndata: {"reason":"shutdown"}\n\n' in answer.body
    assert feed.process.wait(2) == 0


@pytest.mark.parametrize("target", ["/changes?since=1", "/events?since=1"])
def test_B14_a_long_read_holds_up_no_end(target, notes):
    db, feed = notes
    db.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<3000000)"
           "INSERT INTO litefeed_log(table_id, op, at_ms, key) SELECT 1, 'u', 0, i FROM n")
    with feed.connect() as c:
        c.send(request_bytes(target))
        time.sleep(0.3)
        began = time.monotonic()
        process = feed.process
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert time.monotonic() - began < 1.1


def test_every_stream_sees_every_commit(notes):
    db, feed = notes
    before = feed.cursor()
    streams = [feed.events(since=before) for _ in range(100)]
    with db.connect() as c:
        c.execute("PRAGMA synchronous=OFF")
        for i in range(200):
            c.execute("INSERT INTO notes(title) VALUES(?)", (str(i),))
    for s in streams:
        s.start()
        stamps = []
        while len(stamps) < 200:
            stamps += [c["stamp"] for c in s.delta()["changes"]]
        assert stamps == list(range(stamps[0], stamps[0] + 200))
        s.close()


def test_B12_a_client_that_does_not_read_costs_little_and_loses_nothing(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    feed = server(db, "--watch", "t", environment=MEMORY_AS_IT_IS)
    before = feed.cursor()
    stuck = [Connection(feed.port) for _ in range(10)]
    for each in stuck:
        each.send(request_bytes(f"/events?since={before}"))
    with feed.events(since=before) as lively, db.connect() as c:
        lively.start()
        c.execute("PRAGMA synchronous=OFF")
        size = None
        for batch in range(20):
            c.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1000)"
                      "INSERT INTO t(v) SELECT hex(randomblob(500)) FROM n")
            last = c.execute("SELECT max(seq) FROM litefeed_log").fetchone()[0]
            began = time.monotonic()
            while (delta := lively.delta())["more"] or delta["changes"][-1]["stamp"] < last:
                pass
            assert time.monotonic() - began < 3
            if batch == 4:
                size = resident_bytes(feed.process.pid)
        # 15 MB were written since; held once for each of the ten it would be 150.
        assert resident_bytes(feed.process.pid) - size < 24 * 1024 * 1024
    for each in stuck:
        each.read_head()
        parser, stamps = sse.Parser(), []
        while not stamps or stamps[-1] < last:
            for event in parser.feed(read_chunk(each.reader)):
                if event.type == "message":
                    stamps += [x["stamp"] for x in event.json()["changes"]]
        assert stamps == list(range(stamps[0], last + 1)), "no hole"
        each.close()


def test_B70_events_and_heartbeats_are_never_mixed(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    feed = server(db, "--watch", "t")
    before = feed.cursor()
    streams = [feed.events(since=before, heartbeat=1) for _ in range(8)]
    with db.connect() as c:
        c.execute("PRAGMA synchronous=OFF")
        for _ in range(30):
            c.execute("INSERT INTO t(v) VALUES(hex(randomblob(50000)))")
            time.sleep(0.05)
        last = c.execute("SELECT max(seq) FROM litefeed_log").fetchone()[0]
    for s in streams:
        delta = s.delta()
        while delta["more"] or delta["head"] < last:
            delta = s.delta()
        s.close()


def test_B58_out_of_descriptors_it_waits_and_recovers(database, server):
    db = database()
    feed = server(db, "--watch", "notes", prefix=["prlimit", "--nofile=64:64"])
    crowd = []
    for _ in range(200):
        try:
            c = Connection(feed.port)
            c.send(request_bytes("/events"))
            crowd.append(c)
        except OSError:
            break
    time.sleep(0.5)
    before = cpu_seconds(feed.process.pid)
    time.sleep(1)
    assert cpu_seconds(feed.process.pid) - before < 0.5, "it does not spin"
    db.run("INSERT INTO notes(title) VALUES('a')")
    for c in crowd:
        c.close()
    began = time.monotonic()
    eventually(lambda: feed.get("/changes?since=0").status == 200, within_s=5)
    assert time.monotonic() - began < 3
    assert len(feed.changes(since=0)["changes"]) == 1


def test_streams_that_left_are_forgotten(notes):
    _, feed = notes
    streams = [feed.events() for _ in range(50)]
    for s in streams:
        s.start()

    def subscribers():
        return sum(loop["subscribers"] for loop in feed.get("/status").json()["loops"])

    assert subscribers() == 50
    for s in streams:
        s.close()
    eventually(lambda: subscribers() == 0)


def test_B35_neither_idle_streams_nor_a_slow_reader_pin_the_wal(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    with db.connect() as c:
        c.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000)"
                  "INSERT INTO t(v) SELECT hex(randomblob(500)) FROM n")
    feed = server(db, "--watch", "t")
    idle = [feed.events() for _ in range(50)]
    slow = Connection(feed.port)
    slow.send(request_bytes("/changes?since=0&limit=100000"))
    slow.reader.more()
    with db.connect() as c:
        c.execute("PRAGMA synchronous=OFF")
        largest = 0
        for i in range(6000):
            c.execute("UPDATE t SET v=hex(randomblob(500)) WHERE id=?", (i + 1,))
            if i % 100 == 0:
                largest = max(largest, os.path.getsize(f"{db.path}-wal"))
    assert largest < 12 * 1024 * 1024, f"the WAL grew to {largest}"
    for c in [slow, *idle]:
        c.close()
