"""Who may ask: a token in Authorization or in the cookie, taken from a file that changes while the server runs."""

import os
import time

import pytest
from harness.browser import Browser
from harness.http_wire import Connection, query, request_bytes
from harness.tools import litefeed
from harness.waiting import eventually

READ, ADMIN, THIRD = "read-0123456789abcdef", "admin.ABCDEFGHIJKLMNOP+/==", "third~fedcba9876543210"
ORIGIN = "https://app.example"
PATHS = ["/", "/page.js", "/icon.svg", "/changes", "/changes?since=0", "/changes?sinse=0", "/changes?since=0&table=nothing",
         "/rows/notes", "/rows/nothing", "/events", "/events?table=nothing", "/tables", "/status", "/readyz", "/nothing", "/%zz",
         "/consumers/x", "/healthz/", "/?x=1", "*"]
ROTATION_S = 3


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class Tokens:
    """A token file as its owner writes it."""

    def __init__(self, path):
        self.path = path

    def write(self, *lines, mode=0o600):
        self.path.write_text("".join(f"{line}\n" for line in lines))
        self.path.chmod(mode)
        return self

    def replace(self, *lines):
        """Another file in its place at once, as careful programs do it."""
        other = Tokens(self.path.with_suffix(".new")).write(*lines)
        os.replace(other.path, self.path)


@pytest.fixture
def tokens(tmp_path):
    return Tokens(tmp_path / "tokens").write("# ours", f"read {READ}", "", f"admin {ADMIN}  # the lead")


@pytest.fixture
def feed(database, server, tokens):
    db = database()
    db.run("INSERT INTO notes(title) VALUES('a')")
    return server(db, "--watch", "notes", "--token-file", tokens.path, "--cors-origin", ORIGIN)


def refused(answer, given):
    """401 that tells how to ask, and nothing else. The same text for everything."""
    assert answer.status == 401, answer
    assert answer.problem() == ("invalid-token" if given else "token-required", None)
    assert answer.get("www-authenticate") == ('Bearer error="invalid_token"' if given else "Bearer")
    assert answer.get("cache-control") == "no-store" and answer.get("set-cookie") is None
    return answer.body


def test_without_a_token_everything_but_healthz_is_the_same_401(feed):
    told = {refused(feed.get(path), given=False) for path in PATHS}
    told |= {refused(feed.get(path, method=method), given=False)
             for path in ["/changes", "/nothing", "/"] for method in ["PUT", "DELETE", "POST"]}
    assert len(told) == 1, "nothing about a table or a path is told"
    head = feed.get("/rows/nothing", method="HEAD")
    assert head.status == 401 and head.get("www-authenticate") == "Bearer" and head.body == b""
    for method in ["GET", "HEAD", "OPTIONS"]:
        assert feed.get("/healthz", method=method).status == 200


def test_a_wrong_token_is_the_same_401(feed):
    told = set()
    for wrong in [READ[:-1], READ + "0", READ[:-1] + "X", READ.upper(), "x", "", "a b", "read " + READ]:
        told |= {refused(feed.get(path, headers=bearer(wrong)), given=True) for path in ["/changes?since=0", "/rows/nothing", "/nothing"]}
        told.add(refused(feed.get("/tables", headers={"Cookie": f"litefeed_token={wrong}"}), given=True))
    assert len(told) == 1


@pytest.mark.parametrize("token", [READ, ADMIN])
def test_either_role_may_read_by_either_way(token, feed):
    for headers in [bearer(token), {"Authorization": f"bEaReR  {token}"}, {"authorization": f"BEARER {token}"},
                    {"Cookie": f"litefeed_token={token}"}, {"Cookie": f'a=b; litefeed_token="{token}"; c=d'},
                    {"Cookie": "litefeed_token=" + token.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")},
                    {"Authorization": "Basic YTpi", "Cookie": f"litefeed_token={token}"},
                    {"Authorization": f"Bearer {token}", "Cookie": "litefeed_token=wrong"}]:
        for path in ["/", "/changes?since=0", "/rows/notes", "/tables", "/status", "/readyz", "/page.js"]:
            assert feed.get(path, headers=headers).status == 200, (headers, path)
        with feed.events(headers=headers) as stream:
            assert stream.status == 200 and stream.start()
    assert feed.get("/rows/nothing", headers=bearer(token)).problem()[0] == "unknown-table"
    assert feed.get("/changes", headers=bearer(token), method="PUT").status == 405
    assert feed.get("/consumers/x", headers=bearer(token), method="PUT").status == 404


def test_other_schemes_and_other_cookies_are_no_token(feed):
    for headers in [{"Authorization": "Basic YTpi"}, {"Authorization": READ}, {"Authorization": f"Token {READ}"}, {"X-Token": READ},
                    {"Cookie": f"token={READ}"}, {"Cookie": f"Litefeed_Token={READ}"}, {"Cookie": f"x=litefeed_token={READ}"}]:
        refused(feed.get("/changes", headers=headers), given=False)


def test_two_authorizations_are_400_and_end_the_connection(feed):
    for second in [READ, "x"]:
        with feed.connect() as c:
            c.send(f"GET /changes HTTP/1.1\r\nHost: x.localhost\r\nAuthorization: Bearer {READ}\r\n"
                   f"Authorization: Bearer {second}\r\n\r\n".encode())
            answer = c.read_answer()
            assert answer.status == 400 and answer.problem()[0] == "bad-request" and c.ended(2)


def test_the_connection_goes_on_after_401_and_each_request_is_asked(feed):
    with feed.connect() as c:
        for _ in range(3):
            refused(c.ask("/changes"), given=False)
            assert c.ask("/changes", headers=bearer(READ)).status == 200


def test_a_foreign_host_is_refused_before_its_token_is_looked_at(feed):
    for headers in [{}, bearer(READ), bearer("wrong")]:
        assert feed.get("/changes", headers=headers, host="evil.example").problem()[0] == "host-not-allowed"


def test_one_visit_makes_the_cookie_and_no_other_url_takes_a_token(feed):
    answer = feed.get("/" + query(token=ADMIN))
    assert answer.status == 303 and answer.get("location") == "/" and answer.get("cache-control") == "no-store"
    assert answer.get("set-cookie") == f"litefeed_token={ADMIN}; Path=/; HttpOnly; SameSite=Strict"
    assert answer.get("content-length") == "0"
    assert feed.get("/", headers={"Cookie": answer.get("set-cookie").split(";")[0]}).status == 200
    secure = feed.get("/" + query(token=ADMIN), headers={"X-Forwarded-Proto": "https"})
    assert secure.get("set-cookie").endswith("SameSite=Strict; Secure")
    for path in ["/changes", "/events", "/tables", "/rows/notes", "/page.js", "/nothing"]:
        refused(feed.get(path + query(token=READ)), given=False)
        assert feed.get(path + query(token=READ), headers=bearer(READ)).status in (400, 404), path
    for wrong in ["", "wrong", READ[:-1]]:
        refused(feed.get("/" + query(token=wrong)), given=True)
    refused(feed.get("/" + query(token=READ), method="POST"), given=False)


def test_without_a_token_file_no_token_is_needed_and_none_is_taken_from_a_url(notes):
    _, feed = notes
    assert feed.get("/changes", headers=bearer("whatever")).status == 200
    answer = feed.get("/" + query(token=READ))
    assert answer.problem() == ("unknown-parameter", "token") and READ.encode() not in answer.body


def test_B15_preflights_need_no_token_and_401_can_be_read_by_a_named_origin(feed):
    asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
    for path in ["/changes", "/rows/notes", "/events"]:
        answer = feed.get(path, method="OPTIONS", headers=asked)
        assert answer.status == 200 and answer.get("access-control-allow-headers") == "authorization"
        assert answer.get("access-control-allow-origin") == ORIGIN
        for given in [{}, bearer("wrong")]:
            answer = feed.get(path, headers={"Origin": ORIGIN, **given})
            refused(answer, bool(given))
            assert answer.get("access-control-allow-origin") == ORIGIN and answer.get("access-control-allow-credentials") == "true"
        answer = feed.get(path, headers={"Origin": "https://evil.example"})
        refused(answer, given=False)
        assert answer.get("access-control-allow-origin") is None


# Rotation

def test_a_token_that_is_taken_away_ends_its_streams_and_waits_and_no_other(feed, tokens):
    db = feed.database
    with feed.events(headers=bearer(READ)) as gone, feed.events(headers={"Cookie": f"litefeed_token={ADMIN}"}) as stays, \
            feed.connect() as waits:
        gone.start(), stays.start()
        waits.send(request_bytes("/changes?wait=30", headers=bearer(READ)))
        began = time.monotonic()
        tokens.replace(f"read {THIRD}", f"admin {ADMIN}")
        bye = gone.next_of("bye", within_s=ROTATION_S)
        assert bye.json() == {"reason": "token_revoked"} and gone.next() is None and gone.ended == "whole"
        refused(waits.read_answer(deadline=began + ROTATION_S), given=True)
        refused(feed.get("/changes", headers=bearer(READ)), given=True)
        refused(feed.get("/events", headers={**bearer(READ), "Last-Event-ID": gone.last_id}), given=True)
        assert feed.get("/changes", headers=bearer(THIRD)).status == 200
        db.run("INSERT INTO notes(title) VALUES('b')")
        assert [c["row"]["title"] for c in stays.delta()["changes"]] == ["b"]
    assert "1 taken away" in feed.log()


def test_a_reader_who_takes_nothing_hears_no_more_than_was_on_its_way(feed, tokens):
    db = feed.database
    with Connection(feed.port) as stuck:
        stuck.send(request_bytes("/events?since=0", headers=bearer(READ)))
        stuck.read_head()
        with db.connect() as c:
            for _ in range(30):
                c.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1000)"
                          "INSERT INTO notes(title) SELECT hex(zeroblob(500)) FROM n")
        time.sleep(0.5)
        tokens.replace(f"admin {ADMIN}")
        eventually(lambda: "1 taken away" in feed.log())
        db.run("INSERT INTO notes(title) VALUES('after that')")
        time.sleep(0.3)
        while stuck.reader.more():
            pass
        assert b"after that" not in stuck.reader.have and b"event: bye" in stuck.reader.have


def test_a_new_role_for_a_token_ends_nothing(feed, tokens):
    with feed.events(headers=bearer(READ)) as stream:
        stream.start()
        tokens.replace(f"admin {READ}", f"read {THIRD}")
        eventually(lambda: feed.get("/changes", headers=bearer(THIRD)).status == 200)
        feed.database.run("INSERT INTO notes(title) VALUES('b')")
        assert stream.delta()["changes"]


@pytest.mark.parametrize("loops", [1, 3])
def test_every_loop_hears_of_it(loops, database, server, tokens):
    feed = server(database(), "--watch", "notes", "--token-file", tokens.path, "--threads", loops)
    streams = [feed.events(headers=bearer(READ)) for _ in range(8 * loops)]
    for s in streams:
        s.start()
    tokens.write(f"admin {ADMIN}")
    for s in streams:
        s.next_of("bye", within_s=ROTATION_S)
        s.close()
    for _ in range(8 * loops):
        refused(feed.get("/changes", headers=bearer(READ)), given=True)
    assert feed.log().count("was read again") == 1


def test_a_broken_file_keeps_the_tokens_and_is_told_once(feed, tokens):
    whole = tokens.path.read_text()
    for break_it, told in [(lambda: tokens.write(f"read {THIRD}", "read tooshort"), "line 2"),
                           (tokens.path.unlink, "No such file")]:
        break_it()
        eventually(lambda: told in feed.log())
        time.sleep(2.2)
        assert feed.get("/changes", headers=bearer(READ)).status == 200
        refused(feed.get("/changes", headers=bearer(THIRD)), given=True)
        assert feed.log().count(told) == 1
    tokens.path.write_text(whole + f"read {THIRD}\n")
    tokens.path.chmod(0o600)
    eventually(lambda: feed.get("/changes", headers=bearer(THIRD)).status == 200)


def test_a_file_that_stays_empty_lets_nobody_in(feed, tokens):
    whole = tokens.path.read_text()
    with feed.events(headers=bearer(READ)) as stream:
        stream.start()
        tokens.write()
        assert stream.next_of("bye", within_s=2 * ROTATION_S).json() == {"reason": "token_revoked"}
    refused(feed.get("/changes", headers=bearer(READ)), given=True)
    assert "nobody is let in" in feed.log()
    tokens.path.write_text(whole)
    eventually(lambda: feed.get("/changes", headers=bearer(READ)).status == 200)


# Starting

@pytest.mark.parametrize("text, told", [
    (None, "No such file"), ("", "no token"), ("# nothing\n\n", "no token"), ("read tooshort\n", "line 1"),
    (f"read {READ}\n\nSECRETSECRETSECRET\n", "line 3"), (f"read {READ}\nwrite SECRETSECRETSECRET\n", "line 2"),
    (f"read {READ}\nread SECRETSECRETSECRET!\n", "line 2"), (f"read {READ}\nadmin {READ}\n", "line 2"),
], ids=range(8))
def test_a_file_that_is_wrong_is_told_by_line_and_without_its_tokens(text, told, database, tmp_path):
    path = tmp_path / "tokens"
    if text is not None:
        path.write_text(text)
    db = database()
    before = db.dump()
    done = litefeed("serve", db.path, "--watch", "notes", "--token-file", path, "--listen", "127.0.0.1:0", check=False, within_s=10)
    assert done.returncode == 1 and told in done.stderr and str(path) in done.stderr
    assert READ not in done.stderr and "SECRET" not in done.stderr and "tooshort" not in done.stderr
    assert db.dump() == before, "nothing was written"


def test_a_file_that_others_can_read_is_warned_of(database, server, tokens):
    for mode, warned in [(0o600, False), (0o400, False), (0o640, True), (0o644, True), (0o602, True)]:
        tokens.path.chmod(mode)
        feed = server(database(name=f"{mode}.db"), "--watch", "notes", "--token-file", tokens.path)
        assert ("open to other users" in feed.log()) == warned, oct(mode)


def test_the_environment_and_the_configuration_name_it_too(database, server, tokens, tmp_path):
    by_environment = server(database(), "--watch", "notes", environment={"LITEFEED_TOKEN_FILE": str(tokens.path)})
    config = tmp_path / "litefeed.toml"
    config.write_text(f'[serve]\ntoken-file = "{tokens.path}"\n')
    by_file = server(database(name="b.db"), "--watch", "notes", "--config", config)
    for feed in [by_environment, by_file]:
        refused(feed.get("/changes"), given=False)
        assert feed.get("/changes", headers=bearer(READ)).status == 200


def test_beyond_loopback_it_listens_with_tokens_or_when_told_to(database, server, tokens):
    db = database()
    done = litefeed("serve", db.path, "--listen", "0.0.0.0:0", check=False, within_s=10)
    assert done.returncode == 1 and "--token-file" in done.stderr and "--insecure" in done.stderr
    feed = server(db, "--watch", "notes", "--token-file", tokens.path, listen="0.0.0.0:0")
    refused(feed.get("/changes"), given=False)
    assert feed.get("/changes", headers=bearer(READ)).status == 200
    feed = server(database(name="b.db"), "--watch", "notes", "--insecure", listen="0.0.0.0:0")
    assert feed.get("/changes").status == 200


def test_no_token_is_ever_logged_or_shown(feed, tokens):
    for path in PATHS:
        for headers in [bearer(READ), bearer(ADMIN), bearer(READ + "x"), {"Cookie": f"litefeed_token={READ}"}]:
            if path == "/events":
                feed.events(headers=headers).close()
                continue
            with feed.connect() as c:
                answer = c.ask(path, headers={**headers, "Connection": "close"})
            shown = answer.body.decode("utf-8", "replace") + str(answer.fields)
            assert READ not in shown and ADMIN not in shown, path
    for path in ["/", "/changes", "/nothing", "/%zz"]:
        for token in [READ, READ + "x"]:
            feed.get(path + query(token=token))
            feed.get(path + query(token=token), headers=bearer(READ))
    for sent in [f"GET /?token={READ} HTTP/1.1\r\nBad Name: x\r\n\r\n", f"GET /?token={READ} HTTP/9.9\r\n\r\n",
                 f"BREW / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {READ}\x01\r\n\r\n"]:
        with feed.connect() as c:
            c.send(sent.encode())
            assert READ.encode() not in c.read_answer().body
    tokens.write(f"read {READ}", f"read {THIRD}", f"wrong {READ}")
    eventually(lambda: "line 3" in feed.log())
    tokens.write(f"read {THIRD}")
    eventually(lambda: "taken away" in feed.log())
    for secret in [READ, ADMIN, THIRD]:
        assert secret not in feed.log()


# A browser

@pytest.fixture(scope="module")
def browser():
    one = Browser()
    yield one
    one.close()


@pytest.fixture
def tab(browser):
    one = browser.tab()
    yield one
    one.close()


def test_a_browser_visits_once_and_its_page_fetches_and_streams_just_work(feed, tab, tokens):
    db = feed.database
    tab.go(feed.url + "/")
    assert "token-required" in tab.run("document.body.innerText")
    tab.go(feed.url + "/" + query(token=READ))
    assert tab.run("location.href") == feed.url + "/" and tab.run("document.cookie") == ""
    eventually(lambda: tab.run("document.getElementById('state').textContent") == "live")
    db.run("INSERT INTO notes(title) VALUES('seen with a cookie')")
    eventually(lambda: "seen with a cookie" in tab.run("document.body.innerText"))
    assert tab.run("fetch('/tables').then(r => r.status)") == 200
    tab.follow("/events?since=0")
    eventually(lambda: tab.heard()["deltas"])
    # Rotated: the streams end, a retry meets 401, and no browser asks again after that.
    tokens.replace(f"read {THIRD}")
    eventually(lambda: tab.heard()["byes"] == 1)
    eventually(lambda: tab.run("document.getElementById('state').textContent") == "refused: the token was taken away")
    eventually(lambda: tab.heard()["state"] == 2, within_s=20)
    tab.go(feed.url + "/" + query(token=THIRD))
    eventually(lambda: tab.run("document.getElementById('state').textContent") == "live")


def test_a_link_on_another_site_works_too(feed, database, server, tab):
    other = server(database(name="other.db"), "--watch", "notes")
    tab.go(f"http://localhost:{other.port}/healthz")
    target = f"{feed.url}/" + query(token=READ)  # 127.0.0.1 and localhost are two sites
    tab.run(f"setTimeout(() => {{ location.href = '{target}' }}, 300), 1")
    time.sleep(1.5)
    eventually(lambda: tab.run("document.getElementById('state')?.textContent") == "live")
    assert tab.run("location.href") == feed.url + "/"


def test_the_demo_needs_no_token(tmp_path):
    from harness.tools import free_port, spawn
    from harness.server import binary
    from harness.http_wire import get
    port = free_port()
    demo = spawn(binary(), "demo", "--listen", f"127.0.0.1:{port}", env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        def answers():
            try:
                return get(port, "/changes?since=0").status == 200
            except OSError:
                return False
        eventually(answers, within_s=10)
    finally:
        demo.terminate()
        demo.communicate(timeout=10)
