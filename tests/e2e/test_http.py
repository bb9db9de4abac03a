"""HTTP itself: methods, hosts, versions, limits, pipelining; what any client, proxy or attacker may send."""

import contextlib
import time

import pytest
from harness.http_wire import Connection, request_bytes

PATHS = ["/", "/changes", "/rows/notes", "/tables", "/status", "/healthz", "/readyz"]


@pytest.mark.parametrize("path", PATHS)
def test_head_says_what_get_says_without_the_body(path, notes):
    _, feed = notes
    get, head = feed.get(path), feed.get(path, method="HEAD")
    assert get.status == head.status == 200
    changing = ("date", "content-length") if path == "/status" else ("date",)
    fields = [[f for f in a.fields if f[0].lower() not in changing] for a in (get, head)]
    assert fields[0] == fields[1]
    assert int(head.get("content-length")) > 0 and head.body == b""


def test_head_of_a_stream_ends_after_the_headers(notes):
    _, feed = notes
    with feed.connect() as c:
        c.send(request_bytes("/events", "HEAD"))
        answer = c.read_answer("HEAD")
        assert answer.status == 200 and answer.get("content-type").startswith("text/event-stream")
        assert c.ended(2)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "BREW"])
@pytest.mark.parametrize("path", ["/changes", "/events", "/rows/notes", "/"])
def test_other_methods_are_405_with_what_is_allowed(method, path, notes):
    _, feed = notes
    answer = feed.get(path, method=method)
    assert answer.status == 405 and answer.problem()[0] == "method-not-allowed"
    assert {m.strip() for m in answer.get("allow").split(",")} == {"GET", "HEAD", "OPTIONS"}


def test_options_names_the_methods_and_is_never_204(notes):
    _, feed = notes
    for path in ["/changes", "/events", "*"]:
        answer = feed.get(path, method="OPTIONS")
        assert answer.status == 200 and "GET" in answer.get("allow")


def test_B67_a_host_that_is_not_loopback_is_403_before_anything_else(notes):
    _, feed = notes
    for host in ["evil.example", "evil.example:7070", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "0.0.0.0",
                 "[::2]", "127.0.0.1@evil.example"]:
        for path in ["/changes?since=0", "/events", "/nothing", "/healthz", "/"]:
            answer = feed.get(path, host=host)
            assert answer.status in (400, 403), (host, path, answer)
            if answer.status == 403:
                assert answer.problem()[0] == "host-not-allowed" and "--allow-host" in answer.json()["detail"]
    for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.0.0.1", "[::1]:8080", "[::1]", "127.1.2.3"]:
        assert feed.get("/changes?since=0", host=host).status == 200, host


def test_B67_one_host_exactly(notes):
    _, feed = notes
    assert feed.get("/healthz", host=None).status == 400
    assert feed.get("/healthz", host=None, version="1.0").status == 200
    assert feed.get("/healthz", host="evil.example", version="1.0").status == 403
    with feed.connect() as c:
        c.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
        answer = c.read_answer()
        assert answer.status == 400 and answer.problem()[0] == "bad-host"
    assert feed.get("/healthz", host="").status in (400, 403)


def test_B67_allowed_hosts(database, server):
    feed = server(database(), "--watch", "notes", "--allow-host", "feed.example", "--allow-host", "Other.Example")
    for host, status in [("feed.example", 200), ("feed.example:8443", 200), ("other.example", 200), ("x.feed.example", 403),
                         ("localhost", 200)]:
        assert feed.get("/healthz", host=host).status == status, host


def test_B63_http_1_0_is_never_sent_chunks(notes):
    db, feed = notes
    db.run("INSERT INTO notes(title) VALUES('a')")
    answer = feed.get("/changes?since=0&limit=100000", version="1.0")
    assert answer.status == 200 and answer.framing in ("length", "close") and answer.json()["changes"]
    with feed.connect() as c:
        answer = c.ask("/changes?since=0", headers={"Connection": "keep-alive"}, version="1.0")
        assert answer.framing == "length" and answer.get("connection").lower() == "keep-alive"
        assert c.ask("/healthz", version="1.0").status == 200
        assert c.ended(2), "without keep-alive a 1.0 connection ends"
    with feed.events(since=0, version="1.0") as stream:
        assert not stream.chunked and stream.head.get("connection").lower() == "close"
        stream.start()
        assert stream.delta()["changes"][0]["op"] == "read"


def test_B59_pipelined_requests_are_answered_in_order(notes):
    db, feed = notes
    db.run("INSERT INTO notes(title) VALUES('a')")
    both = request_bytes("/changes?since=0") + request_bytes("/rows/notes") + request_bytes(
        "/changes?since=1", headers={"Connection": "close"})
    with feed.connect() as c:
        c.send(both)
        first, second, third = c.read_answer(), c.read_answer(), c.read_answer()
        assert first.json()["changes"][0]["op"] == "read" and second.json()["table"] == "notes"
        assert third.get("connection").lower() == "close" and c.ended(2)


def test_B59_a_request_may_come_byte_by_byte(notes):
    _, feed = notes
    both = request_bytes("/healthz") + request_bytes("/changes?since=0", headers={"Connection": "close"})
    with feed.connect() as c:
        for i in range(len(both)):
            c.send(both[i:i + 1])
            time.sleep(0.002)
        assert c.read_answer().status == 200
        assert c.read_answer().json()["cursor"]
        assert c.ended(2)


def test_B59_what_follows_a_stream_request_is_ignored(notes):
    db, feed = notes
    with feed.connect() as c:
        c.send(request_bytes("/events") + request_bytes("/healthz") + b"nonsense\r\n\r\n")
        assert b" 200 " in c.read_head()
        db.run("INSERT INTO notes(title) VALUES('still here')")
        c.reader.until(b"still here", time.monotonic() + 5)
        assert b"alive" not in c.reader.have


def test_a_half_closed_client_goes_on_receiving(notes):
    import socket
    db, feed = notes
    with feed.events() as stream:
        stream.start()
        stream.connection.sock.shutdown(socket.SHUT_WR)
        time.sleep(0.1)
        for title in "ab":
            db.run(f"INSERT INTO notes(title) VALUES('{title}')")
            assert stream.delta()["changes"][0]["row"]["title"] == title


def test_B61_limits_are_answered_and_the_connection_closed_in_order(notes):
    _, feed = notes
    cases = [
        (b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 65536 + b"\r\n\r\n", 431),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 10_000 + b"\r\n", 431),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", 413),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 413),
        (b"GET /healthz HTTP/3.0\r\nHost: localhost\r\n\r\n", 505),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: a miracle\r\n\r\n", 417),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nBad Name: x\r\n\r\n", 400),
        (b"GET /health z HTTP/1.1\r\nHost: localhost\r\n\r\n", (400, 505)),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", (400, 413)),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    ]
    for sent, status in cases:
        with feed.connect() as c:
            try:
                c.send(sent)
            except (BrokenPipeError, ConnectionResetError):
                pass
            answer = c.read_answer()
            assert answer.status in (status if isinstance(status, tuple) else (status,)), (sent[:80], answer)
            answer.problem()
            if answer.get("connection") == "close":
                assert c.ended(5)
    assert feed.get("/healthz").status == 200


def test_a_length_of_nothing_is_no_body(notes):
    _, feed = notes
    with feed.connect() as c:
        assert c.ask("/healthz", headers={"Content-Length": "0"}).status == 200
        assert c.ask("/healthz").status == 200


@pytest.mark.timeout(40)
def test_B61_a_slow_header_meets_its_deadline_however_it_trickles(database, server):
    origin = "https://app.example"
    feed = server(database(), "--watch", "notes", "--cors-origin", origin)
    slow = [Connection(feed.port) for _ in range(50)]
    began = time.monotonic()
    second = feed.connect()
    assert second.ask("/healthz", headers={"Origin": origin}).get("access-control-allow-origin") == origin
    second.send(b"GET / HTTP/1.1\r\nX: ")
    for c in slow:
        c.send(b"GET / HTTP/1.1\r\nX: ")
    open_ = list(slow)
    while open_ and time.monotonic() - began < 20:
        for c in list(open_):
            try:
                c.send(b"a")
            except OSError:
                open_.remove(c)
        asked = time.monotonic()
        assert feed.get("/changes?since=0").status == 200
        assert time.monotonic() - asked < 1, "others are not slowed"
        time.sleep(1)
    assert not open_, "all are closed after the header's deadline"
    answer = second.read_answer()
    assert answer.status == 408 and answer.get("vary") == "Origin"
    assert answer.get("access-control-allow-origin") is None, "nobody knows yet whose this request would have been"
    for c in [*slow, second]:
        c.close()


def test_B60_a_reader_that_takes_its_time_gets_the_whole_answer(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    with db.connect() as c:
        c.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<8000)"
                  "INSERT INTO t SELECT i, hex(randomblob(500)) FROM n")
    feed = server(db, "--watch", "t")
    with feed.connect() as c:
        c.send(request_bytes("/changes?since=0&limit=100000"))
        for _ in range(30):
            c.reader.more()
            time.sleep(0.05)
        answer = c.read_answer()
    assert len(answer.json()["changes"]) == 8000


@pytest.mark.timeout(120)
def test_B60_deadlines_are_of_the_phase_and_not_of_the_connection(database, server):
    """For twice the time that a connection may idle: a slow reader, a client that asks just in time, a stream."""
    idle_s = 30
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v); CREATE TABLE quiet(id INTEGER PRIMARY KEY)")
    with db.connect() as c:
        c.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<9000)"
                  "INSERT INTO t SELECT i, hex(randomblob(500)) FROM n")
    feed = server(db, "--watch-all")
    with feed.connect() as slow, feed.connect() as just_in_time, feed.connect() as idle, feed.events(table="quiet") as stream:
        stream.start()
        began = time.monotonic()
        slow.send(request_bytes("/changes?since=0&limit=100000&table=t"))
        assert just_in_time.ask("/healthz").status == 200
        assert idle.ask("/healthz").status == 200
        asks = [idle_s - 0.5, 2 * idle_s - 1]
        idle_ended = None
        while (now := time.monotonic() - began) < 2 * idle_s + 5:
            slow.reader.have += slow.sock.recv(30_000)
            if asks and now > asks[0]:
                asks.pop(0)
                assert just_in_time.ask("/changes?since=now").status == 200
            if idle_ended is None and now > idle_s - 2:
                idle.sock.settimeout(0.2)
                with contextlib.suppress(TimeoutError):
                    assert idle.sock.recv(1) == b"", "a clean end"
                    idle_ended = time.monotonic() - began
            time.sleep(0.2)
        assert idle_ended is not None and idle_ended >= idle_s
        assert len(slow.read_answer().json()["changes"]) == 9000
        db.run("INSERT INTO quiet VALUES(1)")
        assert [c["key"] for c in stream.delta()["changes"]] == [{"id": 1}]


def test_a_connection_is_kept_between_requests(notes):
    _, feed = notes
    with feed.connect() as c:
        for _ in range(200):
            assert c.ask("/changes?since=0").status == 200


def test_a_second_server_on_the_port_fails(notes, database):
    from harness.tools import litefeed
    _, feed = notes
    done = litefeed("serve", database(name="b.db").path, "--listen", f"127.0.0.1:{feed.port}", check=False, within_s=10)
    assert done.returncode == 1 and str(feed.port) in done.stderr
