"""Fixtures: a database of the test's own, servers that are stopped and judged, and their logs when a test fails."""

import os

import pytest

from harness.database import Database
from harness.seed import SEED
from harness.server import Server

NOTES = "CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0);"

# A sanitizer's build takes several times as long for the same work, which is no hang: tests/run says how much longer to wait.
PATIENCE = float(os.environ.get("LITEFEED_PATIENCE", "1"))


def pytest_collection_modifyitems(config, items):
    for item in items:
        own = item.get_closest_marker("timeout")
        seconds = own.args[0] if own else float(config.getini("timeout"))
        item.add_marker(pytest.mark.timeout(seconds * PATIENCE), append=False)


@pytest.fixture
def database(tmp_path):
    """Makes databases: database("CREATE TABLE …"), in WAL mode unless journal="delete"."""

    def make(script=NOTES, journal="wal", name="app.db"):
        return Database(tmp_path / name, script, journal)

    return make


@pytest.fixture
def seed():
    print(f"seed {SEED}: LITEFEED_SEED={SEED} draws the same again")
    return SEED


@pytest.fixture
def server(tmp_path, request):
    """Starts servers: feed = server(db, "--watch", "notes"). They are stopped at the end, with exit code 0."""
    started = []

    def start(db, *arguments, **how):
        one = Server(tmp_path, db, *arguments, number=len(started), **how)
        started.append(one)
        return one

    request.node.servers = started
    yield start
    failures = []
    for one in started:
        try:
            one.stop()
        except AssertionError as failed:
            failures.append(str(failed))
    assert not failures, "\n".join(failures)


@pytest.fixture
def notes(database, server):
    """A watched table of notes: (database, server)."""
    db = database()
    return db, server(db, "--watch", "notes")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        for one in getattr(item, "servers", []):
            report.sections.append((f"stderr of litefeed {one.log_path.name}", one.log()[-8000:]))
