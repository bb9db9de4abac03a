"""A writing process: runs transactions when told to, and says what it ran."""

import os
import random
import traceback
from dataclasses import dataclass

from . import log_side
from .sqlite_side import connect, execute
from .statements import Generator
from .tables import Table


@dataclass
class Ran:
    """One statement that was run. The log stood at `before` and at `after` for the connection that ran it."""
    who: int
    sql: str
    before: int
    after: int
    outcome: str


def is_write(sql: str) -> bool:
    return sql.startswith(("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"))


def brief(outcome) -> str:
    return outcome[0] if isinstance(outcome[0], str) else f"ok, changes() {outcome[1]}, {len(outcome[0])} rows"


def end_transaction(c) -> list[str]:
    """What is needed so that no transaction stays open; a deferred foreign key can refuse the COMMIT."""
    return ["COMMIT", "ROLLBACK"] if c.in_transaction else []


def write(pipe, who: int, path, seed: str, tables: list[Table], pragmas: list[str]):
    """The process: a number of statements is asked for, a list of `Ran` or the text of an error is the answer."""
    c, generator = None, Generator(random.Random(seed), tables, single=False)
    parent = os.getppid()
    while True:
        while not pipe.poll(1):
            if os.getppid() != parent:
                return
        count = pipe.recv()
        try:
            if c is None:
                c = connect(path)
                for pragma in pragmas:
                    c.execute(pragma)
            pipe.send(burst(c, who, generator, count))
        except Exception:
            pipe.send(traceback.format_exc())


def burst(c, who: int, generator: Generator, count: int) -> list[Ran]:
    out = []

    def run(sql):
        before = log_side.head(c)
        outcome = brief(execute(c, sql))
        out.append(Ran(who, sql, before, log_side.head(c), outcome))

    done = 0
    while done < count:
        for sql in generator.transaction():
            run(sql)
            done += is_write(sql)
        for sql in end_transaction(c):
            if c.in_transaction:
                run(sql)
    return out
