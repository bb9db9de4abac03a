"""A gap is always told: below the floor, above the head, in another history; at the exact edge, in every way to ask."""

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing

import pytest
from harness.reading import raise_floor, told
from harness.replica import Replica
from harness.tools import litefeed
from harness.waiting import eventually


def fill(db, feed, count):
    """Cursors at each of so many commits, the first before all of them."""
    out = [feed.cursor()]
    for i in range(count):
        db.run(f"INSERT INTO notes(title) VALUES('{i}')")
        out.append(feed.cursor())
    return out


def test_B43_the_floor_itself_goes_on_and_one_below_is_a_reset(notes):
    db, feed = notes
    at = fill(db, feed, 6)
    raise_floor(db, at[4])
    floor = int(at[4].split("-")[0])
    for asked, fine in [(at[5], True), (at[4], True), (at[3], False), (at[0], False), (floor, True), (floor - 1, False),
                        (floor + 1, True)]:
        answer = feed.changes(since=asked)
        if fine:
            assert "reset" not in answer and {op for op, *_ in told(answer)} <= {"insert"}, asked
        else:
            assert answer["reset"] == {"reason": "below_floor", "tables": ["notes"], "floor": floor}, asked
            assert answer["changes"] == [] and answer["cursor"] == at[6] and not answer["more"]
            assert feed.get_changes(since=asked).get("litefeed-reset") == "below_floor"
        with feed.events(headers={"Last-Event-ID": str(asked)}) as stream:
            stream.start()
            if fine and asked != at[6]:
                assert "reset" not in stream.delta()
            else:
                assert stream.delta()["reset"]["reason"] == "below_floor"
    assert len(feed.changes(since=0)["changes"]) == 6, "0 holds nothing and is never below the floor"


def test_B43_with_snapshot_the_rows_come_in_the_same_run(notes):
    db, feed = notes
    at = fill(db, feed, 6)
    raise_floor(db, at[4])
    answer = feed.changes(since=at[0], snapshot=1)
    assert answer["reset"]["reason"] == "below_floor"
    assert told(answer) == [("truncate",)] + [("read", i) for i in range(1, 7)]
    for limit in (1, 2, 3):
        replica = Replica()
        replica.cursor = at[0]
        replica.rows("notes")["stale"] = ({"id": 99}, {"id": 99})
        replica.catch_up(feed, snapshot=1, limit=limit).assert_equals(db, "notes")
        assert replica.resets == ["below_floor"], "in the first answer of a run only"


def test_B43_a_page_below_the_floor_is_a_reset(notes):
    db, feed = notes
    at = fill(db, feed, 9)
    page = feed.changes(since=at[0], limit=3)
    assert page["more"]
    raise_floor(db, at[7])
    answer = feed.changes(since=page["cursor"], limit=3)
    assert answer["reset"]["reason"] == "below_floor"
    replica = Replica()
    replica.apply(page)
    replica.catch_up(feed, limit=3).assert_equals(db, "notes")


def test_a_reset_table_stands_beside_the_deltas_of_the_others(database, server):
    db = database("CREATE TABLE a(id INTEGER PRIMARY KEY, v); CREATE TABLE b(id INTEGER PRIMARY KEY); INSERT INTO a VALUES(1,1)")
    feed = server(db, "--watch-all")
    replica = Replica().catch_up(feed)
    db.run("INSERT INTO b VALUES(1)", "ALTER TABLE a ADD COLUMN w DEFAULT 5", "INSERT INTO b VALUES(2)")
    answer = feed.changes(since=replica.cursor)
    assert answer["reset"] == {"reason": "schema_changed", "tables": ["a"], "floor": 0}
    assert told(answer, "b") == [("insert", 1), ("insert", 2)] and told(answer, "a") == []
    replica.apply(answer, feed)
    replica.assert_equals(db, "a", "b")
    answer = feed.changes(since=answer["cursor"])
    assert "reset" not in answer


def test_a_table_watched_later_is_a_reset_enabled(database, server):
    from harness.tools import litefeed
    db = database("CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(id INTEGER PRIMARY KEY); INSERT INTO b VALUES(1)")
    feed = server(db, "--watch", "a")
    replica = Replica().catch_up(feed)
    with feed.events(since=replica.cursor) as stream:
        stream.start()
        litefeed("watch", db.path, "b")
        assert stream.delta()["reset"] == {"reason": "enabled", "tables": ["b"], "floor": 0}
    answer = feed.changes(since=replica.cursor, table="b")
    assert answer["reset"]["reason"] == "enabled"
    assert "reset" not in feed.changes(since=replica.cursor, table="a")
    replica.catch_up(feed).assert_equals(db, "a", "b")


def test_unwatch_is_told_as_truncate_and_watching_again_as_a_new_generation(database, server):
    from harness.tools import litefeed
    db = database("CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(id INTEGER PRIMARY KEY); INSERT INTO b VALUES(1)")
    litefeed("watch", db.path, "a", "b")  # and not by the server, which would watch it again
    feed = server(db)
    replica = Replica().catch_up(feed)
    litefeed("unwatch", db.path, "b")
    answer = feed.changes(since=replica.cursor)
    assert told(answer, "b") == [("truncate",)] and "reset" not in answer
    replica.apply(answer)
    db.run("INSERT INTO b VALUES(2)")
    assert feed.changes(since=replica.cursor)["changes"] == []
    litefeed("watch", db.path, "b")
    assert feed.changes(since=replica.cursor)["reset"]["tables"] == ["b"]
    replica.catch_up(feed).assert_equals(db, "a", "b")


@pytest.mark.parametrize("how", [("--all",), ("notes",)])
def test_what_a_server_was_asked_to_watch_it_watches_again(how, notes):
    db, feed = notes
    replica = Replica().catch_up(feed)
    litefeed("unwatch", db.path, *how)
    eventually(lambda: feed.log().count("watches notes") > 1 or feed.get("/readyz").status == 503)
    eventually(lambda: feed.get("/readyz").status == 200)
    db.run("INSERT INTO notes(title) VALUES('after')")
    replica.catch_up(feed, snapshot=1).assert_equals(db, "notes")


def test_where_nothing_is_watched_a_poll_waits_and_the_commands_say_so(database, server):
    db = database("CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT)")
    feed = server(db)
    cursor = feed.changes(since=0)["cursor"]
    begun = time.monotonic()
    answer = feed.changes(since=cursor, wait=1)
    assert "reset" not in answer and answer["cursor"] == cursor and time.monotonic() - begun > 0.9
    assert "nothing is watched" in litefeed("changes", db.path, "--since", "0").stderr
    litefeed("watch", db.path, "notes")
    assert feed.changes(since=cursor)["reset"]["tables"] == ["notes"]


def test_above_the_head_and_in_another_history(notes):
    db, feed = notes
    at = fill(db, feed, 3)
    stamp, check = at[-1].split("-")
    for asked, reason in [(999, "ahead_of_head"), (f"999-{check}", "ahead_of_head"), (f"{stamp}-{check[:8]}00000000", "restored"),
                          (f"{stamp}-00000001{check[8:]}", "restored"), (f"0-{'1' * 8}{'0' * 8}", "restored")]:
        answer = feed.changes(since=asked)
        assert answer["reset"]["reason"] == reason, asked
        assert answer["cursor"] == at[-1]


def copy(source, target):
    """By SQLite's backup, as `.backup` and `.restore` do."""
    with closing(sqlite3.connect(source, timeout=10)) as a, closing(sqlite3.connect(target, timeout=10)) as b:
        a.backup(b)


def replace_file(db, path):
    """Another file under the same name, while it is being served; what its journal held is gone with it."""
    os.replace(path, db.path)
    for suffix in ("-wal", "-shm"):
        if os.path.exists(f"{db.path}{suffix}"):
            os.remove(f"{db.path}{suffix}")


@pytest.fixture
def restored(notes, tmp_path):
    """A feed whose file goes back: (database, feed, replica at the newest, restore)."""
    db, feed = notes
    fill(db, feed, 3)
    copy(db.path, tmp_path / "backup.db")
    fill(db, feed, 3)
    replica = Replica().catch_up(feed)

    def replaced():
        shutil.copy(tmp_path / "backup.db", tmp_path / "new.db")
        replace_file(db, tmp_path / "new.db")

    def stopped():
        feed.stop()
        replaced()
        feed.start()

    def in_place():
        copy(tmp_path / "backup.db", db.path)

    return db, feed, replica, {"stopped": stopped, "replaced": replaced, "in place": in_place}


@pytest.mark.parametrize("how", ["stopped", "replaced", "in place"])
def test_B41_a_restored_copy_is_a_reset(how, restored):
    db, feed, replica, restore = restored
    before = replica.cursor
    restore[how]()
    answer = feed.changes(since=before)
    assert answer["reset"]["reason"] in ("ahead_of_head", "restored"), answer
    assert feed.changes(since=int(before.split("-")[0]))["reset"]["reason"] in ("ahead_of_head", "restored")
    replica.catch_up(feed).assert_equals(db, "notes")


@pytest.mark.parametrize("how", ["stopped", "replaced", "in place"])
def test_B41_a_restored_copy_that_has_passed_the_old_head_is_a_reset(how, restored):
    db, feed, replica, restore = restored
    before = replica.cursor
    restore[how]()
    fill(db, feed, 5)
    assert int(feed.cursor().split("-")[0]) > int(before.split("-")[0])
    answer = feed.changes(since=before)
    assert answer["reset"]["reason"] == "restored", answer
    replica.catch_up(feed).assert_equals(db, "notes")


@pytest.mark.parametrize("how", ["replaced", "in place"])
def test_B41_a_stream_is_told_of_a_live_restore(how, restored):
    db, feed, replica, restore = restored
    with feed.events(since=replica.cursor, snapshot=1) as stream:
        stream.start()
        restore[how]()
        replica.follow(stream, 10)
        assert replica.resets and replica.resets[0] in ("ahead_of_head", "restored")
        replica.assert_equals(db, "notes")
        db.run("INSERT INTO notes(title) VALUES('after')")
        replica.follow(stream, 10).assert_equals(db, "notes")


def test_a_file_without_our_tables_in_its_place_is_a_reset_or_unavailable(notes, database):
    db, feed = notes
    fill(db, feed, 2)
    before = feed.cursor()
    other = database(name="other.db", journal="delete")
    replace_file(db, other.path)
    answer = feed.get_changes(since=before)
    assert answer.status in (404, 503) or "reset" in answer.json() or feed.get("/readyz").status == 503, answer


@pytest.mark.parametrize("change", ["VACUUM", "ALTER TABLE g RENAME TO g2; VACUUM", "VACUUM; DROP TABLE g",
                                    "DROP TABLE g; CREATE TABLE g(id INTEGER PRIMARY KEY, a); VACUUM", "unwatch"])
def test_a_vacuum_that_renumbers_rowids_is_told_whatever_came_with_it(change, database):
    """Nobody looked between the VACUUM and what came with it: a table that is keyed by its rowid starts over."""
    db = database("CREATE TABLE g(id INTEGER PRIMARY KEY, a); CREATE TABLE t(a, b);"
                  "INSERT INTO t VALUES(1,1),(2,2),(3,3),(4,4); DELETE FROM t WHERE a = 2;")
    litefeed("watch", db.path, "--all")
    before = json.loads(litefeed("changes", db.path, "--since", "now").stdout)["cursor"]
    db.run(*("VACUUM" if change == "unwatch" else change).split("; "))
    if change == "unwatch":
        litefeed("unwatch", db.path, "g")
    db.run("UPDATE t SET b = 99 WHERE a = 4")
    told = json.loads(litefeed("changes", db.path, "--since", before).stdout)
    assert "t" in told["reset"]["tables"], told
