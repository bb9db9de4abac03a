"""Pages of other origins read the answers only when their origin is named, and then with credentials."""

import pytest

ORIGIN = "https://app.example"


@pytest.fixture
def feed(database, server):
    return server(database(), "--watch", "notes", "--cors-origin", ORIGIN, "--cors-origin", "http://localhost:3000")


def test_B15_a_preflight_is_told_what_it_asked_for(feed):
    asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "GET",
             "Access-Control-Request-Headers": "last-event-id,cache-control,authorization,hx-request"}
    answer = feed.get("/changes", method="OPTIONS", headers=asked)
    assert answer.status == 200
    assert answer.get("access-control-allow-origin") == ORIGIN
    assert answer.get("access-control-allow-credentials") == "true"
    allowed = {h.strip().lower() for h in answer.get("access-control-allow-headers").split(",")}
    assert allowed == {"last-event-id", "cache-control", "authorization", "hx-request"}
    assert "GET" in answer.get("access-control-allow-methods")
    assert answer.get("access-control-max-age") == "600"
    assert "Origin" in answer.get("vary")


@pytest.mark.parametrize("target", ["/changes", "/rows/notes", "/changes?since=x", "/nothing", "/tables", "/healthz"])
def test_B15_a_named_origin_reads_answers_and_errors(target, feed):
    answer = feed.get(target, headers={"Origin": ORIGIN, "Cookie": "s=1"})
    assert answer.get("access-control-allow-origin") == ORIGIN
    assert answer.get("access-control-allow-credentials") == "true"
    assert "Origin" in answer.get("vary")
    exposed = {h.strip().lower() for h in answer.get("access-control-expose-headers").split(",")}
    assert exposed >= {"litefeed-head", "litefeed-cursor", "litefeed-more", "litefeed-next", "litefeed-reset", "etag",
                       "last-event-id", "retry-after"}


def test_B15_streams_and_304_too(feed):
    with feed.events(headers={"Origin": ORIGIN}) as stream:
        assert stream.head.get("access-control-allow-origin") == ORIGIN
        assert "Origin" in stream.head.get("vary")
    etag = feed.get_rows("notes").get("etag")
    answer = feed.get_rows("notes", headers={"Origin": ORIGIN, "If-None-Match": etag})
    assert answer.status == 304 and answer.get("access-control-allow-origin") == ORIGIN


@pytest.mark.parametrize("origin", ["https://evil.example", "https://app.example.evil", "http://app.example", "null", "*"])
def test_B15_other_origins_get_nothing(origin, feed):
    for target in ["/changes", "/changes?since=x"]:
        answer = feed.get(target, headers={"Origin": origin})
        assert not [name for name, _ in answer.fields if name.lower().startswith("access-control-")]
    with feed.events(headers={"Origin": origin}) as stream:
        assert stream.head.get("access-control-allow-origin") is None


def test_without_the_option_nobody_is_allowed(notes):
    _, feed = notes
    answer = feed.get("/changes", headers={"Origin": ORIGIN})
    assert answer.get("access-control-allow-origin") is None
