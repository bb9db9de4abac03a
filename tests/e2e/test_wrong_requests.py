"""Wrong requests are told apart by status, problem and parameter; none of them harms the connection after it."""

import pytest

REFUSED = [
    # target, status, problem, parameter
    ("/changes?sinse=0", 400, "unknown-parameter", "sinse"),
    ("/changes?Since=0", 400, "unknown-parameter", "Since"),
    ("/changes?since=0&since=0", 400, "repeated-parameter", "since"),
    ("/changes?tables=notes&tables=notes", 400, "repeated-parameter", "tables"),
    ("/changes?since=", 400, "malformed-cursor", "since"),
    ("/changes?since=abc", 400, "malformed-cursor", "since"),
    ("/changes?since=-1", 400, "malformed-cursor", "since"),
    ("/changes?since=%2B1", 400, "malformed-cursor", "since"),
    ("/changes?since=1.5", 400, "malformed-cursor", "since"),
    ("/changes?since=1e3", 400, "malformed-cursor", "since"),
    ("/changes?since=0x7", 400, "malformed-cursor", "since"),
    ("/changes?since=7,8", 400, "malformed-cursor", "since"),
    ("/changes?since=+7", 400, "malformed-cursor", "since"),
    ("/changes?since=9223372036854775808", 400, "malformed-cursor", "since"),
    ("/changes?since=NOW", 400, "malformed-cursor", "since"),
    ("/changes?since=1-", 400, "malformed-cursor", "since"),
    ("/changes?since=1-0123", 400, "malformed-cursor", "since"),
    ("/changes?since=1-0123456789abcdeg", 400, "malformed-cursor", "since"),
    ("/changes?since=1-0123456789abcdef0", 400, "malformed-cursor", "since"),
    ("/changes?since=" + "1" * 600, 400, "malformed-cursor", "since"),
    ("/changes?limit=0", 400, "bad-parameter", "limit"),
    ("/changes?limit=100001", 400, "bad-parameter", "limit"),
    ("/changes?limit=-5", 400, "bad-parameter", "limit"),
    ("/changes?limit=ten", 400, "bad-parameter", "limit"),
    ("/changes?limit=", 400, "bad-parameter", "limit"),
    ("/changes?limit=1e2", 400, "bad-parameter", "limit"),
    ("/changes?limit=99999999999999999999", 400, "bad-parameter", "limit"),
    ("/changes?wait=51", 400, "bad-parameter", "wait"),
    ("/changes?wait=0.5", 400, "bad-parameter", "wait"),
    ("/changes?until=x&wait=1", 400, "bad-parameter", "until"),
    ("/changes?snapshot=yes", 400, "bad-parameter", "snapshot"),
    ("/changes?snapshot=", 400, "bad-parameter", "snapshot"),
    ("/changes?format=xml", 400, "bad-parameter", "format"),
    ("/changes?tables=", 400, "bad-parameter", "tables"),
    ("/changes?tables=notes,", 400, "bad-parameter", "tables"),
    ("/changes?tables=,notes", 400, "bad-parameter", "tables"),
    ("/changes?tables=nothing", 404, "unknown-table", None),
    ("/changes?table=", 404, "unknown-table", None),
    ("/changes?table=plain", 404, "unknown-table", None),
    ("/changes?table=notes,plain", 404, "unknown-table", None),
    ("/changes?table=notes&table=nothing", 404, "unknown-table", None),
    ("/changes?table=sqlite_schema", 404, "unknown-table", None),
    ("/changes?table=litefeed_log", 404, "unknown-table", None),
    ("/rows/nothing", 404, "unknown-table", None),
    ("/rows/plain", 404, "unknown-table", None),
    ("/rows/notes?limit=0", 400, "bad-parameter", "limit"),
    ("/rows/notes?after=", 400, "malformed-cursor", "after"),
    ("/rows/notes?after=nonsense", 400, "malformed-cursor", "after"),
    ("/rows/notes?since=0", 400, "unknown-parameter", "since"),
    ("/rows/notes?format=xml", 400, "bad-parameter", "format"),
    ("/rows", 404, "not-found", None),
    ("/rows/", 404, None, None),
    ("/rows/notes/1", 404, "not-found", None),
    ("/events?heartbeat=0", 400, "bad-parameter", "heartbeat"),
    ("/events?heartbeat=61", 400, "bad-parameter", "heartbeat"),
    ("/events?names=yes", 400, "bad-parameter", "names"),
    ("/events?limit=5", 400, "unknown-parameter", "limit"),
    ("/events?wait=5", 400, "unknown-parameter", "wait"),
    ("/events?tables=", 400, "bad-parameter", "tables"),
    ("/events?tables=nothing", 404, "unknown-table", None),
    ("/events?format=ndjson", 400, "bad-parameter", "format"),
    ("/events?since=1&since=2", 400, "repeated-parameter", "since"),
    ("/healthz?x=1", 400, "unknown-parameter", "x"),
    ("/tables?x=1", 400, "unknown-parameter", "x"),
    ("/status?x=1", 400, "unknown-parameter", "x"),
    ("/nothing", 404, "not-found", None),
    ("//changes", 404, "not-found", None),
    ("/changes/", 404, "not-found", None),
    ("/Changes", 404, "not-found", None),
    ("/consumers", 404, "not-found", None),
    ("/metrics", 404, "not-found", None),
    ("/tables/notes/shape?at=1", 404, "not-found", None),
    ("/../etc/passwd", 404, "not-found", None),
    ("/%2e%2e%2f", 404, "not-found", None),
]


@pytest.fixture(scope="module")
def feed(tmp_path_factory):
    from harness.database import Database
    from harness.server import Server
    home = tmp_path_factory.mktemp("wrong")
    db = Database(home / "app.db", "CREATE TABLE notes(id INTEGER PRIMARY KEY, title); CREATE TABLE plain(id INTEGER PRIMARY KEY);"
                  "INSERT INTO notes VALUES(1,'a')")
    one = Server(home, db, "--watch", "notes")
    yield one
    one.stop()


@pytest.mark.parametrize("target, status, problem, parameter", REFUSED, ids=[r[0][:60] for r in REFUSED])
def test_refused(target, status, problem, parameter, feed):
    with feed.connect() as c:
        answer = c.ask(target)
        assert answer.status == status, answer
        name, at_fault = answer.problem()
        assert problem is None or name == problem, answer
        if parameter is not None:
            assert at_fault == parameter, answer
        assert answer.get("cache-control") == "no-store"
        if answer.get("connection", "").lower() != "close":
            assert c.ask("/healthz").status == 200, "the connection goes on"


ESCAPES = [("%", 400), ("%4", 400), ("%GG", 400), ("%4%", 400), ("%00", 404), ("%ff", 404), ("a+b", 404), ("a%2Bb", 404),
           ("a%20b", 404), ("%E4", 404), ("%C3%A4", 404), ("%2e%2e%2f", 404), ("notes%00", 404), ("%6eotes", 200), ("notes", 200)]


@pytest.mark.parametrize("text, status", ESCAPES)
def test_B65_escapes_in_the_query(text, status, feed):
    answer = feed.get("/changes?since=0&tables=" + text)
    assert answer.status == status, answer
    if status == 400:
        assert answer.problem()[0] == "bad-request"


@pytest.mark.parametrize("text, status", ESCAPES)
def test_B65_escapes_in_the_path(text, status, feed):
    assert feed.get("/rows/" + text).status == status


def test_B65_bad_targets(feed):
    assert feed.get("/%NETHOOD%/").status == 400
    assert feed.get("/changes?%zz=1").status == 400
    assert feed.get("/changes?").status == 200
    assert feed.get("/changes?&").status in (200, 400)
    assert feed.get("/changes?since").status == 400
    assert feed.get("/healthz#fragment").status in (400, 404)
    assert feed.get("/changes?tables=notes%26limit%3D0").status == 404, "decoded once, after splitting"


def test_B65_plus_is_a_space_in_the_query_and_itself_in_the_path(database, server):
    db = database('CREATE TABLE "a b"(id INTEGER PRIMARY KEY); CREATE TABLE "a+b"(id INTEGER PRIMARY KEY);'
                  'INSERT INTO "a b" VALUES(1); INSERT INTO "a+b" VALUES(2)')
    feed = server(db, "--watch-all")
    for query, key in [("a+b", 1), ("a%20b", 1), ("a%2Bb", 2)]:
        assert [c["key"]["id"] for c in feed.get("/changes?since=0&table=" + query).json()["changes"]] == [key]
    for path, key in [("a+b", 2), ("a%20b", 1), ("a%2Bb", 2)]:
        assert [r["key"]["id"] for r in feed.get("/rows/" + path).json()["rows"]] == [key]


def test_names_that_begin_with_an_underscore_and_a_cache_buster_are_ignored(feed):
    for target in ["/changes?_=1&_=2", "/changes?_x=%00", "/changes?org.htmx.cache-buster=notes", "/healthz?_=5",
                   "/rows/notes?_=1", "/tables?_=1"]:
        assert feed.get(target).status == 200, target
    assert feed.get("/changes?_=%zz").status == 400


def test_an_absolute_target_is_a_target(feed):
    assert feed.get("http://localhost/healthz").status == 200
    assert feed.get("HTTP://127.0.0.1:1/changes?since=0").json()["changes"]
    assert feed.get("http://evil.example/healthz").status in (200, 403)
