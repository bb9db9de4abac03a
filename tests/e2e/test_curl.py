"""curl and a shell are enough: to ask once, to follow, and to keep a place from run to run."""

import json
import os
import signal

import pytest
from harness.lines import Lines
from harness.sse import Parser
from harness.tools import run, spawn
from harness.waiting import eventually


def follow(*arguments):
    return spawn("curl", "-sN", *arguments)


def hear(lines, parser, count, within_s=5):
    events = []
    while len(events) < count:
        line = lines.next(within_s)
        assert line, "the stream ended"
        events += [e for e in parser.feed(line.encode()) if e.type == "message"]
    return events


@pytest.mark.parametrize("version", ["--http1.1", "-0"])
def test_it_asks_once(version, notes):
    db, feed = notes
    db.run("INSERT INTO notes(title) VALUES('a')")
    out = run("curl", "-sS", "--fail", version, f"{feed.url}/changes?since=0&limit=100000").stdout
    assert json.loads(out)["changes"][0]["row"]["title"] == "a"
    headers = run("curl", "-sS", "-I", version, f"{feed.url}/changes").stdout
    assert headers.startswith("HTTP/1.1 200") and f"Litefeed-Cursor: {feed.cursor()}" in headers.replace("\r", "")


@pytest.mark.parametrize("arguments", [[], ["-0"], ["--compressed"], ["-H", "Accept: text/html"]])
def test_it_follows(arguments, notes):
    db, feed = notes
    lines, parser = Lines(follow(*arguments, f"{feed.url}/events?since={feed.cursor()}")), Parser()
    try:
        for title in ["a", "b"]:
            db.run(f"INSERT INTO notes(title) VALUES('{title}')")
            event, = hear(lines, parser, 1)
            assert event.json()["changes"][0]["row"]["title"] == title
    finally:
        lines.end()


def test_it_ends_well_when_the_server_stops(notes):
    _, feed = notes
    processes = [follow(f"{feed.url}/events"), follow("-0", f"{feed.url}/events")]
    for p in processes:
        assert p.stdout.readline() == ": litefeed 1\n"
    feed.stop(signal.SIGTERM)
    for p in processes:
        out, _ = p.communicate(timeout=5)
        assert p.returncode == 0 and "event: bye" in out


LOOP = r"""
cursor=0
while :; do
    curl -sS --fail -D headers "$URL/changes?since=$cursor&wait=20&format=ndjson&limit=7" | sed '$d'
    cursor=$(tr -d '\r' <headers | sed -n 's/^Litefeed-Cursor: //Ip')
    echo "$cursor" >place
done
"""


def test_a_shell_loop_keeps_its_place_by_the_header(notes, tmp_path):
    db, feed = notes
    db.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20) INSERT INTO notes(title) SELECT 'old' FROM n")
    with open(tmp_path / "out", "w", encoding="utf-8") as out:
        loop = spawn("bash", "-c", LOOP, env={"URL": feed.url, "PATH": "/usr/bin:/bin"}, cwd=tmp_path, stdout=out, start_new_session=True)
        try:
            def lines():
                return [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]

            eventually(lambda: len(lines()) == 20)
            for i in range(15):
                db.run(f"INSERT INTO notes(title) VALUES('new {i}')")
            eventually(lambda: len(lines()) == 35)
            db.run("DELETE FROM notes WHERE title='old'")
            eventually(lambda: len(lines()) == 55)
            assert [x["op"] for x in lines()] == ["read"] * 20 + ["insert"] * 15 + ["delete"] * 20
            eventually(lambda: (tmp_path / "place").read_text().strip() == feed.cursor())
        finally:
            os.killpg(loop.pid, signal.SIGKILL)
            loop.communicate()


def test_B08_headers_come_at_once(notes):
    _, feed = notes
    out = run("curl", "-sN", "--max-time", "1", "-o", "/dev/null", "-w", "%{http_code} %{time_starttransfer}", f"{feed.url}/events",
              check=False).stdout
    code, seconds = out.split()
    assert code == "200" and float(seconds) < 0.1


def test_B05_an_empty_header(notes):
    _, feed = notes
    out = run("curl", "-siN", "--max-time", "1", "-H", "Last-Event-ID;", f"{feed.url}/events", check=False).stdout
    assert out.startswith("HTTP/1.1 200") and "reset" not in out and "event: cursor" in out
