"""The exactness test: random statements of every kind against replicas that only know the feed.

A *case* is one database made from a number: its tables, the owner's triggers, the writers and what they write.
    python3 -m exactness --seed 7 --statements 100000    many cases, until that many statements ran
    python3 -m exactness --seed 7 --case 12              one of them again
    python3 -m exactness --seed 7 --seconds 3600         as many as fit
Run it in tests/e2e; LITEFEED_BIN names the binary.
"""
