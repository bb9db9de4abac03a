"""GET /rows/{table}: a table as it is now, page by page, with a cursor to go on from and an ETag that never lies."""

import pytest
from harness.replica import Replica


def fill(db, count):
    db.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<%d)"
           "INSERT INTO notes(title) SELECT 'note ' || i FROM n" % count)


def test_a_page_is_as_documented(notes):
    db, feed = notes
    fill(db, 2)
    answer = feed.get_rows("notes")
    body = answer.json()
    assert list(body) == ["table", "head", "cursor", "rows", "next"]
    assert body["rows"] == [{"key": {"id": i}, "row": {"id": i, "title": f"note {i}", "done": 0}} for i in (1, 2)]
    assert body["cursor"] == feed.cursor() and body["next"] is None
    assert answer.get("litefeed-cursor") == body["cursor"] and answer.get("litefeed-head") == str(body["head"])
    assert answer.get("litefeed-next") is None
    assert answer.get("cache-control") == "private, no-cache" and answer.get("vary")
    assert answer.get("etag").startswith('W/"')


@pytest.mark.parametrize("count", [0, 2])
def test_an_answer_has_the_table_s_own_name(count, database, server):
    db = database("CREATE TABLE \"Größe\"(id INTEGER PRIMARY KEY)")
    db.run(*[f"INSERT INTO \"Größe\" VALUES({i})" for i in range(count)])
    feed = server(db, "--watch-all")
    for name in ["Größe", "GRößE", "größe"]:
        assert feed.rows(name)["table"] == "Größe"
        assert feed.get_rows(name, format="ndjson").lines()[-1]["table"] == "Größe"


@pytest.mark.parametrize("limit", [1, 7, 999, 1000, 1001, None])
def test_pages_join_to_the_table(limit, notes):
    db, feed = notes
    fill(db, 1000 if limit != 1 else 20)
    ids, after = [], None
    while True:
        page = feed.rows("notes", limit=limit, after=after)
        assert len(page["rows"]) <= (limit or 1000)
        ids += [r["key"]["id"] for r in page["rows"]]
        after = page["next"]
        if after is None:
            break
    assert ids == [r[0] for r in db.ask("SELECT id FROM notes ORDER BY id")]


def test_the_cursor_is_that_of_the_first_page_on_all_pages(notes):
    db, feed = notes
    fill(db, 10)
    first = feed.rows("notes", limit=4)
    db.run("DELETE FROM notes WHERE id<4", "UPDATE notes SET done=1 WHERE id>8", "INSERT INTO notes(title) VALUES('late')")
    second = feed.rows("notes", limit=4, after=first["next"])
    third = feed.rows("notes", limit=4, after=second["next"])
    assert first["cursor"] == second["cursor"] == third["cursor"] and third["next"] is None
    replica = Replica()
    for page in (first, second, third):
        for one in page["rows"]:
            replica.change({"table": "notes", "op": "read", **one})
    replica.cursor = first["cursor"]
    replica.catch_up(feed).assert_equals(db, "notes")


def test_rows_as_lines(notes):
    db, feed = notes
    fill(db, 3)
    body = feed.rows("notes", limit=2)
    *rows, last = feed.get_rows("notes", limit=2, format="ndjson").lines()
    assert rows == body["rows"] and last == {k: v for k, v in body.items() if k != "rows"}
    assert feed.get_rows("notes", limit=2).get("litefeed-next") == body["next"]


def test_an_etag_is_known_until_something_moved(notes):
    db, feed = notes
    fill(db, 5)
    etag = feed.get_rows("notes").get("etag")
    unchanged = feed.get_rows("notes", headers={"If-None-Match": etag})
    assert unchanged.status == 304 and unchanged.body == b"" and unchanged.get("etag") == etag
    assert feed.get_rows("notes", headers={"If-None-Match": f'"other", {etag}'}).status == 304
    assert feed.get_rows("notes", headers={"If-None-Match": etag.removeprefix("W/")}).status == 304, "compared weakly"
    assert feed.get_rows("notes", headers={"If-None-Match": '"other"'}).status == 200
    assert feed.get_rows("notes", limit=2, headers={"If-None-Match": etag}).status == 200, "another request"
    assert feed.get_rows("notes", headers={"If-None-Match": etag, "Accept": "application/x-ndjson"}).status == 200
    seen = {etag}
    for statement in ["UPDATE notes SET done=1 WHERE id=1", "DELETE FROM notes WHERE id=2", "INSERT INTO notes(title) VALUES('x')",
                      "ALTER TABLE notes ADD COLUMN extra DEFAULT 5"]:
        db.run(statement)
        answer = feed.patiently(lambda: feed.get_rows("notes", headers={"If-None-Match": etag}))
        assert answer.status == 200 and answer.get("etag") not in seen, statement
        etag = answer.get("etag")
        seen.add(etag)


def test_the_same_for_tables(notes):
    db, feed = notes
    answer = feed.get("/tables")
    etag = answer.get("etag")
    assert feed.get("/tables", headers={"If-None-Match": etag}).status == 304
    db.run("INSERT INTO notes(title) VALUES('x')")
    assert feed.get("/tables", headers={"If-None-Match": etag}).status == 200


def test_pages_of_a_file_that_was_replaced_are_gone(notes, database, tmp_path):
    import os
    db, feed = notes
    fill(db, 5)
    after = feed.rows("notes", limit=2)["next"]
    from harness.tools import litefeed
    other = database(name="other.db", journal="delete")
    fill(other, 5)
    litefeed("watch", other.path, "notes")
    os.replace(other.path, db.path)
    for suffix in ("-wal", "-shm"):
        if os.path.exists(f"{db.path}{suffix}"):
            os.remove(f"{db.path}{suffix}")
    answer = feed.patiently(lambda: feed.get_rows("notes", limit=2, after=after))
    assert answer.status == 410 and answer.problem()[0] == "page-gone", answer


def test_page_tokens_of_another_table_are_refused(database, server):
    db = database("CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(id INTEGER PRIMARY KEY);"
                  "INSERT INTO a VALUES(1),(2); INSERT INTO b VALUES(1),(2)")
    feed = server(db, "--watch-all")
    token = feed.rows("a", limit=1)["next"]
    assert feed.get_rows("b", after=token).status in (400, 410)


def test_rows_of_every_kind_of_key_page_by_page(database, server):
    db = database("CREATE TABLE w(k TEXT, n REAL, v, PRIMARY KEY(n DESC, k COLLATE NOCASE)) WITHOUT ROWID;"
                  "CREATE TABLE r(v); CREATE TABLE m(k PRIMARY KEY NOT NULL)")
    with db.connect() as c:
        c.executemany("INSERT INTO w VALUES(?, ?, 1)", [(k, n) for k in ("a", "b", "C", "") for n in (1, 2.5, -1)])
        c.executemany("INSERT INTO r VALUES(?)", [(i,) for i in range(9)])
        c.executemany("INSERT INTO m VALUES(?)", [(1,), (1.5,), ("1",), (b"1",), (b"",), ("",), (2**62,), (-2**63,)])
    feed = server(db, "--watch-all")
    for table in "wrm":
        for limit in (1, 3):
            replica, after = Replica(), None
            for _ in range(50):
                page = feed.rows(table, limit=limit, after=after)
                for one in page["rows"]:
                    replica.change({"table": table, "op": "read", **one})
                after = page["next"]
                if after is None:
                    break
            replica.assert_equals(db, table)
