"""A writer of the owner's, as a program: python3 -m storm.writer FILE SEED DONE. It may be killed at any moment.

It writes until stdin says `pause`, then closes its connection and says `paused`; any other line sends it on. Each statement that
was done adds a byte to the file DONE, so that they are counted whatever became of the writer.
"""

import contextlib
import os
import random
import select
import sqlite3
import sys
import time

from .tables import statement

# What a writer among others, and under migrations and restores, has to live with.
PASSES = ("locked", "busy", "schema has changed")


def told_to_pause():
    return select.select([sys.stdin], [], [], 0)[0] and sys.stdin.readline().strip() == "pause"


def write(connection, rng, done):
    statements = [statement(rng) for _ in range(rng.choice([1, 1, 1, 2, 5, 20]))]
    try:
        if len(statements) > 1:
            connection.execute("BEGIN IMMEDIATE")
        for sql in statements:
            with contextlib.suppress(sqlite3.IntegrityError):
                connection.execute(sql)
                os.write(done, b".")
        if len(statements) > 1:
            connection.execute(rng.choice(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"]))
    except sqlite3.OperationalError as e:
        if not any(word in str(e) for word in PASSES):
            raise RuntimeError(f"{statements}: {e}") from e
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def main(path, seed, done_path):
    rng = random.Random(seed)
    done = os.open(done_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        with contextlib.closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            while not told_to_pause():
                write(connection, rng, done)
                time.sleep(rng.random() * 0.008)
        print("paused", flush=True)
        if not sys.stdin.readline():
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
