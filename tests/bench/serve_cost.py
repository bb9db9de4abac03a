"""What serving costs, beside what others need for the same: commit to first byte, CPU of an answer, an idle server, a
commit to the last of many subscribers. All servers take turns in one run; loopback only; ends what it started.

    tests/bench/run                 builds everything and runs this (and writer_cost)
    tests/bench/run --only stream   one part: poll, first, changes, idle, stream
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
E2E = HERE.parent / "e2e"
NCHAN = pathlib.Path("/usr/lib/nginx/modules/ngx_nchan_module.so")
PARTS = ("poll", "first", "changes", "idle", "stream")
ROW_BODY = 200  # bytes of a row's longest column


class Missing(Exception):
    """A server to compare with is not on this machine."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port, process):
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args[0]} ended with {process.returncode}")
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.02)
    raise RuntimeError(f"{process.args[0]} does not listen")


@contextlib.contextmanager
def running(command, port, **how):
    """Yields the pids of a server and its children; stops it."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how)
    try:
        wait_for(port, process)
        time.sleep(0.2)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        yield [process.pid, *map(int, children)]
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def make_database(path):
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT, body TEXT)")
    db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
               f"INSERT INTO notes SELECT i, 'title number ' || i, printf('%.{ROW_BODY}c', 'b') FROM n")
    return db


class Bench:
    def __init__(self, asked):
        self.asked = asked
        self.litefeed_binary = pathlib.Path(asked.build) / "litefeed"
        self.programs = pathlib.Path(asked.build) / "bench"
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="litefeed-serve-cost-", dir=asked.dir))
        self.database = self.home / "app.db"
        self.rows = []   # of the table
        self.notes = []

    # ---- servers ----

    @contextlib.contextmanager
    def litefeed(self):
        port = free_port()
        with running([self.litefeed_binary, "serve", self.database, "--listen", f"127.0.0.1:{port}"], port) as pids:
            yield port, pids

    @contextlib.contextmanager
    def nginx(self, nchan=False):
        if shutil.which("nginx") is None:
            raise Missing("nginx")
        if nchan and not NCHAN.exists():
            raise Missing("libnginx-mod-nchan")
        port, home = free_port(), pathlib.Path(tempfile.mkdtemp(prefix="nginx-", dir=self.home))
        (home / "logs").mkdir()
        locations = """
            location = /publish { nchan_publisher; nchan_channel_id c; nchan_message_buffer_length 100; }
            location = /follow { nchan_subscriber eventsource; nchan_channel_id c; nchan_subscriber_first_message newest; }
        """ if nchan else ""
        (home / "nginx.conf").write_text(f"""
            {f"load_module {NCHAN};" if nchan else ""}
            {"user root;" if os.geteuid() == 0 else ""}
            daemon off; worker_processes 1; worker_rlimit_nofile 65536; pid {home}/nginx.pid; error_log {home}/logs/error.log;
            events {{ worker_connections 40000; multi_accept on; }}
            http {{
                access_log off; keepalive_requests 100000000; keepalive_timeout 3600; open_file_cache max=100;
                client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/fastcgi;
                uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi; default_type application/json;
                server {{ listen 127.0.0.1:{port} backlog=4096; root {self.home}/static; {locations} }}
            }}""")
        with running(["nginx", "-e", home / "logs/start.log", "-p", home, "-c", home / "nginx.conf"], port) as pids:
            yield port, pids

    @contextlib.contextmanager
    def send_loop(self):
        port = free_port()
        with running([self.programs / "send_loop", str(port)], port) as pids:
            yield port, pids

    @contextlib.contextmanager
    def node(self):
        nodes = [*sorted(E2E.glob("node_modules/node-linux-*/bin/node")), shutil.which("node")]
        if not (E2E / "node_modules/better-sqlite3/build").exists() or nodes[0] is None:
            raise Missing("Node with better-sqlite3 (tests/e2e/run installs it)")
        port, file = free_port(), self.home / "node.db"
        if not file.exists():
            make_database(file).close()
        env = {**os.environ, "NODE_PATH": str(E2E / "node_modules")}
        with running([nodes[0], HERE / "node_changes.cjs", file, str(port)], port, env=env) as pids:
            yield port, pids

    # ---- the load ----

    def load(self, program, port, pids, *arguments, timeout=180):
        command = [self.programs / program, "--port", port, *arguments, *[x for p in pids for x in ("--pid", p)]]
        run = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout)
        if run.returncode:
            raise RuntimeError(run.stderr.strip())
        return json.loads(run.stdout)

    def stream_load(self, port, pids, *arguments):
        return self.load("stream_load", port, pids, "--path", "/events?tables=notes", "--database", self.database,
                         "--sql", "UPDATE notes SET title = 'changed ' || ?1 WHERE id = 1", *arguments)

    def in_turns(self, named):
        """{name: server} in a changing order, `repetitions` times; yields name, port, pids."""
        names = list(named)
        for repetition in range(self.asked.repetitions):
            for name in names[repetition % len(names):] + names[:repetition % len(names)]:
                try:
                    with named[name]() as (port, pids):
                        yield name, port, pids
                except Missing as e:
                    self.note(f"{name} is left out: there is no {e} here")

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            print(text, file=sys.stderr)

    def row(self, what, who, value, unit, target=None):
        row = {"what": what, "who": who, "value": value, "unit": unit}
        if target is not None:
            row |= {"target": target, "met": value <= target * (1 + self.asked.tolerance)}
        self.rows.append(row)
        print(f"{what}, {who}: {value:.2f} {unit}", file=sys.stderr)

    # ---- the parts ----

    def poll(self):
        seen = [float(subprocess.run([self.programs / "poll_cost", self.database], check=True, capture_output=True,
                                     text=True, timeout=60).stdout) for _ in range(self.asked.repetitions)]
        self.row("a look at an idle file", "litefeed", statistics.median(seen), "µs", 5)

    def first(self):
        # Where commits follow each other, and where nothing happened for a while: then the server looks rarely.
        for how, rounds, settle in (("", 100, 20), (", the first after a pause", 20, 500)):
            medians, tails = [], []
            for _, port, pids in self.in_turns({"litefeed": self.litefeed}):
                seen = self.stream_load(port, pids, "--rounds", rounds, "--warm", 10, "--settle", settle)["first_ms"]
                medians.append(seen["median"])
                tails.append(seen["p99"])
            self.row(f"commit to first byte{how}, median", "litefeed", statistics.median(medians), "ms", 2)
            self.row(f"commit to first byte{how}, p99", "litefeed", statistics.median(tails), "ms", 5)

    def changes(self):
        db = sqlite3.connect(self.database, isolation_level=None)
        db.execute("UPDATE notes SET title = title || '.' WHERE id <= 50")
        head = db.execute("SELECT max(seq) FROM litefeed_log").fetchone()[0]
        db.close()
        static = self.home / "static"
        static.mkdir(exist_ok=True)
        for rows in (1, 50):
            with self.litefeed() as (port, pids):
                size = self.load("request_load", port, pids, "--path", f"/changes?since={head - rows}", "--seconds", 0.1)["bytes"]
            (static / f"{rows}.json").write_text("x" * (size - 240))  # nginx's header is 240 bytes
        # A place that many ask from, and a place of one's own.
        named = {"litefeed": (self.litefeed, lambda rows: f"/changes?since={head - rows}"),
                 "litefeed, each its own": (self.litefeed, lambda rows: f"/changes?since={head - rows}"),
                 "nginx, a static file": (self.nginx, lambda rows: f"/{rows}.json"),
                 "Node + better-sqlite3": (self.node, None)}
        seen = {}
        for name, port, pids in self.in_turns({n: s for n, (s, _) in named.items()}):
            path = named[name][1]
            if path is None:
                with sqlite3.connect(self.home / "node.db") as db:
                    node_head = db.execute("SELECT max(seq) FROM change_log").fetchone()[0]
                path = lambda rows: f"/changes?since={node_head - rows}"  # noqa: E731
            for rows in (1, 50):
                own = ["--each-its-own"] if "its own" in name else []
                one = self.load("request_load", port, pids, "--path", path(rows), "--seconds", self.asked.seconds, *own)
                seen.setdefault((rows, name), []).append(one)
        for rows, target in ((1, 15), (50, 35)):
            for name in named:
                if (rows, name) not in seen:
                    continue
                runs = seen[rows, name]
                cpu = statistics.median(r["cpu_us_per_request"] for r in runs)
                self.row(f"GET /changes, {rows} row{'s' * (rows > 1)} ({runs[0]['bytes']} bytes), CPU a request", name, cpu, "µs",
                         target if name.startswith("litefeed") else None)

    def idle(self):
        seen = []
        for _, port, pids in self.in_turns({"litefeed": self.litefeed}):
            seen.append(self.stream_load(port, pids, "--subscribers", 1000, "--rounds", 1, "--warm", 0, "--idle",
                                         int(self.asked.seconds * 2000))["idle_core_percent"])
        self.row("1,000 streams, no commits", "litefeed", statistics.median(seen), "% of a core", 1)

    def stream(self):
        with self.litefeed() as (port, _):
            event = self.one_event(port)
        body = "x" * max(1, event - len("data: 1 \n\n"))
        named = {"bare send() loop": self.send_loop, "litefeed": self.litefeed, "nchan, 1 worker": lambda: self.nginx(nchan=True)}
        for subscribers in self.asked.subscribers:
            seen = {}
            for name, port, pids in self.in_turns(named):
                arguments = ["--subscribers", subscribers, "--rounds", self.asked.rounds, "--settle", 100]
                if name == "litefeed":
                    one = self.stream_load(port, pids, *arguments)
                else:
                    paths = ("/follow", "/publish")
                    one = self.load("stream_load", port, pids, "--path", paths[0], "--publish", paths[1], "--body", body, *arguments)
                seen.setdefault(name, []).append(one)
            of = f"of {subscribers:,} subscribers ({event} bytes)"
            medians = {name: [r["last_ms"]["median"] for r in runs] for name, runs in seen.items()}
            for name, runs in seen.items():
                self.row(f"commit to the last {of}", name, statistics.median(medians[name]), "ms")
            if {"litefeed", "bare send() loop"} <= set(medians):
                ratio = statistics.median(a / b for a, b in zip(medians["litefeed"], medians["bare send() loop"]))
                self.row(f"commit to the last {of}, over the bare loop", "litefeed", ratio, "×", 1.2)
            for name, runs in seen.items():
                cpu = statistics.median(r["cpu_us_per_event"]["median"] for r in runs)
                self.row(f"CPU an event, {subscribers:,} subscribers", name, cpu, "µs", 10 if name == "litefeed" else None)
            for name, runs in seen.items():
                kb = statistics.median(r["resident_kb_each_after"] for r in runs)
                self.row(f"memory a subscriber, {subscribers:,}", name, kb, "KB", 2 if name == "litefeed" else None)

    def one_event(self, port):
        """Bytes of one event's block for the change that is measured."""
        with socket.create_connection(("127.0.0.1", port), 10) as s:
            s.sendall(b"GET /events?tables=notes HTTP/1.0\r\nHost: localhost\r\n\r\n")
            s.settimeout(10)
            received = b""
            while received.count(b"\n\n") < 1:
                received += s.recv(65536)
            with contextlib.closing(sqlite3.connect(self.database, isolation_level=None)) as db:
                db.execute("UPDATE notes SET title = 'changed 1' WHERE id = 1")
            block = b""
            while b'"changes"' not in block or not block.endswith(b"\n\n"):
                block += s.recv(65536)
        return len(block)

    def run(self):
        try:
            make_database(self.database).close()
            subprocess.run([self.litefeed_binary, "watch", self.database, "notes"], check=True, stdout=subprocess.DEVNULL)
            for part in PARTS:
                if self.asked.only in (None, part):
                    getattr(self, part)()
        finally:
            shutil.rmtree(self.home, ignore_errors=True)


def table_of(rows):
    out = ["| what | who | seen | target | met |", "| --- | --- | ---: | ---: | --- |"]
    for r in rows:
        target = f"{r['target']:g} {r['unit']}" if "target" in r else ""
        met = {True: "yes", False: "NO"}.get(r.get("met"), "")
        out.append(f"| {r['what']} | {r['who']} | {r['value']:.2f} {r['unit']} | {target} | {met} |")
    return "\n".join(out)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", help="the folder of the build: litefeed, and bench/ with the load generators")
    p.add_argument("--only", choices=PARTS)
    p.add_argument("--repetitions", type=int, default=3, help="turns of each server")
    p.add_argument("--rounds", type=int, default=7, help="commits in a turn of the fan-out")
    p.add_argument("--seconds", type=float, default=2, help="of requests in a turn")
    p.add_argument("--subscribers", type=int, nargs="+", default=[1000, 10000])
    p.add_argument("--dir", default=None, help="where the files are made")
    p.add_argument("--json", help="write the figures here too")
    p.add_argument("--check", action="store_true", help="exit code 1 when a target is missed")
    p.add_argument("--tolerance", type=float, default=0, help="how far a target may be missed: 0.1 is a tenth")
    asked = p.parse_args()
    bench = Bench(asked)
    bench.run()
    print(f"{os.cpu_count()} cores, {platform.release()}, SQLite {sqlite3.sqlite_version}, load {os.getloadavg()[0]:.1f} at the end\n")
    print(table_of(bench.rows))
    if asked.json:
        pathlib.Path(asked.json).write_text(json.dumps({"rows": bench.rows, "notes": bench.notes}, indent=1, ensure_ascii=False) + "\n")
    return 1 if asked.check and any(r.get("met") is False for r in bench.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
