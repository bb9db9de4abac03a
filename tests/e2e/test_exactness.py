"""Replicas kept by the feed alone equal the tables, whatever statements ran. See exactness/__init__.py."""

import os

import pytest

from exactness import mutations
from exactness.__main__ import run_many, text_of
from harness.seed import SEED

STATEMENTS = int(os.environ.get("EXACTNESS_STATEMENTS", "100000"))


@pytest.mark.timeout(900)
def test_replicas_by_core_changes_and_events_equal_the_tables_after_random_statements():
    total = run_many(SEED, STATEMENTS, seconds=None, jobs=2, each=1200)
    print(text_of(total))
    assert not total["failures"], "\n".join(total["failures"])
    assert total["statements"] >= STATEMENTS and total["several"] and total["cuts"], total
    assert total.get("void", 0) <= total["cases"] / 20, total  # SQLite's own corruption, see exactness/tables.py
    assert total["second_pages_after_commit"] >= total["second_pages"] / 2, total


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", mutations.NAMES)
def test_a_capture_with_a_part_taken_out_is_noticed(name):
    noticed = mutations.first_noticed(name, SEED)
    assert noticed is not None, f"{name}: not noticed in {mutations.CASES_MAX} cases of seed {SEED}"
