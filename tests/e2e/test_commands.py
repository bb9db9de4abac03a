"""The command line: what each command does, says and returns, without a server."""

import contextlib
import json
import os
import pwd
import signal
import stat
import subprocess

import pytest
from harness import strict_json
from harness.server import binary
from harness.tools import litefeed
from harness.waiting import eventually

SCHEMA = ("CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT UNIQUE, done INTEGER); INSERT INTO notes VALUES(1,'a',0),(2,'b',1);"
          "CREATE TABLE pairs(a, b, PRIMARY KEY(a, b)) WITHOUT ROWID; INSERT INTO pairs VALUES(1,x'00'),('x',2.5);")


def file_bytes(db):
    return {suffix: open(f"{db.path}{suffix}", "rb").read() for suffix in ("", "-wal") if os.path.exists(f"{db.path}{suffix}")}


@pytest.mark.parametrize("wrong", [
    ("--cors-origin", "*"), ("--cors-origin", "https://app.example/"), ("--cors-origin", "app.example"), ("--allow-host", "*"),
    ("--allow-host", "app.example/x"), ("--keep", "latest"), ("--retention", "5s")])
def test_an_option_that_could_have_no_effect_is_refused(wrong, database):
    done = litefeed("serve", database(SCHEMA).path, *wrong, check=False)
    assert done.returncode == 2 and wrong[0] in done.stderr.replace("--retention it", "--retention"), done


def test_status_says_how_long_entries_stay(database):
    db = database(SCHEMA)
    litefeed("watch", db.path, "notes", "--keep", "latest", "--retention", "90m")
    litefeed("watch", db.path, "pairs")
    told = litefeed("status", db.path).stdout
    assert "entries older than 90m are folded" in told and "entries older than 7d are folded" in told, "one decides for all"
    assert [t["retention_s"] for t in json.loads(litefeed("status", db.path, "--json").stdout)["tables"]] == [5400, 604800]
    litefeed("watch", db.path, "notes", "--keep", "window")
    told = litefeed("status", db.path).stdout
    assert "entries older than 90m go" in told and "entries older than 7d go" in told


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_unwatch_all_leaves_schema_and_data_as_before(journal, database):
    db = database(SCHEMA, journal=journal)
    before = db.dump()
    litefeed("watch", db.path, "notes", "pairs")
    assert db.dump() != before
    db.run("INSERT INTO notes VALUES(3,'c',0)", "DELETE FROM notes WHERE id=3")
    litefeed("unwatch", db.path, "--all")
    assert db.dump() == before
    assert not db.ask("SELECT 1 FROM sqlite_schema WHERE name LIKE 'litefeed%'")
    assert db.value("PRAGMA integrity_check") == "ok" and db.value("PRAGMA journal_mode") == journal
    done = litefeed("unwatch", db.path, "--all")
    assert "nothing was watched" in done.stdout


def test_unwatch_one_leaves_the_others(database):
    db = database(SCHEMA)
    litefeed("watch", db.path, "--all")
    litefeed("unwatch", db.path, "notes")
    assert [t["table"] for t in strict_json.loads(litefeed("status", db.path, "--json").stdout)["tables"]] == ["pairs"]
    db.run("INSERT INTO notes VALUES(9,'z',0)", "INSERT INTO pairs VALUES(9,9)")
    assert litefeed("unwatch", db.path, "notes", check=False).returncode == 1, "it is not watched any more"
    assert not db.ask("SELECT 1 FROM sqlite_schema WHERE type='trigger' AND tbl_name='notes'")


def test_watching_again_writes_nothing(database):
    db = database(SCHEMA, journal="delete")
    litefeed("watch", db.path, "notes", "pairs")
    version, content = db.value("PRAGMA schema_version"), file_bytes(db)
    for arguments in [("notes",), ("notes", "pairs"), ("--all",)]:
        done = litefeed("watch", db.path, *arguments)
        assert "already" in done.stdout
    assert db.value("PRAGMA schema_version") == version and file_bytes(db) == content


def test_serving_what_is_watched_writes_nothing(database, server):
    db = database(SCHEMA, journal="delete")
    litefeed("watch", db.path, "notes")
    content = file_bytes(db)
    feed = server(db, "--watch", "notes")
    feed.changes(since=0)
    feed.stop()
    assert file_bytes(db) == content


def test_a_one_shot_command_leaves_no_journal_beside_the_file(database):
    db = database(SCHEMA)
    litefeed("watch", db.path, "notes")
    litefeed("status", db.path)
    litefeed("changes", db.path, "--since", "0")
    assert sorted(p.name for p in db.path.parent.iterdir()) == ["app.db"]


EXITS = [
    # arguments ({db}: a database, {none}: no file there, {text}: no database), exit code, said on stderr
    (("--help",), 0, None), (("--version",), 0, None), (("serve", "--help"), 0, None), (("changes", "--help"), 0, None),
    ((), 2, ""), (("nonsense",), 2, "nonsense"), (("serve",), 2, "DB"), (("serve", "{db}", "--nonsense"), 2, "--nonsense"),
    (("watch", "{db}"), 2, None), (("watch", "{db}", "notes", "--all"), 2, None), (("unwatch", "{db}"), 2, None),
    (("changes", "{db}"), 2, "--since"), (("changes", "{db}", "--since", "x"), 2, "--since"),
    (("changes", "{db}", "--since", "0", "--limit", "0"), 2, "--limit"),
    (("changes", "{db}", "--since", "0", "--format", "xml"), 2, "--format"), (("serve", "{db}", "--threads", "0"), 2, "--threads"),
    (("watch", "{db}", "nothing"), 1, "nothing"), (("watch", "{none}", "notes"), 1, "none.db"), (("serve", "{none}"), 1, "none.db"),
    (("status", "{none}"), 1, "none.db"), (("changes", "{none}", "--since", "0"), 1, "none.db"), (("tail", "{none}"), 1, "none.db"),
    (("status", "{text}"), 1, "text.db"), (("serve", "{text}"), 1, "text.db"), (("watch", "{text}", "notes"), 1, "text.db"),
    (("changes", "{db}", "--since", "0", "--table", "nothing"), 1, "nothing"), (("unwatch", "{db}", "nothing"), 1, "nothing"),
    (("serve", "{db}", "--listen", "nonsense"), (1, 2), "nonsense"), (("serve", "{db}", "--listen", "127.0.0.1:99999"), (1, 2), "99999"),
    (("serve", "{db}", "--listen", "0.0.0.0:0"), (1, 2), "--insecure"),
    (("serve", "{db}", "--hide", "notes.id"), 1, "key"), (("serve", "{db}", "--hide", "notes.nothing"), 1, "nothing"),
    (("serve", "{db}", "--hide", "notes"), 1, "TABLE.COLUMN"), (("serve", "{db}", "--read-only", "--watch", "pairs"), (1, 2), "--read-only"),
]


@pytest.mark.parametrize("arguments, code, said", EXITS, ids=[" ".join(e[0]) or "(nothing)" for e in EXITS])
def test_exit_codes(arguments, code, said, database, tmp_path):
    db = database(SCHEMA)
    litefeed("watch", db.path, "notes")
    before = db.dump()
    (tmp_path / "text.db").write_text("This is no database, whatever its name says.\n" * 200)
    names = {"db": db.path, "none": tmp_path / "none.db", "text": tmp_path / "text.db"}
    done = litefeed(*[a.format(**names) for a in arguments], check=False, within_s=10)
    assert done.returncode in (code if isinstance(code, tuple) else (code,)), (done.returncode, done.stdout, done.stderr)
    if said is not None:
        assert said in done.stderr and done.stdout == ""
    if code == 0:
        assert done.stdout and not done.stderr
    assert db.dump() == before and not (tmp_path / "none.db").exists()


def test_help_teaches(database):
    text = litefeed("--help").stdout
    for word in ["serve", "watch", "unwatch", "status", "changes", "tail", "demo"]:
        assert word in text
    text = litefeed("serve", "--help").stdout
    for option in ["--watch", "--watch-all", "--listen", "--threads", "--poll", "--read-only", "--hide", "--only", "--token-file"]:
        assert option in text


def test_status_for_people_and_programs(database):
    db = database(SCHEMA)
    assert "nothing is watched" in litefeed("status", db.path).stdout
    assert strict_json.loads(litefeed("status", db.path, "--json").stdout)["tables"] == []
    litefeed("watch", db.path, "notes")
    db.run("INSERT INTO notes VALUES(3,'c',0)")
    assert "notes" in litefeed("status", db.path).stdout
    status = strict_json.loads(litefeed("status", db.path, "--json").stdout)
    assert status["head"] == 2 and [t["table"] for t in status["tables"]] == ["notes"]
    assert status["feed"]["floor"] == 0 and status["file"]["path"]


def test_changes_prints_one_answer(database):
    db = database(SCHEMA)
    litefeed("watch", db.path, "notes", "pairs")
    first = strict_json.loads(litefeed("changes", db.path, "--since", "0").stdout)
    assert [c["op"] for c in first["changes"]] == ["read"] * 4 and not first["more"]
    db.run("INSERT INTO notes VALUES(3,'c',0)", "INSERT INTO pairs VALUES(5,6)", "DELETE FROM notes WHERE id=1")
    told = strict_json.loads(litefeed("changes", db.path, "--since", first["cursor"]).stdout)
    assert [(c["table"], c["op"]) for c in told["changes"]] == [("notes", "insert"), ("pairs", "insert"), ("notes", "delete")]
    told = strict_json.loads(litefeed("changes", db.path, "--since", first["cursor"], "--table", "pairs").stdout)
    assert [c["table"] for c in told["changes"]] == ["pairs"]
    told = strict_json.loads(litefeed("changes", db.path, "--since", "0", "--limit", "1").stdout)
    assert len(told["changes"]) == 1 and told["more"]
    *lines, last = litefeed("changes", db.path, "--since", "0", "--format", "ndjson").stdout.splitlines()
    assert len(lines) == 5 and json.loads(last)["more"] is False
    told = strict_json.loads(litefeed("changes", db.path, "--since", "99").stdout)
    assert told["reset"]["reason"] == "ahead_of_head"
    told = strict_json.loads(litefeed("changes", db.path, "--since", "99", "--snapshot").stdout)
    assert [c["op"] for c in told["changes"]].count("truncate") == 2


def tail(path, *arguments, prefix=()):
    return subprocess.Popen([*prefix, binary(), "tail", str(path), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGINT])
def test_tail_prints_changes_as_they_come(with_signal, database):
    db = database(SCHEMA)
    litefeed("watch", db.path, "notes")
    follower = tail(db.path, "--since", "0")
    lines = [strict_json.loads(follower.stdout.readline()) for _ in range(3)]
    assert [x.get("op") for x in lines] == ["read", "read", None] and lines[2]["cursor"]
    db.run("INSERT INTO notes VALUES(3,'c',0)")
    assert strict_json.loads(follower.stdout.readline())["row"]["title"] == "c"
    assert strict_json.loads(follower.stdout.readline())["head"] == 2
    follower.send_signal(with_signal)
    assert follower.wait(5) == 0
    assert follower.communicate()[1] == ""


def test_tail_ends_quietly_when_nobody_reads(database):
    db = database(SCHEMA)
    litefeed("watch", db.path, "notes")
    follower = tail(db.path, "--since", "0")
    follower.stdout.readline()
    follower.stdout.close()

    def ended():
        db.run("UPDATE notes SET done=done+1")
        return follower.poll() is not None

    eventually(ended, within_s=10)
    assert follower.returncode == 0
    follower.stderr.close()


@pytest.fixture
def unwritable(database, tmp_path):
    """A watched file that nobody may write (root is let in anyway, so it is read as `nobody`): (database, command prefix)."""
    db = database(SCHEMA)
    litefeed("watch", db.path, "notes")
    nobody = pwd.getpwnam("nobody")
    prefix = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    for parent in [tmp_path, *tmp_path.parents]:
        if parent == parent.parent or not str(parent).startswith("/tmp"):
            break
        if parent != type(parent)("/tmp"):
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    db.path.chmod(0o644)
    return db, prefix


@pytest.mark.parametrize("how", ["a rollback journal", "a WAL that its owner has open"])
def test_reading_commands_work_where_nothing_may_be_written(how, unwritable):
    db, prefix = unwritable
    with contextlib.ExitStack() as open_files:
        if how == "a rollback journal":
            assert db.value("PRAGMA journal_mode=delete") == "delete"
        else:
            owner = open_files.enter_context(db.connect())
            owner.execute("UPDATE notes SET done=5")
        _read_as(db, prefix)
    assert sorted(p.name for p in db.path.parent.iterdir()) == ["app.db"]


def _read_as(db, prefix):
    assert subprocess.run([*prefix, "touch", str(db.path.parent / "x")], capture_output=True).returncode != 0
    for arguments in [("status", str(db.path)), ("status", str(db.path), "--json"), ("changes", str(db.path), "--since", "0")]:
        done = subprocess.run([*prefix, binary(), *arguments], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, (arguments, done.stderr)
        assert "notes" in done.stdout
    follower = tail(db.path, "--since", "0", prefix=prefix)
    assert strict_json.loads(follower.stdout.readline())["op"] == "read"
    follower.send_signal(signal.SIGTERM)
    assert follower.wait(5) == 0
    follower.communicate()


def test_a_wal_that_was_closed_cannot_be_read_there_and_says_why(unwritable):
    db, prefix = unwritable
    done = subprocess.run([*prefix, binary(), "status", str(db.path)], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 or (done.returncode == 1 and "WAL" in done.stderr and str(db.path) in done.stderr), done.stderr


def test_watch_says_why_it_cannot_where_nothing_may_be_written(unwritable):
    db, prefix = unwritable
    done = subprocess.run([*prefix, binary(), "watch", str(db.path), "pairs"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and str(db.path) in done.stderr


def test_serving_a_file_that_may_not_be_written_goes_on_without_writing(unwritable, server):
    db, prefix = unwritable
    db.run("PRAGMA journal_mode=delete")
    feed = server(db, prefix=prefix)
    assert len(feed.changes(since=0)["changes"]) == 2
    assert "--read-only" in feed.log()


def test_a_name_with_odd_characters_is_a_file_like_any_other(tmp_path):
    from harness.database import Database
    db = Database(tmp_path / "a b?mode=ro&x#y%41.db", SCHEMA)
    litefeed("watch", db.path, "notes")
    assert len(strict_json.loads(litefeed("changes", db.path, "--since", "0").stdout)["changes"]) == 2
    assert len(list(tmp_path.iterdir())) == 1


def test_options_may_stand_in_the_environment_and_in_a_file(database, server, tmp_path):
    db = database(SCHEMA)
    feed = server(db, environment={"LITEFEED_WATCH": "notes", "LITEFEED_HIDE": "notes.title"})
    assert feed.changes(since=0)["changes"][0]["row"] == {"id": 1, "done": 0}
    config = tmp_path / "litefeed.toml"
    config.write_text('[serve]\nthreads = 2\nhide = ["notes.title"]\n')
    other = server(db, "--config", config)
    assert len(other.get("/status").json()["loops"]) == 2
    assert "title" not in other.rows("notes")["rows"][0]["row"]


def test_the_demo_moves_and_cleans_up(tmp_path):
    demo = subprocess.Popen([binary(), "demo", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        url, line = None, ""
        while url is None or "Write" not in line:
            line = demo.stdout.readline()
            assert line, demo.stderr.read()
            url = line.split()[1] if line.strip().startswith("Open") else url
        port = int(url.rsplit(":", 1)[1].strip("/"))
        from harness.sse import Stream
        with Stream(port, "/events?since=0") as stream:
            stream.run()
            assert stream.delta(15)["changes"], "something moves"
        assert list(tmp_path.iterdir())
    finally:
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(5) == 0
        demo.communicate()
    assert list(tmp_path.iterdir()) == []
