"""The npm package eventsource, as Node programs use it: it hears everything and resumes by its last id."""

import json

import pytest
from harness.lines import Lines
from harness.reading import raise_floor
from harness.tools import spawn_node

CLIENT = """
import('eventsource').then(({EventSource}) => {
    const es = new EventSource(process.argv[1]);
    const say = (kind, m) => console.log(JSON.stringify({kind, id: m.lastEventId, data: m.data && JSON.parse(m.data)}));
    es.onopen = () => console.log(JSON.stringify({kind: 'open'}));
    es.onmessage = m => say('message', m);
    for (const name of ['cursor', 'bye', 'heartbeat']) es.addEventListener(name, m => say(name, m));
});
"""


class Client:
    def __init__(self, url):
        self.lines = Lines(spawn_node(CLIENT, url))
        assert self.next()["kind"] == "open"

    def next(self, within_s=15):
        line = self.lines.next(within_s)
        assert line, self.lines.process.stderr.read()
        return json.loads(line)

    def message(self):
        while (told := self.next())["kind"] != "message":
            pass
        assert told["id"] == told["data"]["cursor"]
        return told["data"]


@pytest.fixture
def client():
    made = []

    def make(url):
        made.append(Client(url))
        return made[-1]

    yield make
    for one in made:
        one.lines.end()


def titles(delta):
    return [c["row"]["title"] for c in delta["changes"]]


def test_it_hears_the_place_and_the_changes(notes, client):
    db, feed = notes
    here = feed.cursor()
    one = client(f"{feed.url}/events")
    assert one.next() == {"kind": "cursor", "id": here, "data": {"head": 1, "cursor": here}}
    db.run("INSERT INTO notes(title) VALUES('a')")
    assert titles(one.message()) == ["a"]


def test_it_resumes_after_a_restart_where_it_was(notes, client):
    db, feed = notes
    one = client(f"{feed.url}/events?since={feed.cursor()}")
    db.run("INSERT INTO notes(title) VALUES('a')")
    assert titles(one.message()) == ["a"]
    feed.kill()
    db.run("INSERT INTO notes(title) VALUES('b')")
    feed.start(f"127.0.0.1:{feed.port}")
    db.run("INSERT INTO notes(title) VALUES('c')")
    heard = titles(one.message())
    while heard[-1] != "c":
        heard += titles(one.message())
    assert heard == ["b", "c"], "though its URL still says an older place"


def test_it_is_told_of_a_gap(notes, client):
    db, feed = notes
    old = feed.cursor()
    for title in "ab":
        db.run(f"INSERT INTO notes(title) VALUES('{title}')")
    floor = feed.cursor()
    db.run("INSERT INTO notes(title) VALUES('c')")
    raise_floor(db, floor)
    one = client(f"{feed.url}/events?since={old}")
    assert one.message()["reset"]["reason"] == "below_floor"
    db.run("INSERT INTO notes(title) VALUES('d')")
    assert titles(one.message()) == ["d"]
