"""Whoever writes the file, in whatever language and with whatever SQLite, is in the feed."""

import signal
import subprocess
import textwrap
import time

import pytest
from harness.replica import Replica
from harness.tools import node, node_environment, run, run_node, spawn, tool
from harness.waiting import eventually

# Each program is given the file and does the same: insert two rows, change one, replace one by its unique title, delete one.
STATEMENTS = [
    "INSERT INTO notes(title, done) VALUES('from here', 0)",
    "INSERT INTO notes(title, done) VALUES('and here', 0)",
    "UPDATE notes SET done = 1 WHERE title = 'from here'",
    "INSERT OR REPLACE INTO notes(id, title, done) VALUES(77, 'and here', 2)",
    "DELETE FROM notes WHERE title = 'old'",
]
WRITTEN = [("from here", 1), ("and here", 2)]

SCHEMA = "CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, done INTEGER NOT NULL); INSERT INTO notes VALUES(1,'old',0)"


def shell(path):
    run("sqlite3", "-cmd", ".timeout 5000", path, input=";\n".join(STATEMENTS) + ";\n")


def python(path):
    run("/usr/bin/python3", "-c", textwrap.dedent("""
        import sqlite3, sys
        c = sqlite3.connect(sys.argv[1], timeout=5)
        for s in sys.argv[2:]:
            with c:
                c.execute(s)
        """), path, *STATEMENTS)


def php(path):
    run(tool("php"), "-r", """
        $db = new PDO('sqlite:' . $argv[1]);
        $db->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
        $db->exec('PRAGMA busy_timeout=5000');
        foreach (array_slice($argv, 2) as $s) $db->exec($s);
        """, "--", path, *STATEMENTS)


def php_sqlite3(path):
    run(tool("php"), "-r", """
        $db = new SQLite3($argv[1]);
        $db->enableExceptions(true);
        $db->busyTimeout(5000);
        $db->exec('BEGIN');
        foreach (array_slice($argv, 2) as $s) $db->exec($s);
        $db->exec('COMMIT');
        """, "--", path, *STATEMENTS)


def perl(path):
    run(tool("perl"), "-MDBI", "-e", """
        my $file = shift;
        my $db = DBI->connect("dbi:SQLite:dbname=$file", "", "", {RaiseError => 1, AutoCommit => 1});
        $db->sqlite_busy_timeout(5000);
        $db->do($_) for @ARGV;
        """, path, *STATEMENTS)


def better_sqlite3(path):
    out = run_node("""
        const Database = require('better-sqlite3');
        const db = new Database(process.argv[1], {timeout: 5000});
        const run = db.transaction(() => { for (const s of process.argv.slice(2)) db.prepare(s).run(); });
        run();
        console.log(db.prepare('SELECT sqlite_version() AS v').get().v);
        db.close();
        """, path, *STATEMENTS)
    version = tuple(int(n) for n in out.stdout.strip().split("."))
    assert version > (3, 45), f"better-sqlite3 brings its own, newer SQLite, not {version}"


WRITERS = [shell, python, php, php_sqlite3, perl, better_sqlite3]


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize("write", WRITERS, ids=lambda w: w.__name__)
def test_what_any_program_writes_is_in_the_feed(write, journal, database, server):
    db = database(SCHEMA, journal=journal)
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    with feed.events(since=replica.cursor) as stream:
        stream.start()
        write(db.path)
        last = db.value("SELECT max(seq) FROM litefeed_log")
        followed = Replica()
        followed.tables = {"notes": dict(replica.rows("notes"))}
        while followed.cursor == "0" or int(followed.cursor.split("-")[0]) < last:
            followed.apply(stream.delta())
    replica.catch_up(feed)
    for one in (replica, followed):
        one.assert_equals(db, "notes")
    assert db.ask("SELECT title, done FROM notes ORDER BY id") == WRITTEN
    assert replica.resets == [] and db.value("PRAGMA journal_mode") == journal


def test_an_old_sqlite_writes_the_bytes_of_a_watched_file(database, server):
    db = database(SCHEMA, journal="delete")
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    before = replica.cursor
    out = run_node("""
        const fs = require('fs'), SQL = require('sql.js');
        const path = process.argv[1];
        const db = new SQL.Database(fs.readFileSync(path));
        for (const s of process.argv.slice(2)) db.run(s);
        console.log(db.exec('SELECT sqlite_version()')[0].values[0][0]);
        const bytes = Buffer.from(db.export());
        const fd = fs.openSync(path, 'r+');     // in place, as a program does that saves its own copy
        fs.ftruncateSync(fd, 0);
        fs.writeSync(fd, bytes, 0, bytes.length, 0);
        fs.closeSync(fd);
        """, db.path, *STATEMENTS)
    assert out.stdout.strip() == "3.22.0"
    answer = feed.changes(since=before)
    assert "reset" not in answer, answer
    replica.apply(answer)
    replica.assert_equals(db, "notes")
    assert db.ask("SELECT title, done FROM notes ORDER BY id") == WRITTEN
    assert db.value("PRAGMA integrity_check") == "ok"


DJANGO = {
    "noteapp/__init__.py": "",
    "noteapp/models.py": """
from django.db import models

class Note(models.Model):
    title = models.CharField(max_length=80, unique=True)
    body = models.TextField(default="")
    price = models.DecimalField(max_digits=9, decimal_places=2, null=True)
    at = models.DateTimeField(auto_now=True)
    class Meta:
        db_table = "notes"

class Tag(models.Model):
    note = models.ForeignKey(Note, on_delete=models.CASCADE)
    name = models.CharField(max_length=20)
    class Meta:
        db_table = "tags"
""",
    "project.py": """
import sys, django
from django.conf import settings
settings.configure(INSTALLED_APPS=["noteapp"], USE_TZ=True, SECRET_KEY="x", DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
                   DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]}})
django.setup()
from django.db import connection, models, transaction
from noteapp.models import Note, Tag

step = sys.argv[2]
if step == "migrate":
    with connection.schema_editor() as editor:
        editor.create_model(Note)
        editor.create_model(Tag)
elif step == "alter":
    longer = models.CharField(max_length=200, unique=True)
    longer.set_attributes_from_name("title")
    longer.model = Note
    extra = models.IntegerField(default=7)
    extra.set_attributes_from_name("extra")
    extra.model = Note
    with connection.schema_editor() as editor:
        editor.alter_field(Note, Note._meta.get_field("title"), longer, strict=True)
        editor.add_field(Note, extra)
elif step == "write":
    first = Note.objects.create(title="a", price="1.50")
    Note.objects.bulk_create([Note(title=t) for t in "bcdef"])
    Note.objects.filter(title__in="bc").update(body="changed")
    Note.objects.update_or_create(title="d", defaults={"body": "again"})
    first.tag_set.create(name="x")
    Note.objects.get(title="e").tag_set.create(name="y")
    first.delete()
    with transaction.atomic():
        Note.objects.create(title="g")
        try:
            with transaction.atomic():
                Note.objects.create(title="h")
                raise ValueError
        except ValueError:
            pass
""",
}


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_django_writes_through_its_orm(journal, database, server, tmp_path):
    db = database("", journal=journal)
    (tmp_path / "noteapp").mkdir()
    for name, text in DJANGO.items():
        (tmp_path / name).write_text(text)

    def django(step):
        run("/usr/bin/python3", tmp_path / "project.py", db.path, step)

    django("migrate")
    feed = server(db, "--watch", "notes", "--watch", "tags")
    replica = Replica().catch_up(feed)
    django("write")
    replica.catch_up(feed).assert_equals(db, "notes", "tags")
    assert replica.resets == [] and len(replica.rows("notes")) == 6 and len(replica.rows("tags")) == 1
    django("alter")
    replica.catch_up(feed).assert_equals(db, "notes", "tags")
    assert replica.resets and set(replica.resets) <= {"triggers_restored", "schema_changed"}, "a rebuilt table is told"
    db.run("UPDATE notes SET body='last'")
    resets = len(replica.resets)
    replica.catch_up(feed).assert_equals(db, "notes", "tags")
    assert len(replica.resets) == resets


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_writer_killed_inside_a_transaction_leaves_nothing(journal, database, server):
    db = database(SCHEMA, journal=journal)
    feed = server(db, "--watch", "notes")
    replica = Replica().catch_up(feed)
    before = replica.cursor
    writer = subprocess.Popen(["/usr/bin/python3", "-c", textwrap.dedent("""
        import sqlite3, sys, time
        c = sqlite3.connect(sys.argv[1], isolation_level=None)
        c.execute("PRAGMA cache_size=5")  # so that pages reach the disk before the commit
        c.execute("BEGIN IMMEDIATE")
        c.executemany("INSERT INTO notes(title, done) VALUES(?, 0)", [(f"{i}" * 200,) for i in range(3000)])
        c.execute("DELETE FROM notes WHERE title='old'")
        print("in", flush=True)
        time.sleep(60)
        """), str(db.path)], stdout=subprocess.PIPE, text=True)
    with feed.events(since=before) as stream:
        assert writer.stdout.readline() == "in\n"
        time.sleep(0.2)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert stream.quiet(0.3)
        db.run("INSERT INTO notes VALUES(5,'after',0)")
        replica.apply(stream.delta())
    replica.assert_equals(db, "notes")
    replica.catch_up(feed).assert_equals(db, "notes")
    assert [c["key"]["id"] for c in feed.changes(since=before)["changes"]] == [5]
    assert replica.resets == [] and db.value("PRAGMA integrity_check") == "ok"


def test_several_programs_at_once(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, who TEXT, n INTEGER)")
    feed = server(db, "--watch", "t")
    replica = Replica().catch_up(feed)
    js = """
        const db = new (require('better-sqlite3'))(process.argv[1], {timeout: 20000});
        db.pragma('synchronous=OFF');
        for (let i = 0; i < 300; i++) db.prepare('INSERT INTO t(who, n) VALUES(?, ?)').run('node', i);
        """
    perl_script = """
        my $db = DBI->connect("dbi:SQLite:dbname=$ARGV[0]", "", "", {RaiseError => 1});
        $db->sqlite_busy_timeout(20000); $db->do("PRAGMA synchronous=OFF");
        $db->do("INSERT INTO t(who, n) VALUES('perl', $_)") for 0..299;
        """
    py = ("import sqlite3,sys\nc=sqlite3.connect(sys.argv[1],timeout=20,isolation_level=None)\nc.execute('PRAGMA synchronous=OFF')\n"
          "for i in range(300): c.execute(\"INSERT INTO t(who,n) VALUES('python',?)\",(i,))")
    with feed.events(since=replica.cursor) as stream:
        programs = [spawn(node(), "-e", js, db.path, env=node_environment()), spawn("perl", "-MDBI", "-e", perl_script, db.path),
                    spawn("/usr/bin/python3", "-c", py, db.path)]
        stamps = []
        while len(stamps) < 900:
            delta = stream.delta(20)
            stamps += [c["stamp"] for c in delta["changes"]]
            replica.apply(delta)
        assert stamps == sorted(set(stamps))
        for p in programs:
            _, errors = p.communicate(timeout=30)
            assert p.returncode == 0, errors
    replica.assert_equals(db, "t")
    for who in ("node", "perl", "python"):
        seen = [row["n"] for _, row in replica.rows("t").values() if row["who"] == who]
        assert sorted(seen) == list(range(300))


def test_a_write_inside_an_open_transaction_is_told_at_its_commit(database, server):
    db = database(SCHEMA)
    feed = server(db, "--watch", "notes")
    before = feed.changes()
    with db.connect() as a:
        a.execute("BEGIN IMMEDIATE")
        a.execute("INSERT INTO notes VALUES(2,'held',0)")
        for _ in range(10):
            assert feed.changes(since=before["cursor"])["head"] == before["head"], "B39: nothing shows before the commit"
        a.execute("COMMIT")
    eventually(lambda: feed.changes(since=before["cursor"])["changes"])
