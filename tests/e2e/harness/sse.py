"""Server-Sent Events as the HTML standard reads them (section "Interpreting an event stream"), over a raw socket."""

import codecs
import re
import time

from . import http_wire, strict_json


LINE_END = re.compile("\r\n|\r|\n")


class Event:
    """One dispatched event. `id` is the last event id at that moment, `own_id` what this block itself named."""

    def __init__(self, kind, data, last_id, own_id):
        self.type, self.data, self.id, self.own_id = kind, data, last_id, own_id

    def json(self):
        return strict_json.loads(self.data)

    def __repr__(self):
        return f"<{self.type} id={self.id!r} {self.data[:300]}>"


class Parser:
    """Takes decoded text in any pieces and gives events. Blocks without data dispatch nothing, as in a browser."""

    def __init__(self):
        self.last_id = ""
        self.retry_ms = None
        self.comments = []
        self.blocks_without_data = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._text = ""
        self._seen = 0
        self._first = True
        self._clear()

    def _clear(self):
        self._kind, self._data, self._own_id, self._touched = "", [], None, False

    def feed(self, data):
        text = self._decoder.decode(data)
        if text and self._first:
            self._first = False
            text = text.removeprefix("\ufeff")
        events = []
        self._text += text
        # A line end at the very end may be the first half of CR LF: it waits for what follows.
        while found := LINE_END.search(self._text, self._seen):
            if found[0] == "\r" and found.end() == len(self._text):
                self._seen = found.start()
                return events
            line, self._text, self._seen = self._text[:found.start()], self._text[found.end():], 0
            event = self._line(line)
            if event:
                events.append(event)
        self._seen = len(self._text)
        return events

    def _line(self, line):
        if line == "":
            return self._dispatch()
        if line.startswith(":"):
            self.comments.append(line[1:])
            return None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        self._touched = True
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        elif name == "id":
            if "\0" not in value:
                self.last_id = self._own_id = value
        elif name == "retry":
            assert value.isascii() and value.isdigit(), f"retry: {value!r}"
            self.retry_ms = int(value)
        else:
            raise AssertionError(f"a field that no browser reads: {line!r}")
        return None

    def _dispatch(self):
        event = None
        if self._data:
            event = Event(self._kind or "message", "\n".join(self._data), self.last_id, self._own_id)
        elif self._touched:
            self.blocks_without_data += 1
        self._clear()
        return event

    @property
    def mid_block(self):
        return bool(self._text or self._touched)


class Stream:
    """A request for /events and what comes of it. Chunks are decoded by hand; an end in the middle of one is seen."""

    def __init__(self, port, target, headers=(), version="1.1", host="localhost"):
        self.connection = http_wire.Connection(port)
        headers = {"Accept": "text/event-stream", **dict(headers)}
        self.connection.send(http_wire.request_bytes(target, "GET", headers, version, host))
        started = time.monotonic()
        self.head = http_wire.Head(self.connection.read_head())
        self.seconds_to_head = time.monotonic() - started
        self.parser = Parser()
        self.raw = bytearray()
        self.ended = None  # None while it lives; 'whole' or 'cut'
        self._ready = []
        coding = self.head.get("transfer-encoding")
        assert self.head.get("content-length") is None or self.head.status != 200, self.head.fields
        self.chunked = coding is not None

    @property
    def status(self):
        return self.head.status

    def _take(self, deadline):
        reader = self.connection.reader
        if self.chunked:
            try:
                data = http_wire.read_chunk(reader, deadline)
            except http_wire.Ended:
                self.ended = "cut"
                return
            except ConnectionResetError:
                self.ended = "cut"
                return
            if not data:
                self.ended = "whole"
        else:
            try:
                if not reader.have and not reader.more(deadline):
                    self.ended = "cut" if self.parser.mid_block else "whole"
            except ConnectionResetError:
                self.ended = "cut"
            data, reader.have = reader.have, b""
        self.raw += data
        self._ready += self.parser.feed(data)

    def next(self, within_s=5, quiet_ok=False):
        """The next event of any type. At the end of the stream, or when none came in time and that is fine: None."""
        deadline = time.monotonic() + within_s
        while not self._ready:
            if self.ended:
                return None
            try:
                self._take(deadline)
            except TimeoutError:
                if quiet_ok:
                    return None
                raise AssertionError(
                    f"no event within {within_s} s; so far {bytes(self.raw[-400:])!r}") from None
        return self._ready.pop(0)

    def next_of(self, kind, within_s=5):
        """The next event of that type; others are passed over."""
        deadline = time.monotonic() + within_s
        while True:
            event = self.next(max(0.001, deadline - time.monotonic()))
            assert event is not None, f"the stream ended ({self.ended}) before a {kind} event"
            if event.type == kind:
                return event

    def delta(self, within_s=5):
        """The object of the next unnamed event. Its place must be the event's own id."""
        event = self.next_of("message", within_s)
        told = event.json()
        assert event.own_id == told["cursor"], event
        return told

    def changes(self, count, within_s=5):
        """The next changes, as many; whether commits come in a delta each or several in one is the server's affair."""
        out = []
        while len(out) < count:
            out += self.delta(within_s)["changes"]
        assert len(out) == count, out
        return out

    def run(self, within_s=5):
        """All deltas up to the end of a run (`more: false`)."""
        out = [self.delta(within_s)]
        while out[-1]["more"]:
            out.append(self.delta(within_s))
        return out

    def start(self, within_s=5):
        """The block that names where the stream starts from."""
        event = self.next(within_s)
        assert event is not None and event.type == "cursor", event
        told = event.json()
        assert event.own_id == told["cursor"], event
        return told

    def quiet(self, for_s):
        """Whether nothing but comments and cursor events comes for that long."""
        deadline = time.monotonic() + for_s
        while (left := deadline - time.monotonic()) > 0:
            event = self.next(left, quiet_ok=True)
            if event is not None and event.type != "cursor":
                self._ready.insert(0, event)
                return False
            if self.ended:
                return True
        return True

    def read_to_end(self, within_s=5):
        """Every event up to the end of the stream."""
        out = []
        while (event := self.next(within_s)) is not None:
            out.append(event)
        return out

    @property
    def last_id(self):
        return self.parser.last_id

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
