"""Several loops share nothing but the file: any of them answers any cursor with the same bytes."""

import re

import pytest


@pytest.fixture
def two(database, server):
    db = database()
    return db, server(db, "--watch", "notes", "--threads", "2")


def loops_of(feed):
    return feed.get("/status").json()["loops"]


def test_both_loops_answer_one_cursor_with_the_same_bytes(two):
    db, feed = two
    before = feed.cursor()
    for i in range(30):
        db.run(f"INSERT INTO notes(title) VALUES('{i}')")
    db.run("DELETE FROM notes WHERE id%3=0", "UPDATE notes SET done=1 WHERE id%5=0")
    page = feed.changes(since=before, limit=4)["cursor"]
    first_read_page = feed.changes(since=0, limit=4)["cursor"]
    connections = [feed.connect() for _ in range(24)]
    for target in [f"/changes?since={before}", f"/changes?since={page}&limit=4", f"/changes?since={first_read_page}&limit=4",
                   "/rows/notes?limit=5", "/changes?since=5&format=ndjson", "/tables"]:
        answers = {(a.status, a.body, a.get("etag")) for a in (c.ask(target) for c in connections)}
        assert len(answers) == 1, target
    requests = [loop["requests"] for loop in loops_of(feed)]
    assert len(requests) == 2 and all(n > 3 for n in requests), requests
    for c in connections:
        c.close()


def test_streams_on_both_see_every_commit(two):
    db, feed = two
    streams = [feed.events() for _ in range(16)]
    for s in streams:
        s.start()
    spread = [loop["subscribers"] for loop in loops_of(feed)]
    assert len(spread) == 2 and sum(spread) == 16 and all(spread), spread
    with db.connect() as c:
        for i in range(60):
            c.execute("INSERT INTO notes(title) VALUES(?)", (str(i),))
    for s in streams:
        seen = []
        while len(seen) < 60:
            seen += [c["row"]["title"] for c in s.delta()["changes"]]
        assert seen == [str(i) for i in range(60)]
        s.close()


def test_a_stream_cut_on_one_goes_on_at_the_other(two):
    db, feed = two
    place, seen = feed.cursor(), []
    for i in range(20):
        with feed.events(headers={"Last-Event-ID": place}) as stream:
            stream.start()
            db.run(f"INSERT INTO notes(title) VALUES('{i}')")
            delta = stream.delta()
            seen += [c["row"]["title"] for c in delta["changes"]]
            place = stream.last_id
    assert seen == [str(i) for i in range(20)]


def test_a_reset_is_the_same_on_both(two):
    db, feed = two
    before = feed.cursor()
    db.run("ALTER TABLE notes ADD COLUMN extra DEFAULT 1", "INSERT INTO notes(title) VALUES('a')")
    feed.changes(since=before)
    bodies = set()
    for _ in range(12):
        answer = feed.patiently(lambda: feed.get_changes(since=before))
        bodies.add(re.sub(rb'"head":\d+', b"", answer.body))
    assert len(bodies) == 1 and b"schema_changed" in bodies.pop()


def test_sigterm_ends_both(two):
    _, feed = two
    streams = [feed.events() for _ in range(8)]
    for s in streams:
        s.start()
    feed.stop(within_s=3)
    for s in streams:
        assert [e.type for e in s.read_to_end()] == ["bye"] and s.ended == "whole"
        s.close()


def test_two_servers_of_one_file_answer_alike(database, server):
    db = database()
    one, other = server(db, "--watch", "notes"), server(db)
    before = one.cursor()
    for i in range(10):
        db.run(f"INSERT INTO notes(title) VALUES('{i}')")
        assert one.get_changes(since=before).body == other.get_changes(since=before).body
    with other.events(headers={"Last-Event-ID": one.cursor()}) as stream:
        stream.start()
        db.run("INSERT INTO notes(title) VALUES('last')")
        assert stream.delta()["changes"][0]["row"]["title"] == "last"
