"""HTTP/1 by hand over a raw socket, so that errors of framing are seen and not repaired."""

import re
import socket
import time
from urllib.parse import quote

from . import strict_json

PATIENCE_S = 10


class WireError(AssertionError):
    """The other side broke the rules of HTTP."""


class Ended(WireError):
    """The connection ended where more had to come."""


class Reader:
    """Bytes of a socket, by exact number or up to a mark, each with a deadline."""

    def __init__(self, sock):
        self.sock = sock
        self.have = b""

    def more(self, deadline=None):
        """Reads what there is; False at the end of the connection. Raises TimeoutError at the deadline."""
        left = PATIENCE_S if deadline is None else deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("nothing came in time")
        self.sock.settimeout(left)
        try:
            got = self.sock.recv(65536)
        except socket.timeout:
            raise TimeoutError("nothing came in time") from None
        self.have += got
        return bool(got)

    def until(self, mark, deadline=None):
        while mark not in self.have:
            if not self.more(deadline):
                raise Ended(f"the connection ended before {mark!r}; there was {self.have[-200:]!r}")
        out, self.have = self.have.split(mark, 1)
        return out

    def exactly(self, size, deadline=None):
        while len(self.have) < size:
            if not self.more(deadline):
                raise Ended(f"{size} bytes were announced, {len(self.have)} came")
        out, self.have = self.have[:size], self.have[size:]
        return out


class Head:
    """Status line and fields."""

    def __init__(self, raw):
        lines = raw.split(b"\r\n")
        line = lines[0].decode("ascii")
        found = re.fullmatch(r"HTTP/1\.([01]) (\d{3}) ([ -~]*)", line)
        if not found:
            raise WireError(f"not a status line: {line!r}")
        self.status = int(found[2])
        self.fields = []
        for line in lines[1:]:
            name, colon, value = line.partition(b":")
            if not colon or not re.fullmatch(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
                raise WireError(f"not a field: {line!r}")
            if re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", value):
                raise WireError(f"a control character in {line!r}")
            self.fields.append((name.decode("ascii"), value.strip(b" \t").decode("latin-1")))

    def all(self, name):
        return [value for have, value in self.fields if have.lower() == name.lower()]

    def get(self, name, default=None):
        """The one value of a field; two of a name that must be single is an error."""
        values = self.all(name)
        if len(values) > 1 and name.lower() != "vary":
            raise WireError(f"{name} comes twice: {values}")
        return ", ".join(values) if values else default


class Answer(Head):
    """A whole answer."""

    body = b""
    framing = None  # 'length', 'chunked', 'close' or 'none'

    def json(self):
        assert self.get("content-type", "").split(";")[0] in (
            "application/json", "application/problem+json"), self.fields
        return strict_json.loads(self.body)

    def lines(self):
        """The JSON lines of an ndjson answer."""
        assert self.get("content-type") == "application/x-ndjson", self.fields
        assert self.body.endswith(b"\n"), "an ndjson answer ends with a line end"
        return [strict_json.loads(line) for line in self.body[:-1].split(b"\n")]

    def problem(self):
        """The name of the problem and the parameter at fault."""
        assert self.get("content-type") == "application/problem+json", (self.status, self.fields, self.body)
        told = self.json()
        assert told["status"] == self.status
        assert told["title"] and told["detail"]
        assert told["type"].startswith("/problems/")
        return told["type"].removeprefix("/problems/"), told.get("parameter")

    def __repr__(self):
        return f"<{self.status} {self.fields} {self.body[:400]!r}>"


def read_chunk(reader, deadline=None):
    """The bytes of the next chunk; empty for the last one, after which the body is over."""
    line = reader.until(b"\r\n", deadline)
    if not re.fullmatch(rb"[0-9a-fA-F]{1,8}", line):
        raise WireError(f"not a chunk size: {line[:80]!r}")
    size = int(line, 16)
    if size == 0:
        if reader.exactly(2, deadline) != b"\r\n":
            raise WireError("something comes after the last chunk")
        return b""
    data = reader.exactly(size + 2, deadline)
    if data[-2:] != b"\r\n":
        raise WireError(f"a chunk of {size} bytes does not end with a line end: {data[-20:]!r}")
    return data[:-2]


class Connection:
    """One connection: what is sent is exactly what the test says."""

    def __init__(self, port, host="127.0.0.1"):
        self.sock = socket.create_connection((host, port), PATIENCE_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = Reader(self.sock)

    def send(self, data):
        self.sock.settimeout(PATIENCE_S)
        self.sock.sendall(data)

    def ask(self, target, method="GET", headers=(), version="1.1", host="localhost"):
        self.send(request_bytes(target, method, headers, version, host))
        return self.read_answer(method)

    def read_head(self, deadline=None):
        return self.reader.until(b"\r\n\r\n", deadline)

    def read_answer(self, method="GET", deadline=None):
        out = Answer(self.read_head(deadline))
        length, coding = out.get("content-length"), out.get("transfer-encoding")
        if length is not None and coding is not None:
            raise WireError("both Content-Length and Transfer-Encoding")
        if method == "HEAD" or out.status in (204, 304):
            out.framing = "none"
        elif coding is not None:
            if coding.lower() != "chunked":
                raise WireError(f"Transfer-Encoding: {coding}")
            out.framing = "chunked"
            while chunk := read_chunk(self.reader, deadline):
                out.body += chunk
        elif length is not None:
            out.framing = "length"
            out.body = self.reader.exactly(int(length), deadline)
        else:
            out.framing = "close"
            while self.reader.more(deadline):
                pass
            out.body, self.reader.have = self.reader.have, b""
        return out

    def ended(self, within_s=PATIENCE_S):
        """Whether the other side closes in time, with nothing unread before it."""
        deadline = time.monotonic() + within_s
        try:
            while self.reader.more(deadline):
                pass
        except TimeoutError:
            return False
        except ConnectionResetError:
            raise WireError("the connection was reset, not closed") from None
        return self.reader.have == b""

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def request_bytes(target, method="GET", headers=(), version="1.1", host="localhost"):
    lines = [f"{method} {target} HTTP/{version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += [f"{name}: {value}" for name, value in dict(headers).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def query(**parameters):
    """`?a=1&table=x&table=y`; lists repeat, None is left out, `_` at a name's end is cut off (`from_`)."""
    pairs = []
    for name, value in parameters.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                pairs.append(f"{quote(name.rstrip('_'), safe='')}={quote(str(one), safe='')}")
    return "?" + "&".join(pairs) if pairs else ""


def get(port, target, method="GET", headers=(), version="1.1", host="localhost"):
    """One request on a connection of its own."""
    headers = dict(headers)
    if version == "1.1":
        headers.setdefault("Connection", "close")
    with Connection(port) as c:
        return c.ask(target, method, headers, version, host)
