"""Values as SQL text, drawn from small domains so that statements meet each other's rows."""

import random

LONG = "long-" + "k" * 300

SPECIAL = [
    "1", "1.0", "'1'", "x'31'", "-0.0", "0", "0.0", "9e999", "-9e999",
    "9007199254740991", "9007199254740992", "9007199254740993", "9007199254740992.0", "-9007199254740993",
    "'9007199254740993'", "0.1", "1e300", "5e-324", "''", "x''",
    "CAST(x'610062' AS TEXT)", "CAST(x'610063' AS TEXT)", "CAST(x'61ff62' AS TEXT)", "CAST(x'eda080' AS TEXT)",
    "x'610062'", "'é'", "'É'", "char(0)", "char(8232)||'\"\\'", "'{\"integer\":1}'", "char(10)||char(13)||'data: x'",
]


def integer(rng: random.Random) -> str:
    return str(rng.randrange(10)) if rng.random() < 0.96 else rng.choice(["-1", "-3", "12", "NULL", "'4'", "5.0"])


def rowid(rng: random.Random) -> str:
    """For INTEGER PRIMARY KEY. Not near 2^63: SQLite draws random numbers once the highest rowid is taken."""
    r = rng.random()
    if r < 0.90:
        return str(rng.randrange(1, 40))
    if r < 0.95:
        return str(-rng.randrange(1, 20))
    return rng.choice(["0", "-9223372036854775808", "-9007199254740993", "'7'", "7.0", "NULL", "NULL", "1.5"])


def text(rng: random.Random) -> str:
    """Letters in both cases, some with trailing blanks: NOCASE and RTRIM must have something to merge."""
    r = rng.random()
    if r < 0.86:
        letter = rng.choice("abcdefghij")
        letter = letter.upper() if rng.random() < 0.3 else letter
        return f"'{letter}{rng.choice(['', '', '', ' ', '  '])}'"
    if r < 0.90:
        return f"'{LONG}{rng.randrange(5)}'"
    return rng.choice(SPECIAL)


def blob(rng: random.Random) -> str:
    return f"x'{rng.randrange(24):02x}'" if rng.random() < 0.85 else rng.choice(SPECIAL)


def real(rng: random.Random) -> str:
    return f"{rng.randrange(20) / 2}" if rng.random() < 0.8 else rng.choice(SPECIAL)


def number(rng: random.Random) -> str:
    r = rng.random()
    if r < 0.5:
        return str(rng.randrange(20))
    return f"{rng.randrange(40) / 4}" if r < 0.8 else rng.choice(SPECIAL)


def anything(rng: random.Random) -> str:
    r = rng.random()
    if r < 0.35:
        return rng.choice(SPECIAL)
    return rng.choice([integer, text, blob, number])(rng)


def bit(rng: random.Random) -> str:
    return "1" if rng.random() < 0.3 else "0"


def wide(rng: random.Random) -> str:
    """A column that no index looks at."""
    if rng.random() < 0.1:
        return "NULL"
    return f"'{rng.choice('pqrstuvw') * rng.randrange(1, 4)}'" if rng.random() < 0.6 else anything(rng)


POOLS = {f.__name__: f for f in (integer, rowid, text, blob, real, number, anything, bit, wide)}
