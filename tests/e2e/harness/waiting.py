"""Waiting for what must become true, with a deadline instead of a guess."""

import time


def eventually(condition, within_s=5, pause_s=0.01):
    """The first true value of `condition()`."""
    deadline = time.monotonic() + within_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not true within {within_s} s; last {value!r}"
        time.sleep(pause_s)
