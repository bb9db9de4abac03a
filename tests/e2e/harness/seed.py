"""The seed of a run's random tests: LITEFEED_SEED, or drawn; it is printed, so that a failure can be had again."""

import os

SEED = int(os.environ.get("LITEFEED_SEED", "0")) or int.from_bytes(os.urandom(4), "big")
