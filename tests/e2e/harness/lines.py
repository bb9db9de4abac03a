"""The output of a running program, line by line, each with a deadline."""

import queue
import threading


class Lines:
    def __init__(self, process):
        self.process = process
        self._queue = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._queue.put(line)
        self._queue.put(None)

    def next(self, within_s=5):
        """The next line; None at the end of the output."""
        try:
            return self._queue.get(timeout=within_s)
        except queue.Empty:
            raise AssertionError(f"no line within {within_s} s") from None

    def end(self):
        self.process.kill()
        self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()
