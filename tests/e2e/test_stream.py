"""GET /events: where a stream starts, what it says, and that every id is a true place."""

import re
import time

import pytest
from harness.http_wire import query
from harness.reading import told
from harness.replica import Replica
from harness.tools import litefeed
from harness.waiting import eventually


def add(db, *titles):
    for t in titles:
        db.run(f"INSERT INTO notes(title) VALUES('{t}')")


def add_many(db, count):
    db.run(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<{count}) INSERT INTO notes(title) SELECT i FROM n")


def titles(delta):
    return [c["row"]["title"] for c in delta["changes"]]


def test_a_stream_begins_with_the_place_it_starts_from(notes):
    db, feed = notes
    add(db, "a")
    here = feed.changes()
    with feed.events() as stream:
        assert stream.status == 200
        assert stream.head.get("content-type").split(";")[0] == "text/event-stream"
        assert stream.head.get("cache-control") == "no-store, no-transform"
        assert stream.head.get("x-accel-buffering") == "no"
        assert stream.head.get("content-encoding") is None
        assert stream.head.get("last-event-id") == here["cursor"]
        assert stream.start() == {"head": here["head"], "cursor": here["cursor"]}
        assert stream.raw.startswith(b": litefeed 1\nretry: ")
        assert 2000 <= stream.parser.retry_ms <= 4000
        assert re.fullmatch(rb": litefeed 1\nretry: \d+\nevent: cursor\nid: [^\n]+\ndata: [^\n]+\n\n", stream.raw)


def test_B08_headers_and_place_come_at_once(notes):
    _, feed = notes
    began = time.monotonic()
    with feed.events() as stream:
        stream.start()
        assert time.monotonic() - began < 0.5 and stream.seconds_to_head < 0.1


def test_a_delta_is_an_unnamed_event_like_the_answer_of_changes(notes):
    db, feed = notes
    before = feed.cursor()
    with feed.events() as stream:
        stream.start()
        add(db, "a")
        event = stream.next()
        assert event.type == "message"
        assert event.json() == feed.changes(since=before)
        assert event.id == event.json()["cursor"]
        assert "\n" not in event.data


def test_a_stream_says_first_what_was_missed(notes):
    db, feed = notes
    before = feed.cursor()
    add(db, "a", "b")
    with feed.events(since=before) as stream:
        assert stream.start()["cursor"] == before, "never a place ahead of what the client holds"
        assert titles(stream.delta()) == ["a", "b"]
        add(db, "c")
        assert titles(stream.delta()) == ["c"]
        assert stream.last_id == feed.cursor()


def test_since_0_streams_every_row_and_goes_on(notes):
    db, feed = notes
    add_many(db, 2500)
    with feed.events(since=0) as stream:
        replica = Replica()
        replica.follow(stream)
        assert replica.pages > 1, "a large first read comes in pages"
        replica.assert_equals(db, "notes")
        add(db, "more")
        replica.follow(stream).assert_equals(db, "notes")


def test_every_id_inside_a_run_is_a_place_to_go_on_from(notes):
    db, feed = notes
    add_many(db, 2200)
    with feed.events(since=0) as stream:
        ids = [d["cursor"] for d in stream.run()]
    assert len(ids) > 2
    for cut_after in range(len(ids)):
        replica = Replica()
        with feed.events(since=0) as stream:
            for _ in range(cut_after + 1):
                replica.apply(stream.delta())
        if cut_after + 1 < len(ids):
            with feed.events(headers={"Last-Event-ID": replica.cursor}) as stream:
                replica.follow(stream)
        replica.assert_equals(db, "notes")


def test_B04_the_header_is_newer_than_the_url_and_wins(notes):
    db, feed = notes
    add(db, *"abcd")
    places = [feed.changes()["head"] - back for back in (3, 2, 1)]
    with feed.events(since=places[0]) as stream:
        stream.start()
        assert titles(stream.delta()) == ["b", "c", "d"]
    with feed.events(since=places[0], headers={"Last-Event-ID": str(places[2])}) as stream:
        stream.start()
        assert titles(stream.delta()) == ["d"]
    for name in ["lastEventId", "lastEventID", "last_event_id", "Last-Event-ID"]:
        with feed.events(**{name: places[1], "since": places[0]}) as stream:
            stream.start()
            assert titles(stream.delta()) == ["c", "d"]
    with feed.events(lastEventId=places[0], headers={"Last-Event-ID": str(places[2])}) as stream:
        stream.start()
        assert titles(stream.delta()) == ["d"]


def test_B05_an_empty_last_event_id_is_absent(notes):
    db, feed = notes
    add(db, "a")
    with feed.events(headers={"Last-Event-ID": ""}) as stream:
        assert stream.start()["cursor"] == feed.cursor()
        assert stream.quiet(0.2)
    with feed.events(lastEventId="", since=0) as stream:
        stream.start()
        assert titles(stream.delta()) == ["a"]


BAD = ["abc", "-1", "1.5", "1e3", "7x", "0x7", "7,8", "9223372036854775808", "1-", "1-0123", "☃", "x" * 3000, "NaN", "null"]


@pytest.mark.parametrize("value", BAD, ids=[b[:20] for b in BAD])
def test_B05_a_place_that_cannot_be_read_is_a_reset(value, notes):
    db, feed = notes
    add(db, "a")
    for how in [dict(headers={"Last-Event-ID": value.encode().decode("latin-1")}), dict(since=value), dict(lastEventId=value)]:
        with feed.events(**how) as stream:
            assert stream.status == 200
            stream.start()
            first = stream.delta()
            assert first["reset"]["reason"] == "malformed" and first["reset"]["tables"] == ["notes"]
            assert first["changes"] == [] and first["cursor"] == feed.cursor()
            assert value.encode() not in stream.raw or len(value) < 4
            add(db, "b")
            assert titles(stream.delta())[-1] == "b"


def test_B05_with_snapshot_the_rows_come_instead(notes):
    db, feed = notes
    add(db, "a", "b")
    with feed.events(since="nonsense", snapshot=1) as stream:
        stream.start()
        first = stream.delta()
        assert first["reset"]["reason"] == "malformed"
        assert told(first) == [("truncate",), ("read", 1), ("read", 2)]


def test_B03_an_id_that_was_never_given_is_answered_at_once(notes):
    db, feed = notes
    add(db, "a", "b")
    stamp, check = feed.cursor().split("-")
    for value, reason in [("999999999", "ahead_of_head"), (f"999-{check}", "ahead_of_head"),
                          (f"{stamp}-ffffffff{check[8:]}", "restored"), (f"{stamp}-{check[:8]}ffffffff", "restored")]:
        with feed.events(headers={"Last-Event-ID": value}) as stream:
            stream.start()
            first = stream.delta(1)
            assert first["reset"] == {"reason": reason, "tables": ["notes"], "floor": 0}, value
            add(db, "c")
            assert titles(stream.delta()) == ["c"]


def test_B01_a_joiner_misses_nothing_and_sees_nothing_twice(notes):
    import random
    import threading
    db, feed = notes
    done = threading.Event()

    def write():
        with db.connect() as c:
            c.execute("PRAGMA synchronous=OFF")
            while not done.is_set():
                c.execute("INSERT INTO notes(title) VALUES('x')")
                time.sleep(0.0005)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        time.sleep(0.1)
        for _ in range(60):
            asked = random.randrange(1, feed.changes()["head"] + 1)
            with feed.events(headers={"Last-Event-ID": str(asked)}) as stream:
                stream.start()
                stamps = []
                until = time.monotonic() + 0.1
                while time.monotonic() < until:
                    stamps += [c["stamp"] for c in stream.delta()["changes"]]
                assert stamps == list(range(asked + 1, asked + 1 + len(stamps))), asked
    finally:
        done.set()
        writer.join()


def test_B07_what_rows_and_names_hold_cannot_forge_an_event(database, server):
    table = "x\nid: 99\ndata: y"
    db = database(f'CREATE TABLE "{table}"(id INTEGER PRIMARY KEY, v); CREATE TABLE t(id INTEGER PRIMARY KEY, v)')
    feed = server(db, "--watch", table, "--watch", "t")
    before = feed.cursor()
    value = "a\revent: reset\r\n\r\ndata: {}\n\nid: 7\u2028\u0085\0"
    with db.connect() as c:
        c.execute("INSERT INTO t(v) VALUES(?)", (value,))
        c.execute(f'INSERT INTO "{table}"(v) VALUES(?)', (value,))
    with feed.events(since=before) as stream:
        stream.start()
        delta = stream.delta()
        assert [(c["table"], c["row"]["v"]) for c in delta["changes"]] == [("t", value), (table, value)]
        assert stream.quiet(0.2)
        assert stream.parser.blocks_without_data == 0
    with feed.events(since=before, names="table", table="t") as stream:
        stream.start()
        event = stream.next()
        assert event.type == "t" and event.json()["changes"][0]["row"]["v"] == value
    for chosen in [dict(table=table), {}]:
        answer = feed.get("/events" + query(names="table", **chosen))
        assert answer.status == 400 and answer.problem() == ("bad-parameter", "names"), "such a name cannot be an event's"
    with feed.events(headers={"Last-Event-ID": "1%0aevent: x"}) as stream:
        stream.start()
        assert stream.delta()["reset"]["reason"] == "malformed"


def test_named_events_are_one_per_table(database, server):
    db = database("CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(id INTEGER PRIMARY KEY)")
    feed = server(db, "--watch-all")
    before = feed.cursor()
    db.commit("INSERT INTO a VALUES(1)", "INSERT INTO b VALUES(1)", "INSERT INTO a VALUES(2)")
    with feed.events(since=before, names="table") as stream:
        stream.start()
        first, second = stream.next(), stream.next()
        assert (first.type, told(first.json())) == ("a", [("insert", 1), ("insert", 2)])
        assert (second.type, told(second.json())) == ("b", [("insert", 1)])
        assert second.own_id == feed.cursor(), "only the last of them moves the place to the end"
        assert first.own_id in (None, before)
    with feed.events(since="7777", names="table") as stream:
        stream.start()
        assert stream.next().type == "reset"


@pytest.mark.parametrize("name", ["message", "open", "error", "reset", "cursor", "shape", "bye", "heartbeat", "click", "load",
                                  "submit", "change", "input", "a b", "1a", "ä"])
def test_names_that_would_fire_page_events_are_refused(name, database, server):
    db = database(f'CREATE TABLE "{name}"(id INTEGER PRIMARY KEY)')
    feed = server(db, "--watch", name)
    answer = feed.get("/events" + query(names="table", table=name))
    assert answer.status == 400 and answer.problem() == ("bad-parameter", "names")


def test_a_stream_carries_any_set_of_tables(database, server):
    db = database("".join(f"CREATE TABLE t{i}(id INTEGER PRIMARY KEY);" for i in range(5)))
    feed = server(db, "--watch-all")
    with feed.events(tables="t1,t3") as stream:
        stream.start()
        for i in range(5):
            db.run(f"INSERT INTO t{i} VALUES(1)")
        assert [c["table"] for c in stream.changes(2)] == ["t1", "t3"]
        assert stream.quiet(0.2)


def test_B48_a_quiet_stream_is_handed_the_place(database, server):
    db = database("CREATE TABLE quiet(id INTEGER PRIMARY KEY); CREATE TABLE busy(id INTEGER PRIMARY KEY)")
    feed = server(db, "--watch-all")
    with feed.events(tables="quiet", heartbeat=1) as stream:
        stream.start()
        db.run("INSERT INTO busy VALUES(1)")
        event = stream.next_of("cursor", 4)
        assert event.own_id == event.json()["cursor"] == feed.cursor()
        assert event.json()["head"] == 3 or event.json()["head"] == feed.changes()["head"]


def test_heartbeats_when_asked_for(notes):
    db, feed = notes
    with feed.events(heartbeat=1) as stream:
        stream.start()
        began = time.monotonic()
        for _ in range(3):
            event = stream.next_of("heartbeat", 3)
            assert event.own_id is None and event.json()
        assert 2 < time.monotonic() - began < 5
        add(db, "a")
        assert titles(stream.delta()) == ["a"], "a heartbeat ends nothing"


@pytest.mark.timeout(40)
def test_B11_a_quiet_stream_hears_a_comment_at_least_every_15_s(notes):
    db, feed = notes
    with feed.events() as one, feed.events(heartbeat=60) as other:
        began = time.monotonic()
        heard = {s: len(s.parser.comments) for s in (one, other) if s.start()}
        while heard:
            for s in list(heard):
                assert s.next(0.2, quiet_ok=True) is None
                if len(s.parser.comments) > heard[s]:
                    del heard[s]
            assert time.monotonic() - began < 15.5
        add(db, "a")
        for s in (one, other):
            assert titles(s.delta()) == ["a"], "on the same connection"


def test_a_commit_arrives_soon(notes):
    db, feed = notes
    with feed.events() as stream, db.connect() as writer:
        stream.start()
        lags = []
        for i in range(40):
            writer.execute("INSERT INTO notes(title) VALUES(?)", (str(i),))
            committed = time.monotonic()
            assert titles(stream.delta()) == [str(i)]
            lags.append(time.monotonic() - committed)
    assert sorted(lags)[20] < 0.05, lags


def test_B32_what_changes_no_row_tells_nothing_and_open_readers_blind_nobody(notes):
    db, feed = notes
    add(db, "a")
    with feed.events() as stream, db.connect() as reader:
        stream.start()
        reader.execute("BEGIN")
        rows = reader.execute("SELECT * FROM notes")
        rows.fetchone()
        db.run("PRAGMA wal_checkpoint(PASSIVE)")
        db.script("BEGIN; INSERT INTO notes(title) VALUES('b'); ROLLBACK;")
        db.run("UPDATE notes SET done=1 WHERE 0", "DELETE FROM notes WHERE id=77", "CREATE TABLE unrelated(x)",
               "INSERT INTO unrelated VALUES(1)")
        assert stream.quiet(0.4)
        add(db, "c")
        assert titles(stream.delta()) == ["c"]
        rows.close()
        reader.execute("COMMIT")
        db.run("PRAGMA wal_checkpoint(TRUNCATE)")
        add(db, "d")
        assert titles(stream.delta()) == ["d"]


def test_the_accept_header_does_not_choose_the_format(notes):
    _, feed = notes
    for accept in ["text/html", "*/*", "application/json", "application/x-ndjson"]:
        with feed.events(headers={"Accept": accept}) as stream:
            assert stream.head.get("content-type").startswith("text/event-stream")
            assert stream.start()


def test_a_locked_database_holds_a_stream_and_does_not_end_it(database, server):
    db = database(journal="delete")
    feed = server(db, "--watch", "notes")
    before = feed.cursor()
    with db.connect() as owner:
        owner.execute("BEGIN EXCLUSIVE")
        owner.execute("INSERT INTO notes(title) VALUES('a')")
        with feed.events(since=before) as stream:
            assert stream.status == 200
            assert stream.next(0.5, quiet_ok=True) is None or stream.ended is None
            answer = feed.get_changes(since=before)
            assert answer.status == 503 and int(answer.get("retry-after")) > 0 and answer.problem()[0] == "busy"
            owner.execute("COMMIT")
            assert titles(stream.delta()) == ["a"]


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_commit_after_a_pause_is_told_at_once(journal, database, server):
    """Looks are rare while nothing happens, and here they always are: what makes it quick is the kernel's word."""
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY)", journal=journal)
    feed = server(db, "--watch-all", "--poll", "500")
    took = []
    with feed.events() as stream, db.connect() as c:
        stream.start()
        for _ in range(5):
            time.sleep(0.9)
            c.execute("INSERT INTO t DEFAULT VALUES")
            c.commit()
            begin = time.monotonic()
            stream.delta()
            took.append(time.monotonic() - begin)
    assert sorted(took)[2] < 0.1, took


def test_a_stream_of_a_table_that_stays_away_is_told_goodbye(database, server):
    db = database()
    litefeed("watch", db.path, "notes")
    feed = server(db)
    with feed.events(table="notes") as gone, feed.events() as all_of_it:
        gone.start(), all_of_it.start()
        litefeed("unwatch", db.path, "--all")
        time.sleep(4)
        litefeed("watch", db.path, "notes")
        db.run("INSERT INTO notes(title) VALUES('back again')")
        eventually(lambda: gone.delta(within_s=5).get("reset"))
        litefeed("unwatch", db.path, "--all")
        began = time.monotonic()
        assert gone.next_of("bye", within_s=20).json() == {"reason": "unknown_table"}
        assert gone.next() is None and 9 < time.monotonic() - began < 14
        assert not all_of_it.ended
        assert feed.get("/events?table=notes").problem()[0] == "unknown-table"
