"""One storm: what befalls the file, and the readers judged whenever the writers pause."""

import collections
import contextlib
import itertools
import os
import random
import shutil
import sqlite3
import sys
import time

from harness.database import Database
from harness.server import Server
from harness.tools import E2E, free_port, litefeed, spawn
from harness.waiting import eventually

from .readers import ByHttp, BySql, table_content
from .tables import SCRIPT, TABLES

LIVE = ["kill a writer", "kill the server", "compact", "compact by count", "keep the window", "keep the latest", "unwatch", "watch",
        "add a column", "a newer trigger", "drop the triggers", "vacuum", "make an index", "drop the index", "back up",
        "restore live", "restore without a server"]
PAUSED = ["nothing", "restore by mv", "restore by cp", "compact", "unwatch", "watch", "vacuum", "add a column", "a newer trigger"]
WRITERS = 3


class Storm:
    def __init__(self, home, seed):
        self.home, self.seed, self.rng = home, seed, random.Random(seed)
        self.counts = collections.Counter()
        self.log = []
        self.number = itertools.count(1)
        self.db = Database(home / "app.db", SCRIPT)
        litefeed("watch", self.db.path, "--retention", "1s", *TABLES)
        litefeed("watch", self.db.path, "--keep", "latest", "--retention", "1s", "kept")
        self.server = Server(home, self.db, listen=f"127.0.0.1:{free_port()}")
        self.http = ByHttp(self.server.url, seed)
        self.sql = [BySql(self.db.path, t, f"{seed} {t}") for t in TABLES]
        self.readers = [self.http, *self.sql]
        self.writers = [self.start_writer() for _ in range(WRITERS)]
        self.backups = []
        self.live, self.paused = [], []
        self.act("back up")

    # Writers

    def start_writer(self):
        return spawn(sys.executable, "-m", "storm.writer", self.db.path, self.rng.getrandbits(40), self.home / "done", cwd=E2E,
                     stdin=-1)

    def say(self, words):
        for writer in self.writers:
            writer.stdin.write(words + "\n")
            writer.stdin.flush()
        if words == "pause":
            for writer in self.writers:
                told = writer.stdout.readline()
                assert told == "paused\n", f"a writer ended: {writer.communicate()[1]}"

    # What befalls the file

    def do_kill_a_writer(self):
        number = self.rng.randrange(WRITERS)
        victim = self.writers[number]
        assert victim.poll() is None, victim.communicate()[1]
        victim.kill()
        victim.communicate()
        self.writers[number] = self.start_writer()

    def do_kill_the_server(self, meanwhile=lambda: None):
        port = self.server.port
        self.server.kill()
        meanwhile()
        time.sleep(self.rng.choice([0, 0, 0.3, 1]))
        self.server.arguments = {"": ["--compact-every", "1s"], "--compact-every": ["--threads", "2"], "--threads": []}[
            "".join(self.server.arguments[:1])]
        self.server.start(f"127.0.0.1:{port}")
        self.counts["restarts of the server"] += 1

    def let_the_server_look(self):
        eventually(lambda: self.db.value("SELECT schema_version FROM litefeed_meta") == self.db.value("PRAGMA schema_version"), 20)

    def compact(self, *how):
        done = litefeed("compact", self.db.path, *how, check=False)
        # In what is going on here it may well be called off; it says so.
        assert done.returncode == 0 or "is not thinned to the end" in done.stderr, done

    def do_compact(self):
        self.compact()

    def do_compact_by_count(self):
        self.compact("--entries-max", str(self.rng.randrange(1, 200)))
        self.compact("--entries-max", "10000000")

    def do_keep_the_window(self):
        litefeed("watch", self.db.path, "--keep", "window", "--retention", "1s", "kept")

    def do_keep_the_latest(self):
        litefeed("watch", self.db.path, "--keep", "latest", "--retention", "1s", "kept")

    def watched(self):
        return {row[0] for row in self.db.ask("SELECT name FROM litefeed_tables WHERE watched")}

    def do_unwatch(self):
        watched = sorted(self.watched())
        if len(watched) < 3:
            return False
        litefeed("unwatch", self.db.path, self.rng.choice(watched))

    def do_watch(self):
        if self.watched() == set(TABLES):
            self.act("unwatch")
        for table in sorted(set(TABLES) - self.watched()):
            litefeed("watch", self.db.path, "--retention", "1s", table)

    def do_add_a_column(self):
        table, default = self.rng.choice(TABLES), self.rng.choice(["7", "1.5", "'x'"])
        if len(self.db.affinities(table)) > 12:
            return False
        self.db.run(f"ALTER TABLE {table} ADD COLUMN c{next(self.number)} DEFAULT {default}")

    def do_a_newer_trigger(self):
        table, body = self.rng.choice([("items", "UPDATE items SET n = n + 100 WHERE id = NEW.id"),
                                       ("kept", "DELETE FROM items WHERE id = NEW.id"),
                                       ("names", "INSERT OR REPLACE INTO kept(id, v) VALUES(NEW.tag, NEW.name)"),
                                       ("pairs", "SELECT RAISE(IGNORE) WHERE NEW.v > 3")])
        self.db.run(f"CREATE TRIGGER own{next(self.number)} AFTER UPDATE ON {table} BEGIN {body}; END")

    def do_drop_the_triggers(self):
        names = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB 'own*'"
        if not self.db.ask(names):
            self.act("a newer trigger")
        self.db.run(*[f"DROP TRIGGER {name}" for name, in self.db.ask(names)])

    def do_vacuum(self):
        self.db.run("VACUUM")

    def do_make_an_index(self):
        if self.has_index():
            self.act("drop the index")
        self.db.commit("DELETE FROM items WHERE id NOT IN (SELECT min(id) FROM items GROUP BY v)",
                       "CREATE UNIQUE INDEX late ON items(v)")

    def has_index(self):
        return bool(self.db.ask("SELECT 1 FROM sqlite_schema WHERE name = 'late'"))

    def do_drop_the_index(self):
        if not self.has_index():
            self.act("make an index")
        self.db.run("DROP INDEX late")

    def do_back_up(self):
        path = self.home / f"backup-{next(self.number)}.db"
        with self.db.connect() as live, contextlib.closing(sqlite3.connect(path)) as copy:
            live.backup(copy)
        self.backups = [*self.backups[-3:], path]

    def do_restore_live(self):
        with contextlib.closing(sqlite3.connect(self.rng.choice(self.backups))) as copy, self.db.connect() as live:
            copy.backup(live)

    def do_restore_without_a_server(self):
        """Nobody draws a new lineage then: what a reader has read, and no number, tells it that this is another history."""
        self.do_kill_the_server(self.do_restore_live)

    def checkpoint(self):
        """As an owner does before he moves files about; nobody writes. The server may be repairing still."""
        eventually(lambda: self.db.ask("PRAGMA wal_checkpoint(TRUNCATE)") == [(0, 0, 0)], 10)

    def do_restore_by_mv(self):
        new = self.home / "new.db"
        shutil.copyfile(self.rng.choice(self.backups), new)
        self.checkpoint()
        for end in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.db.path}{end}")
        os.replace(new, self.db.path)

    def do_restore_by_cp(self):
        if self.server.arguments[:1] == ["--compact-every"]:
            self.act("kill the server")  # it writes by itself, and who writes is stopped first
        backup = self.rng.choice(self.backups)
        # Where the copy is longer, SQLite calls the file malformed until everybody has closed it, with litefeed or without.
        self.checkpoint()  # which cuts off what a VACUUM left over
        while self.db.path.stat().st_size < backup.stat().st_size:
            self.db.run("INSERT INTO filler VALUES(randomblob(20000))")
            self.checkpoint()
        shutil.copyfile(backup, self.db.path)
        # README.md: noticed at the next commit at the latest.
        self.db.run("UPDATE items SET n = n + 1 WHERE id = (SELECT min(id) FROM items)")

    def do_nothing(self):
        pass

    def act(self, what):
        began = time.monotonic()
        done = getattr(self, "do_" + what.replace(" ", "_"))() is not False
        self.counts[what] += done
        self.log.append(f"{what}{'' if done else ' (nothing to do)'}, {time.monotonic() - began:.2f} s")

    def draw(self, deck, kinds):
        """From a shuffled deck, so that each kind comes before any comes again."""
        if not deck:
            deck += kinds
            self.rng.shuffle(deck)
        return deck.pop()

    # Judging

    def compare(self):
        self.say("pause")
        for reader in self.readers:
            reader.halt()
        self.judge("when the writers paused")
        what = self.draw(self.paused, PAUSED)
        self.act(what)
        if what != "nothing":
            self.judge(what)
        for reader in self.readers:
            reader.go()
        self.say("go")

    def judge(self, after):
        # By SQL first: a question over HTTP makes the server look, and put in order what the owner changed.
        for reader, tables in [*[(r, [r.copy.table]) for r in self.sql], (self.http, TABLES)]:
            reader.refresh()
            watched = self.watched()
            for table in tables:
                columns = self.db.affinities(table)
                have = sorted(reader.content(table, columns), key=repr) if table in watched or reader is self.http else []
                want = sorted(table_content(self.db, table, columns), key=repr) if table in watched else []
                assert reader is self.http or reader.watched == (table in watched), (after, table)
                assert have == want, (
                    f"{after}: {type(reader).__name__}: {table}: only in the copy {[r for r in have if r not in want][:5]}; "
                    f"only in the table {[r for r in want if r not in have][:5]}; {len(have)} and {len(want)} rows")
                self.counts["comparisons"] += 1

    # From beginning to end

    def blow(self, seconds):
        end = time.monotonic() + seconds
        for reader in self.readers:
            reader.go()
        while time.monotonic() < end:
            for _ in range(self.rng.randrange(1, 5)):
                time.sleep(self.rng.random() * 0.4)
                self.act(self.draw(self.live, LIVE))
            time.sleep(self.rng.random() * 0.5)
            self.compare()
        self.counts["statements"] = (self.home / "done").stat().st_size
        self.counts["resets over HTTP"] = self.http.started_over
        self.counts["tables read again by SQL"] = sum(r.started_over for r in self.sql)
        self.counts["refreshes"] = sum(r.refreshed for r in self.readers)
        return self.counts

    def end(self):
        for reader in self.readers:
            reader.halted.set()
        for writer in self.writers:
            writer.kill()
            writer.communicate()
        for reader in self.readers:
            if reader.thread:
                reader.thread.join(40)
        if self.server.running:
            self.server.stop()

    def story(self):
        """What happened, for whoever looks at a failure."""
        told = ", ".join(f"{what}: {n}" for what, n in sorted(self.counts.items()))
        return f"\nLITEFEED_SEED={self.seed}\n{told}\nresets: {self.http.copies.reasons}\n" + "\n".join(self.log[-40:])
