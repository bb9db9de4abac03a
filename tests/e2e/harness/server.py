"""The real binary: one server a test, on a free loopback port, stopped and judged at the end."""

import os
import re
import signal
import subprocess
import time

from . import http_wire, sse

SANITIZER = re.compile(r"(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|Assertion .* failed)")


def binary():
    path = os.environ.get("LITEFEED_BIN")
    assert path, "LITEFEED_BIN names no binary"
    return os.path.abspath(path)


def is_sanitized():
    """Whether the binary carries a sanitizer: then it is some ten times slower, and its memory is mostly the sanitizer's."""
    with open(binary(), "rb") as f:
        return re.search(rb"__[at]san_init", f.read()) is not None


class Server:
    """`litefeed serve` as a process. `stop()` must end it with exit code 0 and a clean stderr."""

    def __init__(self, home, database, *arguments, listen="127.0.0.1:0", environment=None, prefix=(), number=0):
        self.database = database
        self.arguments = [str(a) for a in arguments]
        self.log_path = home / f"litefeed-{number}.log"
        self.environment = {**os.environ, **(environment or {})}
        self.prefix = list(prefix)
        self.port = None
        self.process = None
        self.busy_answers = 0
        self.start(listen)

    def start(self, listen="127.0.0.1:0"):
        path = getattr(self.database, "path", self.database)
        command = [*self.prefix, binary(), "serve", str(path), "--listen", listen, *self.arguments]
        with open(self.log_path, "ab") as log:
            begin = log.tell()
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=self.environment)
        deadline = time.monotonic() + 20
        while True:
            found = re.search(r"listening on http://(?:127\.0\.0\.1|\[::1\]|0\.0\.0\.0):(\d+)", self.log()[begin:])
            if found:
                self.port = int(found[1])
                return self
            if self.process.poll() is not None:
                raise AssertionError(f"litefeed ended with {self.process.returncode}:\n{self.log()}")
            assert time.monotonic() < deadline, f"litefeed does not listen:\n{self.log()}"
            time.sleep(0.01)

    def log(self):
        return self.log_path.read_text("utf-8", "replace")

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self, with_signal=signal.SIGTERM, within_s=10):
        if self.process is None:
            return
        self.process.send_signal(with_signal)
        try:
            code = self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"litefeed does not end within {within_s} s:\n{self.log()}") from None
        finally:
            self.process = None
        self.check_log()
        assert code == 0, f"exit code {code}:\n{self.log()}"

    def kill(self):
        """kill -9; nothing is asked of it afterwards."""
        self.process.kill()
        self.process.wait()
        self.process = None
        self.check_log()

    def restart(self):
        """Stops and starts again on the same port."""
        self.stop()
        return self.start(f"127.0.0.1:{self.port}")

    def check_log(self):
        found = SANITIZER.search(self.log())
        assert not found, f"a sanitizer spoke:\n{self.log()}"

    # Asking

    def get(self, target, **how):
        """Any request, on a connection of its own."""
        return http_wire.get(self.port, target, **how)

    def connect(self):
        return http_wire.Connection(self.port)

    def get_changes(self, headers=(), **parameters):
        return self.get("/changes" + http_wire.query(**parameters), headers=headers)

    def patiently(self, ask, within_s=10):
        """An answer; while trouble passes (503 with Retry-After) it is asked again, sooner than a client would."""
        deadline = time.monotonic() + within_s
        while True:
            answer = ask()
            if answer.status != 503 or time.monotonic() > deadline:
                return answer
            assert int(answer.get("retry-after")) >= 1, answer
            self.busy_answers += 1
            time.sleep(0.02)

    def changes(self, **parameters):
        """The object of /changes; it must be 200 in the end."""
        answer = self.patiently(lambda: self.get_changes(**parameters))
        assert answer.status == 200, answer
        told = answer.json()
        assert answer.get("litefeed-cursor") == told["cursor"], answer
        assert answer.get("litefeed-head") == str(told["head"]), answer
        assert answer.get("litefeed-more") == ("true" if told["more"] else "false"), answer
        assert re.fullmatch(r"[A-Za-z0-9._~-]{1,512}", told["cursor"]), told["cursor"]
        return told

    def cursor(self):
        """Where the feed stands."""
        return self.changes(since="now")["cursor"]

    def get_rows(self, table, headers=(), **parameters):
        return self.get("/rows/" + http_wire.quote(table, safe="") + http_wire.query(**parameters), headers=headers)

    def rows(self, table, **parameters):
        answer = self.patiently(lambda: self.get_rows(table, **parameters))
        assert answer.status == 200, answer
        return answer.json()

    def events(self, headers=(), version="1.1", **parameters):
        """A stream; the caller reads it and closes it."""
        return sse.Stream(self.port, "/events" + http_wire.query(**parameters), headers, version)
