"""A browser's own EventSource, unchanged: it opens, hears, resumes without a gap, and lives with six connections."""

import pytest
from harness.browser import Browser, BrowserError
from harness.waiting import eventually


@pytest.fixture(scope="module")
def browser():
    one = Browser()
    yield one
    one.close()


def titles(heard):
    return [c["row"]["title"] for d in heard["deltas"] for c in d["changes"]]


@pytest.fixture
def tab(browser):
    one = browser.tab()
    yield one
    one.close()


def test_it_opens_before_anything_changes_and_hears_each_change(notes, tab):
    db, feed = notes
    tab.go(f"{feed.url}/healthz").follow("/events")
    eventually(lambda: tab.heard()["opens"] == 1 and tab.heard()["cursors"] == [feed.cursor()])
    for title in "abc":
        db.run(f"INSERT INTO notes(title) VALUES('{title}')")
    eventually(lambda: titles(tab.heard()) == ["a", "b", "c"])
    heard = tab.heard()
    assert heard["last"] == feed.cursor() and heard["errors"] == 0


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_it_resumes_after_a_restart_with_no_gap_and_nothing_twice(how, notes, tab):
    db, feed = notes
    tab.go(f"{feed.url}/healthz").follow("/events?since=" + feed.cursor())
    written = []

    def write(count):
        for _ in range(count):
            written.append(f"note {len(written)}")
            db.run(f"INSERT INTO notes(title) VALUES('{written[-1]}')")

    write(3)
    eventually(lambda: titles(tab.heard()) == written)
    feed.stop() if how == "stopped" else feed.kill()
    write(3)
    feed.start(f"127.0.0.1:{feed.port}")
    write(3)
    eventually(lambda: titles(tab.heard()) == written, within_s=20, pause_s=0.1)
    write(1)
    eventually(lambda: titles(tab.heard()) == written)
    heard = tab.heard()
    assert heard["opens"] == 2 and heard["byes"] == (how == "stopped") and heard["state"] == 1


def test_a_page_that_opens_with_everything_holds_the_table(notes, tab):
    db, feed = notes
    db.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<900) INSERT INTO notes(title) SELECT i FROM n")
    tab.go(f"{feed.url}/healthz").follow("/events?since=0")
    eventually(lambda: len(titles(tab.heard())) == 900)
    db.run("DELETE FROM notes WHERE id>10")
    eventually(lambda: [c["op"] for c in tab.heard()["deltas"][-1]["changes"]] == ["delete"] * 890)


def test_B17_six_tabs_use_up_a_browsers_connections_and_one_stream_serves_seven(browser, notes):
    db, feed = notes
    tabs = [browser.tab().go(f"{feed.url}/healthz") for _ in range(6)]
    try:
        for t in tabs:
            t.follow("/events")
        for t in tabs:
            eventually(lambda t=t: t.heard()["opens"] == 1)
        db.run("INSERT INTO notes(title) VALUES('to all six')")
        for t in tabs:
            eventually(lambda t=t: titles(t.heard()) == ["to all six"])
        seventh = browser.tab()
        with pytest.raises(BrowserError, match="[Tt]imeout"):
            seventh.go(f"{feed.url}/healthz", within_ms=1500)  # the browser's limit, which no server can lift
        seventh.close()  # its navigation still waits, and would cut into the next
        for t in tabs[1:6]:
            t.run("feed.source.close(), 1")
        tabs.append(browser.tab().go(f"{feed.url}/healthz"))
        for t in tabs[1:]:
            t.run("(() => { window.got = []; window.channel = new BroadcastChannel('feed'); channel.onmessage = m => got.push(m.data); })()")
        tabs[0].run("(() => { const channel = new BroadcastChannel('feed');"
                    "feed.source.addEventListener('message', m => channel.postMessage(m.data)); })()")
        db.run("INSERT INTO notes(title) VALUES('by one stream')")
        for t in tabs[1:]:
            eventually(lambda t=t: "by one stream" in "".join(t.run("got")))
    finally:
        for t in tabs:
            t.close()


def test_pages_of_a_named_origin_may_follow(database, server, tab):
    db = database()
    other = server(database(name="other.db"), "--watch", "notes")
    feed = server(db, "--watch", "notes", "--cors-origin", f"http://127.0.0.1:{other.port}")
    tab.go(f"{other.url}/healthz")
    tab.run(f"fetch('{feed.url}/changes').then(r => window.cursor = r.headers.get('Litefeed-Cursor'))")
    assert tab.run("cursor") == feed.cursor()
    tab.follow(f"{feed.url}/events")
    eventually(lambda: tab.heard()["opens"] == 1)
    db.run("INSERT INTO notes(title) VALUES('a')")
    eventually(lambda: titles(tab.heard()) == ["a"])


def test_the_page_at_the_root_shows_changes_as_they_come(notes, tab):
    db, feed = notes
    tab.go(f"{feed.url}/")
    eventually(lambda: sum(loop["subscribers"] for loop in feed.get("/status").json()["loops"]) == 1)
    db.run("INSERT INTO notes(title) VALUES('seen on the page <b>&amp;')")
    eventually(lambda: "seen on the page <b>&amp;" in tab.run("document.body.innerText"))
