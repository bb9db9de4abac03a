"""A disk that is full at the test's word: a tmpfs of 2 MB; where mounting is not permitted, a limit on the size of the server's files."""

import contextlib
import subprocess


class SmallDisk:
    """`prefix` goes before the server's command; `fill` and `free` when the test wants it."""

    def __init__(self, path):
        self.path = path
        self.mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)], capture_output=True).returncode == 0
        self.prefix = [] if self.mounted else ["env", "--ignore-signal=XFSZ", "prlimit", "--fsize=8192:"]

    def fill(self):
        if self.mounted:
            with open(self.path / "fill", "wb", buffering=0) as f, contextlib.suppress(OSError):
                while f.write(b"x" * 4096):
                    pass

    def free(self, process):
        if self.mounted:
            (self.path / "fill").unlink()
        else:
            subprocess.run(["prlimit", f"--pid={process.pid}", "--fsize=unlimited:"], check=True)

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.path)], check=True)
