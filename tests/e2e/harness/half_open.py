"""A program for a network of its own (`unshare -rn`): streams whose peers vanish without a word, a FIN or a reset.

usage: unshare -rn python3 -m harness.half_open DATABASE HOME
Prints what the server counts with the peers there, without them, and the seconds that it took. Peers are at 127.0.0.2, to
which no route leads any more once they vanish.
"""

import json
import pathlib
import socket
import subprocess
import sys
import time

from .http_wire import request_bytes
from .server import Server

PEERS = 30
PATIENCE_S = 110  # heartbeats of a second, and the minute after which the kernel gives a peer up


def peer(port):
    s = socket.socket()
    s.bind(("127.0.0.2", 0))
    s.connect(("127.0.0.1", port))
    return s


def counted(server):
    loops = server.get("/status").json()["loops"]
    return {what: sum(one[what] for one in loops) for what in ("connections", "subscribers")}


def descriptors(server):
    """Those that stay: the connection of the last question may be ending still."""
    def now():
        time.sleep(0.2)
        return len(list(pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir()))

    return min(now() for _ in range(5))


def main(database, home):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    server = Server(pathlib.Path(home), database)
    before = {**counted(server), "descriptors": descriptors(server)}
    peers = []
    for i in range(PEERS):
        s = peer(server.port)
        # Streams, and connections that wait between two requests or in one.
        s.sendall(request_bytes("/events?heartbeat=1") if i % 3 else request_bytes("/healthz") + b"GET /changes HTTP/1.1\r\n")
        assert s.recv(4096).startswith(b"HTTP/1.1 200 ")
        peers.append(s)
    there = counted(server)
    subprocess.run(["ip", "route", "add", "blackhole", "127.0.0.2/32", "table", "local"], check=True)
    began = time.monotonic()
    while counted(server)["connections"] > before["connections"] and time.monotonic() - began < PATIENCE_S:
        time.sleep(0.5)
    gone = {**counted(server), "descriptors": descriptors(server), "seconds": time.monotonic() - began}
    server.stop()
    print(json.dumps({"before": before, "there": there, "gone": gone}))


if __name__ == "__main__":
    main(*sys.argv[1:])
