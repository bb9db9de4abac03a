"""GET /changes: what a question means, whatever page size, place or patience it comes with."""

import re
import threading
import time

import pytest
from harness.reading import all_changes, keys, told
from harness.replica import Replica


def test_an_answer_is_as_documented(notes):
    db, feed = notes
    db.run("INSERT INTO notes(title) VALUES('Plan')")
    before = feed.cursor()
    db.run("UPDATE notes SET title='Plan B'")
    answer = feed.get_changes(since=before)
    assert answer.get("content-type") == "application/json" and answer.get("cache-control") == "no-store"
    assert answer.get("etag") is None and answer.get("litefeed-reset") is None
    body = answer.json()
    assert list(body) == ["head", "cursor", "more", "changes"]
    assert body["changes"] == [{"table": "notes", "op": "update", "stamp": body["head"], "key": {"id": 1},
                                "row": {"id": 1, "title": "Plan B", "done": 0}}]
    assert re.fullmatch(r"\d+-[0-9a-f]{16}", body["cursor"])
    assert body["cursor"].startswith(f"{body['head']}-")


def test_each_row_comes_once_in_commit_order_with_its_latest_state(notes):
    db, feed = notes
    before = feed.cursor()
    db.run("INSERT INTO notes VALUES(1,'a',0)", "INSERT INTO notes VALUES(2,'b',0)", "UPDATE notes SET title='c' WHERE id=1",
           "INSERT INTO notes VALUES(3,'x',0)", "DELETE FROM notes WHERE id=3")
    answer = feed.changes(since=before)
    assert told(answer) == [("insert", 2), ("insert", 1), ("delete", 3)]
    assert answer["changes"][1]["row"]["title"] == "c"


def test_since_says_where_to_begin(notes):
    db, feed = notes
    db.run("INSERT INTO notes VALUES(1,'a',0)", "INSERT INTO notes VALUES(2,'b',0)")
    at = feed.changes()
    assert at["changes"] == [] and not at["more"], "now is the default"
    assert feed.changes(since="now") == at
    first = feed.changes(since=0)
    assert told(first) == [("read", 1), ("read", 2)] and first["cursor"] == at["cursor"]
    assert all("stamp" not in c for c in first["changes"])
    assert feed.changes(since=at["cursor"]) == at
    assert feed.changes(since=at["head"]) == at, "a bare stamp"
    assert told(feed.changes(since=at["head"] - 1)) == [("insert", 2)]


def test_a_fresh_files_cursor_is_a_place_like_any_other(database, server):
    db = database()
    feed = server(db)
    fresh = feed.get_changes()
    if fresh.status == 200 and fresh.json()["head"] == 0:
        assert fresh.json()["cursor"].startswith("0-")


def test_an_answer_holds_what_was_committed_before_it_was_asked(notes):
    db, feed = notes
    cursor = feed.cursor()
    with db.connect() as writer, feed.connect() as c:
        writer.execute("PRAGMA synchronous=OFF")
        for i in range(300):
            writer.execute("INSERT INTO notes(title) VALUES(?)", (str(i),))
            answer = c.ask("/changes?since=" + cursor).json()
            assert [x["row"]["title"] for x in answer["changes"]] == [str(i)]
            cursor = answer["cursor"]


def test_the_same_question_has_the_same_answer(notes):
    db, feed = notes
    before = feed.cursor()
    db.run("INSERT INTO notes(title) VALUES('a')")
    assert feed.get_changes(since=before).body == feed.get_changes(since=before).body


def test_an_answer_that_was_given_before_is_not_given_again_over_a_commit(notes):
    db, feed = notes
    before = feed.cursor()
    with db.connect() as c:
        for i in range(200):
            c.execute("INSERT INTO notes(title) VALUES(?)", (str(i),))
            c.commit()
            for _ in range(2):
                assert len(feed.changes(since=before, limit=1000)["changes"]) == i + 1
    # What a wait gave when its time was over is no answer to the next wait.
    now = feed.cursor()
    assert feed.changes(since=now, wait=1)["changes"] == []
    threading.Timer(0.3, lambda: db.run("INSERT INTO notes(title) VALUES('later')")).start()
    assert [c["row"]["title"] for c in feed.changes(since=now, wait=1)["changes"]] == ["later"]


def test_tables_are_chosen_by_name(database, server):
    db = database("CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(id INTEGER PRIMARY KEY);"
                  'CREATE TABLE "c,d"(id INTEGER PRIMARY KEY)')
    feed = server(db, "--watch-all")
    before = feed.cursor()
    db.run("INSERT INTO a VALUES(1)", "INSERT INTO b VALUES(1)", 'INSERT INTO "c,d" VALUES(1)')

    def tables(**chosen):
        return [c["table"] for c in feed.changes(since=before, **chosen)["changes"]]

    assert tables() == ["a", "b", "c,d"]
    assert tables(table="a") == ["a"] and tables(table=["a", "c,d"]) == ["a", "c,d"]
    assert tables(tables="b,a") == ["a", "b"] and tables(tables="b,b") == ["b"]
    assert tables(table="c,d", tables="a") == ["a", "c,d"]


def test_names_match_without_regard_to_case_as_in_sqlite_everywhere(notes):
    db, feed = notes
    before = feed.cursor()
    with feed.events(since=before, table="NOTES") as stream:
        stream.start()
        db.run("INSERT INTO notes(title) VALUES('a')")
        assert [c["table"] for c in stream.delta()["changes"]] == ["notes"]
    assert [c["table"] for c in feed.changes(since=before, table="Notes")["changes"]] == ["notes"]
    threading.Timer(0.2, lambda: db.run("INSERT INTO notes(title) VALUES('b')")).start()
    assert feed.changes(since="now", table="NOTES", wait=5)["changes"]
    assert feed.rows("NOTES")["rows"] == feed.rows("notes")["rows"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 49, 50, 51, 100000])
def test_paging_tells_each_change_once_whatever_the_page_size(limit, database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v); CREATE TABLE k(a, b, PRIMARY KEY(a, b)) WITHOUT ROWID")
    with db.connect() as c:
        c.execute("BEGIN")
        c.executemany("INSERT INTO t VALUES(?, 'x')", [(i,) for i in range(50)])
        c.executemany("INSERT INTO k VALUES(?, ?)", [(i % 5, f"k{i}") for i in range(50)])
        c.execute("COMMIT")
    feed = server(db, "--watch-all")
    replica = Replica().catch_up(feed, limit=limit)
    replica.assert_equals(db, "t", "k")
    assert replica.pages == max(1, -(-100 // limit)) or limit >= 100 or replica.pages <= -(-100 // limit) + 2
    before = replica.cursor
    db.run("UPDATE t SET v='y'", "DELETE FROM k WHERE a=1", "DELETE FROM t WHERE id%2=0", "INSERT INTO k VALUES(9,'new')")
    changes, last = all_changes(feed, before, limit=limit)
    whole = feed.changes(since=before)
    assert changes == whole["changes"] and last["cursor"] == whole["cursor"]
    assert len({(c["table"], str(c["key"])) for c in changes}) == len(changes) == 61
    replica.catch_up(feed, limit=limit).assert_equals(db, "t", "k")
    assert replica.wrong_hints == 0


def test_more_is_true_exactly_while_there_is_more(notes):
    db, feed = notes
    before = feed.cursor()
    db.commit(*[f"INSERT INTO notes VALUES({i},'a',0)" for i in range(6)])
    first = feed.changes(since=before, limit=3)
    second = feed.changes(since=first["cursor"], limit=3)
    assert (first["more"], second["more"]) == (True, False)
    assert len(first["changes"]) == len(second["changes"]) == 3
    assert second["cursor"] == feed.cursor()


@pytest.mark.parametrize("limit", [1, 3, 7, 40])
def test_B40_pages_inside_a_commit_lose_and_repeat_nothing(limit, database, server):
    db = database("CREATE TABLE parent(id INTEGER PRIMARY KEY, v);"
                  "CREATE TABLE child(id INTEGER PRIMARY KEY, parent REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
    feed = server(db, "--watch", "parent", "--watch", "child")
    before = feed.cursor()
    db.script("PRAGMA foreign_keys=ON; BEGIN;"
              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<60) INSERT INTO parent SELECT i, 'v' FROM n;"
              "INSERT INTO child SELECT id, id FROM parent;"
              "DELETE FROM parent WHERE id%3=0; INSERT INTO parent SELECT id, 'again' FROM child WHERE id%6=0;"
              "DELETE FROM child WHERE id%6=3; COMMIT;")
    changes, _ = all_changes(feed, before, limit=limit)
    names = [(c["table"], c["key"]["id"]) for c in changes]
    assert len(names) == len(set(names)) == 120
    assert [c["stamp"] for c in changes] == sorted(c["stamp"] for c in changes)
    copy = database("CREATE TABLE parent(id INTEGER PRIMARY KEY, v);"
                    "CREATE TABLE child(id INTEGER PRIMARY KEY, parent REFERENCES parent DEFERRABLE INITIALLY DEFERRED)", name="copy.db")
    with copy.connect() as c:
        c.execute("PRAGMA foreign_keys=ON")
        c.execute("BEGIN")
        for change in changes:
            table, key = change["table"], change["key"]["id"]
            c.execute(f"DELETE FROM {table} WHERE id=?", (key,))
            if change["op"] != "delete":
                c.execute(f"INSERT INTO {table} VALUES(?, ?)", list(change["row"].values()))
        c.execute("COMMIT")
    assert copy.content("parent") == db.content("parent") and copy.content("child") == db.content("child")


def test_a_commit_between_two_pages_comes_after_the_run(notes):
    db, feed = notes
    db.commit(*[f"INSERT INTO notes VALUES({i},'a',0)" for i in range(20)])
    replica = Replica()
    count = iter(range(100, 200))

    def write():
        i = next(count)
        if i < 110:
            db.run(f"INSERT INTO notes VALUES({i},'b',0)", f"DELETE FROM notes WHERE id={i - 100}",
                   f"UPDATE notes SET done={i} WHERE id=19")

    replica.catch_up(feed, between=write, limit=2)
    replica.assert_equals(db, "notes")
    replica.hints = replica.wrong_hints = 0
    db.run("UPDATE notes SET title='c'", "DELETE FROM notes WHERE id%4=0", "INSERT INTO notes VALUES(200,'new',0)")
    replica.catch_up(feed, between=write, limit=2).assert_equals(db, "notes")
    assert replica.wrong_hints == 0, "a first read may have met rows that are told again; a delta may not"


def test_paged_first_reads_go_through_keys_of_every_kind(database, server):
    db = database("CREATE TABLE l(k TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, v) WITHOUT ROWID;"
                  "CREATE TABLE d(id INTEGER, v, PRIMARY KEY(id DESC)); CREATE TABLE m(k PRIMARY KEY NOT NULL);"
                  "CREATE TABLE c(a TEXT, b REAL, PRIMARY KEY(b DESC, a)) WITHOUT ROWID")
    with db.connect() as c:
        c.executemany("INSERT INTO l VALUES(?, 1)", [("k" * n + "ä" * (n % 3),) for n in range(1, 700, 40)])
        c.executemany("INSERT INTO d VALUES(?, 1)", [(n,) for n in range(-5, 6)])
        c.executemany("INSERT INTO m VALUES(?)", [(1,), (1.5,), ("1",), (b"1",), (b"",), ("",), (2**62,), (-2**63,), ("x" * 1000,),
                                                  ("x" * 1000 + "y",), (b"\xff" * 600,), (b"\xff" * 601,), (float("inf"),)])
        c.executemany("INSERT INTO c VALUES(?, ?)", [(a, b) for a in "abc" for b in (1, 2, 0.5)])
    feed = server(db, "--watch-all")
    for limit in (1, 2, 5):
        replica = Replica().catch_up(feed, limit=limit)
        replica.assert_equals(db, "l", "d", "m", "c")
        assert replica.pages < 1000


def test_page_cursors_stay_within_512_bytes(database, server):
    db = database("CREATE TABLE t(a, b, c, PRIMARY KEY(a, b, c)) WITHOUT ROWID")
    with db.connect() as c:
        c.executemany("INSERT INTO t VALUES(?, ?, ?)", [("a" * 2000, "b" * 2000, f"c{n}") for n in range(9)])
    feed = server(db, "--watch", "t")
    replica = Replica()
    replica.catch_up(feed, limit=4)
    replica.assert_equals(db, "t")


def test_a_long_poll_is_answered_by_the_commit(notes):
    db, feed = notes
    before = feed.cursor()
    writer = threading.Timer(0.3, lambda: db.run("INSERT INTO notes(title) VALUES('a')"))
    writer.start()
    began = time.monotonic()
    answer = feed.changes(since=before, wait=10)
    took = time.monotonic() - began
    writer.join()
    assert told(answer) == [("insert", 1)] and 0.25 < took < 2


def test_a_long_poll_that_ends_without_a_change_has_a_cursor(notes):
    _, feed = notes
    before = feed.cursor()
    began = time.monotonic()
    answer = feed.changes(since=before, wait=2)
    took = time.monotonic() - began
    assert answer["changes"] == [] and answer["cursor"] == before
    assert 1.7 < took < 2.3, "up to a tenth earlier"


def test_a_long_poll_of_now_waits_for_the_next_change(notes):
    db, feed = notes
    threading.Timer(0.2, lambda: db.run("INSERT INTO notes(title) VALUES('a')")).start()
    assert told(feed.changes(wait=10)) == [("insert", 1)]


def test_what_one_who_waits_for_now_was_told_is_not_told_to_the_next(notes):
    db, feed = notes
    threading.Timer(0.2, lambda: db.run("INSERT INTO notes(title) VALUES('a')")).start()
    assert told(feed.changes(since="now", wait=10)) == [("insert", 1)]
    threading.Timer(0.5, lambda: db.run("INSERT INTO notes(title) VALUES('b')")).start()
    assert told(feed.changes(since="now", wait=10)) == [("insert", 2)]


def test_a_long_poll_answers_at_once_when_there_is_something(notes):
    db, feed = notes
    db.run("INSERT INTO notes(title) VALUES('a')")
    for since in (0, 1):
        began = time.monotonic()
        assert feed.changes(since=since, wait=20)["changes"]
        assert time.monotonic() - began < 1


def test_a_filtered_long_poll_is_not_woken_by_other_tables(database, server):
    db = database("CREATE TABLE quiet(id INTEGER PRIMARY KEY); CREATE TABLE busy(id INTEGER PRIMARY KEY)")
    feed = server(db, "--watch-all")
    before = feed.cursor()
    threading.Timer(0.2, lambda: db.run("INSERT INTO busy VALUES(1)")).start()
    threading.Timer(0.8, lambda: db.run("INSERT INTO quiet VALUES(1)")).start()
    began = time.monotonic()
    answer = feed.changes(since=before, tables="quiet", wait=10)
    assert told(answer) == [("insert", 1)] and time.monotonic() - began > 0.6


def test_until_waits_for_a_stamp(notes):
    db, feed = notes
    before = feed.changes()
    db.run("INSERT INTO notes(title) VALUES('a')")
    began = time.monotonic()
    assert feed.changes(since=before["cursor"], wait=10, until=before["head"] + 1)["head"] == before["head"] + 1
    assert time.monotonic() - began < 1, "the head has reached it already"
    threading.Timer(0.2, lambda: db.run("INSERT INTO notes(title) VALUES('b')")).start()
    threading.Timer(0.6, lambda: db.run("INSERT INTO notes(title) VALUES('c')")).start()
    answer = feed.changes(since=before["cursor"], wait=10, until=before["head"] + 3)
    assert answer["head"] >= before["head"] + 3 and [c["row"]["title"] for c in answer["changes"]] == ["a", "b", "c"]


def test_ndjson_is_one_change_a_line_and_a_last_line_with_the_rest(notes):
    db, feed = notes
    db.run("INSERT INTO notes VALUES(1,'a',0)", "INSERT INTO notes VALUES(2,'b',0)")
    whole = feed.changes(since=0)
    for answer in [feed.get_changes(since=0, format="ndjson"),
                   feed.get_changes(since=0, headers={"Accept": "application/x-ndjson"})]:
        *changes, last = answer.lines()
        assert changes == whole["changes"]
        assert last == {k: v for k, v in whole.items() if k != "changes"}
        assert answer.get("litefeed-cursor") == whole["cursor"] and answer.get("litefeed-more") == "false"
    assert feed.get_changes(since=0, format="json", headers={"Accept": "application/x-ndjson"}).json() == whole
    assert feed.get_changes(since=0, headers={"Accept": "application/x-ndjson;q=0, */*"}).json() == whole


def test_B48_the_place_moves_when_nothing_matched(database, server):
    db = database("CREATE TABLE quiet(id INTEGER PRIMARY KEY); CREATE TABLE busy(id INTEGER PRIMARY KEY, v)")
    feed = server(db, "--watch-all")
    before = feed.cursor()
    db.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<10000) INSERT INTO busy SELECT i, 0 FROM n")
    for since in [before, 0]:
        answer = feed.changes(since=since, tables="quiet")
        assert answer["changes"] == [] and not answer["more"]
        assert answer["cursor"] == feed.cursor(), "the place is the head"


def test_B44_rows_older_than_the_installation_are_in_the_first_read(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1,'a'),(2,'b'),(3,'c')")
    feed = server(db, "--watch", "t")
    answer = feed.changes(since=0)
    assert told(answer) == [("read", 1), ("read", 2), ("read", 3)]
    db.run("INSERT INTO t VALUES(4,'d')")
    assert told(feed.changes(since=answer["cursor"])) == [("insert", 4)]


def test_a_first_read_of_many_tables_ends_at_one_commit(database, server):
    db = database("".join(f"CREATE TABLE t{i}(id INTEGER PRIMARY KEY); INSERT INTO t{i} VALUES(1),(2);" for i in range(6)))
    feed = server(db, "--watch-all")
    assert len(keys(feed.changes(since=0))) == 12
    replica = Replica().catch_up(feed, limit=1)
    replica.assert_equals(db, *[f"t{i}" for i in range(6)])
