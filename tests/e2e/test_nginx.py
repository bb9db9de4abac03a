"""Behind nginx: with the distribution's default site and a bare proxy_pass, and with docker/nginx.conf."""

import pathlib
import re
import signal
import time

import pytest
from harness.http_wire import get
from harness.sse import Stream
from harness.tools import ROOT, free_port, run, spawn, tool
from harness.waiting import eventually

ETC = pathlib.Path("/etc/nginx")


class Nginx:
    """One nginx of the test's own, in a directory of its own."""

    def __init__(self, home, config):
        self.home = home
        self.config = home / "nginx.conf"
        self.config.write_text(config)
        self.process = spawn(tool("nginx"), "-p", home, "-c", self.config, "-e", home / "error.log", "-g", "daemon off;")

    def wait_for(self, port):
        def answers():
            assert self.process.poll() is None, self.process.stderr.read() + (self.home / "error.log").read_text()
            try:
                return get(port, "/healthz")
            except OSError:
                return None

        eventually(answers)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=10)
        finally:
            self.process.kill()


def distribution(home, site):
    """The distribution's nginx.conf, its paths led into `home`, with one site."""
    (home / "conf.d").mkdir()
    (home / "sites-enabled").mkdir()
    (home / "sites-enabled" / "default").write_text(site)
    text = (ETC / "nginx.conf").read_text()
    text = re.sub(r"(?m)^user .*;", "user root;", text)
    text = re.sub(r"(?m)^pid .*;", f"pid {home}/nginx.pid;", text)
    text = re.sub(r"(?m)^worker_processes .*;", "worker_processes 1;", text)
    text = text.replace("/var/log/nginx", str(home)).replace("/etc/nginx/conf.d", f"{home}/conf.d")
    text = text.replace("/etc/nginx/sites-enabled", f"{home}/sites-enabled")
    # Modules that happen to be installed are loaded from beside nginx's own prefix, and none is needed.
    return text.replace("include /etc/nginx/modules-enabled/*.conf;", "")


def bare(home, feed, port, extra=""):
    """The default site with its location answered by a bare proxy_pass."""
    site = (ETC / "sites-available" / "default").read_text()
    site = re.sub(r"(?m)^\s*listen \[::\]:80 default_server;\n", "", site)
    site = site.replace("listen 80 default_server;", f"listen 127.0.0.1:{port} default_server;")
    site, count = re.subn(r"(?ms)^\tlocation / \{.*?^\t\}", f"\tlocation / {{\n\t\tproxy_pass {feed.url};\n\t\t{extra}\n\t}}", site, count=1)
    assert count == 1
    return distribution(home, site)


def ours(home, feed, port, more=""):
    """docker/nginx.conf as it is, but for the two addresses."""
    text = (ROOT / "docker" / "nginx.conf").read_text()
    changed = text.replace("server 127.0.0.1:7070;", f"server 127.0.0.1:{feed.port};").replace("listen 80;", f"listen 127.0.0.1:{port};{more}")
    assert changed.count(str(port)) >= 1 and changed.count(str(feed.port)) >= 1
    return distribution(home, changed)


@pytest.fixture
def nginx(tmp_path):
    started = []

    def start(make, feed, *more):
        home = tmp_path / f"nginx-{len(started)}"
        home.mkdir()
        port = free_port()
        one = Nginx(home, make(home, feed, port, *more))
        started.append(one)
        one.wait_for(port)
        return port

    yield start
    for one in started:
        one.stop()


def titles(delta):
    return [c["row"]["title"] for c in delta["changes"]]


@pytest.mark.parametrize("make", [bare, ours])
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_B10_events_come_at_once(make, coding, notes, nginx):
    db, feed = notes
    port = nginx(make, feed)
    with Stream(port, f"/events?since={feed.cursor()}", {"Accept-Encoding": coding}) as stream:
        assert stream.status == 200 and stream.head.get("content-encoding") is None
        assert stream.head.get("last-event-id") == feed.cursor()
        stream.start()
        for i in range(5):
            began = time.monotonic()
            db.run(f"INSERT INTO notes(title) VALUES('{i}')")
            assert titles(stream.delta(2)) == [str(i)]
            assert time.monotonic() - began < 1
            time.sleep(0.1)


@pytest.mark.parametrize("make", [bare, ours])
def test_answers_and_long_polls_pass(make, notes, nginx):
    db, feed = notes
    port = nginx(make, feed)
    db.run("INSERT INTO notes(title) VALUES('a')")
    answer = get(port, "/changes?since=0")
    assert answer.status == 200 and answer.json() == feed.changes(since=0)
    assert answer.get("litefeed-cursor") == feed.cursor() and answer.get("cache-control") == "no-store"
    rows = get(port, "/rows/notes")
    assert get(port, "/rows/notes", headers={"If-None-Match": rows.get("etag")}).status == 304
    assert get(port, "/changes?since=x").problem() == ("malformed-cursor", "since")
    assert get(port, "/changes?wait=1").status == 200
    assert get(port, "/changes?since=0", version="1.0").json()["changes"]


def test_B11_an_idle_cut_is_resumed_with_no_gap(notes, nginx):
    db, feed = notes
    port = nginx(bare, feed, "proxy_read_timeout 1s;")
    place, seen = feed.cursor(), []
    for i in range(3):
        with Stream(port, "/events", {"Last-Event-ID": place}) as stream:
            stream.start()
            db.run(f"INSERT INTO notes(title) VALUES('{i}')")
            while not seen or seen[-1] != str(i):
                seen += titles(stream.delta())
            stream.read_to_end(4)
            assert stream.ended, "nginx cuts it after a second of silence"
            place = stream.last_id
        db.run(f"INSERT INTO notes(title) VALUES('{i} while away')")
    assert seen == ["0", "0 while away", "1", "1 while away", "2"]


@pytest.mark.timeout(60)
def test_B11_comments_keep_a_quiet_stream_over_a_short_timeout(notes, nginx):
    db, feed = notes
    port = nginx(bare, feed, "proxy_read_timeout 16s;")
    with Stream(port, "/events") as stream:
        stream.start()
        assert stream.quiet(20) and stream.ended is None
        db.run("INSERT INTO notes(title) VALUES('late')")
        assert titles(stream.delta()) == ["late"], "on the same connection"


def test_while_the_server_is_down_a_browser_is_told_to_come_back(notes, nginx):
    db, feed = notes
    port = nginx(ours, feed)
    place = feed.cursor()
    feed.stop()
    answer = get(port, "/events", headers={"Last-Event-ID": place})
    assert answer.status == 200 and answer.get("content-type") == "text/event-stream"
    assert answer.body == b"retry: 3000\n\n"
    assert get(port, "/changes").status == 502
    db.run("INSERT INTO notes(title) VALUES('meanwhile')")
    feed.start(f"127.0.0.1:{feed.port}")
    with Stream(port, "/events", {"Last-Event-ID": place}) as stream:
        stream.start()
        assert titles(stream.delta()) == ["meanwhile"]


def test_a_client_that_leaves_nginx_leaves_litefeed(notes, nginx):
    _, feed = notes
    port = nginx(ours, feed)
    streams = [Stream(port, "/events") for _ in range(5)]
    for s in streams:
        s.start()

    def subscribers():
        return sum(loop["subscribers"] for loop in feed.get("/status").json()["loops"])

    assert subscribers() == 5
    for s in streams:
        s.close()
    eventually(lambda: subscribers() == 0)


def test_B17_seven_tabs_over_http_2(notes, nginx, tmp_path):
    from harness.browser import Browser
    db, feed = notes
    run(tool("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
        "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem")
    secure = free_port()
    nginx(ours, feed, f" listen 127.0.0.1:{secure} ssl http2; ssl_certificate {tmp_path}/cert.pem; ssl_certificate_key {tmp_path}/key.pem;")
    browser = Browser()
    try:
        tabs = []
        for _ in range(7):
            tab = browser.tab().go(f"https://localhost:{secure}/healthz")
            tab.follow("/events")
            tabs.append(tab)
        for tab in tabs:
            eventually(lambda tab=tab: tab.heard()["opens"] == 1)
        db.run("INSERT INTO notes(title) VALUES('to all seven')")
        for tab in tabs:
            eventually(lambda tab=tab: [titles(d) for d in tab.heard()["deltas"]] == [["to all seven"]])
    finally:
        browser.close()
