"""README's commands do what they say: each ```sh block is run as it stands, in order, by one reader in one directory.

A block that begins with ```sh is run; ```text, ```json, ```html and the like are only read. What a reader would stop with
Ctrl-C (`litefeed serve …`, `litefeed demo`, `litefeed tail …`, `curl -N …` as the last command of a block) is left running
for the blocks after it, and must still be alive after a moment or have ended well. Every other block must end with 0.
`litefeed` is the binary under test; `./server/run` and the like are run by tests/clean-install, not here: a block that holds
them is passed over, but at least one block must have been run. Port 7070 must be free.
"""

import os
import re
import signal
import subprocess
import time

import pytest
from harness.server import SANITIZER, binary
from harness.tools import ROOT

README = ROOT / "README.md"
STAYS = re.compile(r"^\s*(litefeed (serve|demo|tail)|curl [^|]*-\w*N)")
SET_UP = re.compile(r"^\s*(\./(server|tests)/run|git clone|cmake|docker|sudo|apt)", re.MULTILINE)


def blocks():
    return re.findall(r"(?ms)^```sh\n(.*?)^```$", README.read_text("utf-8")) if README.exists() else []


def last_command(block):
    joined = re.sub(r"\\\n", " ", block)
    lines = [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return lines[-1] if lines else ""


@pytest.mark.timeout(90)
def test_the_commands_of_the_readme_work(tmp_path):
    assert README.exists(), "there is a README"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "litefeed").symlink_to(binary())
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(home), "TMPDIR": str(tmp_path)}
    running, count = [], 0
    try:
        for number, block in enumerate(blocks()):
            if SET_UP.search(block):
                continue
            count += 1
            log = tmp_path / f"block-{number}.log"
            with open(log, "wb") as out:
                process = subprocess.Popen(["bash", "-e", "-o", "pipefail", "-c", block], cwd=home, env=environment, stdin=subprocess.DEVNULL,
                                           stdout=out, stderr=out, start_new_session=True)
            running.append((process, block, log))
            if STAYS.match(last_command(block)) or last_command(block).rstrip().endswith("&"):
                time.sleep(1.5)
                assert process.poll() in (None, 0), f"{block}\nended with {process.returncode}:\n{log.read_text()}"
                continue
            try:
                code = process.wait(15)
            except subprocess.TimeoutExpired:
                raise AssertionError(f"{block}\ndoes not end:\n{log.read_text()}") from None
            assert code == 0, f"{block}\nended with {code}:\n{log.read_text()}"
        assert count, "README has commands that a test can run"
    finally:
        for process, _, _ in running:
            try:
                os.killpg(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        for process, _, log in running:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            assert not SANITIZER.search(log.read_text("utf-8", "replace")), log.read_text()
