"""Three ways to read the feed. Each keeps a replica, believes only what it is told, and checks what WIRE promises."""

import random
import re
import select
import subprocess
import time

from harness import http_wire, strict_json
from harness.replica import Replica
from harness.server import SANITIZER, Server, binary

AT_REST = re.compile(r"(\d+)-[0-9a-f]{16}")


class Reader:
    name = ""

    def __init__(self, rng: random.Random, tables: list[str] | None, limits: list[int]):
        self.rng, self.tables, self.limits, self.own_limits = rng, tables, limits, limits
        self.replica = Replica()
        self.in_run: set = set()
        self.head = 0
        self.more = True
        self.second_pages = self.second_pages_after_commit = 0
        self.hints = self.wrong_hints = 0
        # Rows are read as they are when a page is taken. So after a first read of several pages, with writers running, the
        # client holds rows of a later time than its cursor, and they are told again: that run's hints are counted apart.
        self.after_first_read = self.first_read = self.in_pages = False
        self.repeated = self.repeated_wrong = 0

    def stamp(self) -> int | None:
        """Where it stands, if that is a place at rest."""
        found = AT_REST.fullmatch(self.replica.cursor)
        return int(found[1]) if found else None

    def take(self, told: dict, limit: int | None):
        where = f"{self.name} since {self.replica.cursor}"
        assert "reset" not in told, f"{where}: a reset although nothing was tampered with: {told['reset']}"
        changes = told["changes"]
        assert limit is None or len(changes) <= limit, f"{where}: {len(changes)} changes, at most {limit} were asked for"
        assert told["head"] >= self.head, f"{where}: the head went back from {self.head} to {told['head']}"
        for change in changes:
            assert change["op"] in ("insert", "update", "delete", "read"), f"{where}: {change}"
            assert change.get("stamp", 0) <= told["head"], f"{where}: a stamp above the head: {change}"
            place = (change["op"] == "read", change["table"], strict_json.text_of(change["key"]))
            assert place not in self.in_run, f"{where}: twice in one run: {change}"
            self.in_run.add(place)
        if self.in_pages:  # a page that goes on in a run
            self.second_pages += 1
            self.second_pages_after_commit += told["head"] > self.head
        before = self.replica.cursor
        hints, wrong = self.replica.hints, self.replica.wrong_hints
        self.replica.apply(told)
        hints, wrong = self.replica.hints - hints, self.replica.wrong_hints - wrong
        if self.after_first_read:
            self.repeated, self.repeated_wrong = self.repeated + hints, self.repeated_wrong + wrong
        else:
            self.hints, self.wrong_hints = self.hints + hints, self.wrong_hints + wrong
        assert not told["more"] or self.replica.cursor != before, f"{where}: more, but the place does not move"
        self.head, self.more = told["head"], told["more"]
        at = self.stamp()
        if at is None:
            assert told["more"], f"{where}: the run is over at {self.replica.cursor}"
            self.in_pages = True
            self.first_read |= any(c["op"] == "read" for c in changes)
        else:
            self.in_run.clear()
            self.after_first_read, self.first_read, self.in_pages = self.first_read, False, False
            assert told["more"] == (at != told["head"]), f"{where}: more is {told['more']} at {at}, head {told['head']}"

    def to_rest(self, head: int):
        for _ in range(20_000):
            if self.stamp() == head and not self.more:
                return
            self.page()
        raise AssertionError(f"{self.name}: no rest within 20,000 pages; at {self.replica.cursor}, head {head}")


class CoreReader(Reader):
    """Without a server: one process a page."""

    name = "litefeed changes"

    def __init__(self, path, *how):
        super().__init__(*how)
        self.path = str(path)

    def page(self):
        limit = self.rng.choice(self.limits)
        command = [binary(), "changes", self.path, "--since", self.replica.cursor, "--limit", str(limit), "--format", "ndjson"]
        for t in self.tables or []:
            command += ["--table", t]
        done = subprocess.run(command, capture_output=True, timeout=60)
        errors = done.stderr.decode("utf-8", "replace")
        assert not SANITIZER.search(errors), errors
        assert done.returncode == 0, f"{command}: exit {done.returncode}: {errors}"
        self.take(from_lines(done.stdout), limit)


IDLE_S = 20  # the server closes a connection that is idle for 30 s, and a slow case reads by other ways meanwhile


class HttpReader(Reader):
    """/changes on a connection that is kept."""

    name = "/changes"

    def __init__(self, server: Server, *how):
        super().__init__(*how)
        self.server = server
        self.connection, self.used = server.connect(), time.monotonic()
        self.busy = 0

    def start_from_rows(self, table: str):
        """The other way to begin: a table by /rows, then on from its cursor."""
        page = self.server.rows(table, limit=self.rng.choice([1, 2, 7, 1000]))
        self.replica.cursor = page["cursor"]
        while True:
            for one in page["rows"]:
                self.replica.change({"op": "read", "table": table, **one})
            if page["next"] is None:
                break
            page = self.server.rows(table, limit=self.rng.choice([1, 2, 7, 1000]), after=page["next"])
            self.after_first_read = True

    def page(self):
        limit = self.rng.choice(self.limits)
        kind = self.rng.choice(["json", "ndjson"])
        target = "/changes" + http_wire.query(since=self.replica.cursor, limit=limit, table=self.tables, format=kind)
        if time.monotonic() - self.used > IDLE_S:
            self.connection.close()
            self.connection = self.server.connect()
        for _ in range(200):
            answer = self.connection.ask(target)
            self.used = time.monotonic()
            if answer.status != 503:
                break
            self.busy += 1
            time.sleep(0.05)
        assert answer.status == 200, (target, answer)
        self.take(answer.json() if kind == "json" else from_lines(answer.body), limit)

    def close(self):
        self.connection.close()


class StreamReader(Reader):
    """/events, cut and resumed."""

    name = "/events"

    def __init__(self, server: Server, cut: float, *how):
        super().__init__(*how)
        self.server, self.cut_chance = server, cut
        self.stream = None
        self.cuts = 0

    def connect(self):
        at = self.replica.cursor
        way = self.rng.choice(["header", "header", "since", "lastEventId", "both"])
        headers = {"Last-Event-ID": at} if way in ("header", "both") and at != "0" else {}
        parameters = {"table": self.tables}
        if way in ("since",) or not headers and way != "lastEventId" or at == "0":
            parameters["since"] = at
        elif way == "lastEventId":
            parameters["lastEventId"] = at
        elif way == "both":
            parameters["since"] = "0"  # an older place in the URL, as polyfills keep it
        self.stream = self.server.events(headers=headers, heartbeat=1, **parameters)
        assert self.stream.status == 200, self.stream.head.fields
        self.in_run.clear()  # what a cut run told may be told again
        told = self.stream.start()
        assert at == "0" or told["cursor"] == at, f"resumed at {at}, but it starts from {told['cursor']}"
        self.replica.cursor = told["cursor"]

    def cut(self):
        if self.stream is not None:
            self.stream.close()
            self.stream = None
            self.cuts += 1

    def page(self, within_s: float = 0.0005):
        """The events that are there, at most a few; sometimes a cut."""
        if self.stream is None:
            self.connect()
        for _ in range(self.rng.choice([1, 3, 100])):
            # A chunk that has begun is read to its end: a deadline in its middle would lose its size.
            event = self.stream.next(5, quiet_ok=True) if self.something_came(within_s) else None
            if event is None:
                if self.stream.ended:
                    self.cut()
                break
            told = event.json()
            if event.type == "message":
                assert event.own_id == told["cursor"], event
                self.take(told, None)
            elif event.type == "cursor":
                assert event.own_id == told["cursor"], event
                assert told["head"] >= self.head, event
                self.replica.cursor, self.head = told["cursor"], told["head"]
                if self.stamp() is not None:
                    self.more, _ = False, self.in_run.clear()
            elif event.type == "bye":
                self.cut()
                break
            else:
                assert event.type == "heartbeat", event
        if self.rng.random() < self.cut_chance:
            self.cut()

    def something_came(self, within_s: float) -> bool:
        connection = self.stream.connection
        return bool(self.stream._ready or connection.reader.have or select.select([connection.sock], [], [], within_s)[0])

    def to_rest(self, head: int, within_s: float = 20.0):
        deadline, chance = time.monotonic() + within_s, self.cut_chance
        while not (self.stamp() == head and not self.more):
            if time.monotonic() > deadline - within_s + 1:
                self.cut_chance = 0.0  # a stream that is always cut before its heartbeat learns nothing
            self.page(0.05)
            assert time.monotonic() < deadline, (
                f"/events stays at {self.replica.cursor} for {within_s} s, the head is {head}; the stream ends with "
                f"{self.stream.raw[-1500:] if self.stream else 'nothing'!r}")
        self.cut_chance = chance

    def close(self):
        if self.stream is not None:
            self.stream.close()


def from_lines(body: bytes) -> dict:
    """An ndjson answer as the object that json would give; without the last line it was cut."""
    assert body.endswith(b"\n"), f"an answer that was cut: {body[-200:]!r}"
    lines = [strict_json.loads(line) for line in body[:-1].split(b"\n")]
    assert "cursor" in lines[-1], f"the last line is none: {lines[-1]}"
    return {**lines[-1], "changes": lines[:-1]}
