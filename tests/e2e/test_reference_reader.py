"""The readers of README.md, taken from the page as they stand, hold exactly the tables: in a storm, and run as programs."""

import json
import os
import sys

import pytest
from harness.seed import SEED
from harness.tools import litefeed, run, spawn
from storm.readers import blocks
from storm.run import LIVE, PAUSED, Storm

SECONDS = int(os.environ.get("LITEFEED_STORM_SECONDS", "45"))
COUNTED = {*LIVE, *PAUSED, "statements", "restarts of the server", "comparisons", "refreshes", "resets over HTTP", "tables read again by SQL"}


@pytest.mark.timeout(SECONDS * 2 + 120)
def test_in_a_storm_both_readers_hold_exactly_the_tables(tmp_path):
    storm = Storm(tmp_path, SEED)
    try:
        counts = storm.blow(SECONDS)
    finally:
        print(storm.story())
        storm.end()
    if SECONDS >= 45:
        assert not COUNTED - set(+counts), "each kind happens in a run of this length"


def test_the_readers_run_as_programs(notes, tmp_path):
    db, feed = notes
    db.run("INSERT INTO notes(id, title) VALUES(1, 'Plan'), (2, 'Milk')")
    for name, block in blocks().items():
        (tmp_path / f"{name}.py").write_text(block)
    by_sql = run(sys.executable, tmp_path / "TableCopy.py", db.path, "notes")
    assert by_sql.stdout == "(1, 'Plan', 0)\n(2, 'Milk', 0)\n"
    follower = spawn(sys.executable, tmp_path / "Copies.py", feed.url)
    try:
        assert [row["title"] for row in json.loads(follower.stdout.readline())["notes"].values()] == ["Plan", "Milk"]
        db.run("UPDATE notes SET title = 'Bread' WHERE id = 2")
        assert [row["title"] for row in json.loads(follower.stdout.readline())["notes"].values()] == ["Plan", "Bread"]
    finally:
        follower.kill()
        follower.communicate()
    feed.stop()
    litefeed("unwatch", db.path, "notes")
    assert "notes is not watched" in run(sys.executable, tmp_path / "TableCopy.py", db.path, "notes", check=False).stderr
