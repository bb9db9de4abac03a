"""Programs that users have: each must be there, a missing one is a failed test."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

E2E = pathlib.Path(__file__).resolve().parents[1]
ROOT = E2E.parents[1]


def tool(name):
    path = shutil.which(name)
    assert path, f"{name} is not installed"
    return path


def node():
    """Node 20 or newer: LITEFEED_NODE, the one of our package.json, or the system's."""
    packaged = sorted(E2E.glob("node_modules/node-linux-*/bin/node"))
    path = os.environ.get("LITEFEED_NODE") or (str(packaged[0]) if packaged else tool("node"))
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    assert int(re.match(r"v(\d+)", version)[1]) >= 20, f"{path} is {version}"
    return path


def node_environment():
    """With our packages to be found by `require`."""
    return {**os.environ, "NODE_PATH": str(E2E / "node_modules")}


def run(*command, within_s=60, check=True, **how):
    """Runs to the end, with its output as text; a failure shows both outputs."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=within_s, **how)
    if check:
        assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done


def run_node(script, *arguments, **how):
    """A CommonJS script, given as text, to its end."""
    return run(node(), "-e", script, *arguments, env=node_environment(), cwd=E2E, **how)


def spawn_node(script, *arguments, **how):
    """A CommonJS script that stays; its output is read line by line."""
    return spawn(node(), "-e", script, *arguments, env=node_environment(), cwd=E2E, **how)


def free_port():
    """A loopback port that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def spawn(*command, **how):
    """Starts a program with its output as text; the caller ends it."""
    how.setdefault("stdout", subprocess.PIPE)
    how.setdefault("stderr", subprocess.PIPE)
    return subprocess.Popen([str(c) for c in command], text=True, **how)


def litefeed(*arguments, check=True, **how):
    """A one-shot command of the binary under test."""
    from .server import SANITIZER, binary
    done = run(binary(), *arguments, check=False, **how)
    assert not SANITIZER.search(done.stderr), done.stderr
    if check:
        assert done.returncode == 0, f"litefeed {arguments} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done


def litefeed_killed(rng, *arguments, latest_s):
    """The same, ended by kill -9 at a random moment up to `latest_s`; whether it was still running then.

    It does not look for leaks at its end: LeakSanitizer does that from a process of its own, which reports a fault when what it looks at is killed.
    """
    from .server import binary
    options = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))
    with subprocess.Popen([binary(), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env={**os.environ, "ASAN_OPTIONS": options}) as process:
        time.sleep(rng.random() * latest_s)
        ran = process.poll() is None
        process.kill()
    return ran
