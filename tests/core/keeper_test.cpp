#include "core/keeper.hpp"

#include "core/format.hpp"
#include "core/schema_drift.hpp"
#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

const std::string notes =
    "CREATE TABLE t(id INTEGER PRIMARY KEY, u, v); CREATE UNIQUE INDEX tu ON t(u); INSERT INTO t "
    "VALUES(1,'a',0),(2,'b',0)";

/// `t: triggers_restored` for each new generation, `gone: t` and `problem: …`.
std::string repaired(const owner_file& f, const rest_cursor& seen = {}) {
    keeper k = keeper_of(f);
    const auto report = k.repair(seen);
    REQUIRE_MESSAGE(report.has_value(), report.error().message());
    std::string out;
    const auto add = [&out](const std::string& what) { out += (out.empty() ? "" : "; ") + what; };
    for (const auto& [table, reason] : report->generations) add(table + ": " + reason);
    for (const std::string& table : report->dropped) add("gone: " + table);
    for (const std::string& why : report->problems) add("problem: " + why);
    return out;
}
std::string catalog(const owner_file& f) {
    return f.rows(
        "SELECT name, watched, generation, reason FROM litefeed_tables ORDER BY table_id");
}
/// What repair says and does after `change`; afterwards a second one does nothing, the capture works and a reader
/// from before is led back to the truth.
std::string repaired_after(const std::string& change, const std::string& table = "t") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f, {.read_only = true});
    replica reader(reads);
    reader.follow();
    f.sql(change);
    const std::string out = repaired(f);
    const std::string before = f.dump();
    CHECK(repaired(f) == "");
    CHECK(f.dump() == before);
    reader.follow();
    CHECK(reader.text(table) == reader.truth(table));
    f.sql("REPLACE INTO \"" + table + "\" SELECT * FROM \"" + table + "\"");
    f.sql("DELETE FROM \"" + table + "\" WHERE rowid = 1");
    reader.follow();
    CHECK(reader.text(table) == reader.truth(table));
    std::string resets;
    for (const std::string& r : reader.resets) resets += " | " + r;
    return out + resets;
}

}  // namespace

TEST_SUITE_BEGIN("core/keeper");

TEST_CASE("watching is said once, and the second time nothing is written") {
    owner_file f(notes + ";CREATE TABLE s(x)");
    const watch_report first = watch(f, {"T", "s"});
    CHECK(first.watched == std::vector<std::string>{"t", "s"});
    CHECK(first.kept.empty());
    REQUIRE(first.warnings.size() == 1);
    CHECK(first.warnings[0].first == "s");
    CHECK(contains(first.warnings[0].second, "VACUUM renumbers"));
    const std::string bytes = f.bytes();
    const watch_report second = watch(f, {"t", "S"});
    CHECK(second.watched.empty());
    CHECK(second.kept == std::vector<std::string>{"t", "s"});
    CHECK(second.repaired.empty());
    CHECK(repaired(f) == "");
    CHECK(f.bytes() == bytes);
}

TEST_CASE("the format is one lineage, one row of meta and the verified schema") {
    owner_file f(notes);
    watch(f, {"t"});
    const connection db(f.path(), connection::access::read_only, 0);
    const meta m = read_meta(db);
    CHECK(m.format == format_number);
    CHECK(m.lineage.size() == 32);
    CHECK(m.short_lineage() != 0);
    CHECK(m.floor == stamp{0});
    CHECK(m.seen_through == stamp{1});
    CHECK(m.schema_version == db.integer("PRAGMA schema_version"));
    CHECK(f.rows("SELECT op, table_id FROM litefeed_log") == "g|1");
    CHECK(f.rows("SELECT table_id, name, watched, key_columns, keep, contract, generation, "
                 "generation_seq, reason, problem FROM litefeed_tables") ==
          "1|t|1|[\"id\"]|window|1|1|1|enabled|NULL");
    CHECK(unseen_between(read_verified_schema(db), read_schema(db)).steps == 0);
    CHECK(f.rows("PRAGMA integrity_check") == "ok");
    CHECK(f.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'litefeed%' AND type = 'table' "
                 "ORDER BY name") ==
          "litefeed_consumers litefeed_contracts litefeed_log litefeed_marks litefeed_meta "
          "litefeed_schema litefeed_shapes litefeed_tables");
}

TEST_CASE(
    "a table that cannot be watched changes nothing at all, neither it nor those named with it") {
    owner_file f(notes + ";CREATE VIEW w AS SELECT 1");
    const std::string bytes = f.bytes();
    CHECK(cannot_of([&] { watch(f, {"t", "w"}); }) ==
          "cannot watch w: it is a view; watch the tables behind it");
    CHECK(cannot_of([&] { watch(f, {"nothing"}); }) ==
          "cannot watch nothing: there is no such table");
    CHECK(f.bytes() == bytes);
    CHECK(f.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'litefeed%'") == "");
}

TEST_CASE("watch-all takes what it can and lists the rest; its plan writes nothing") {
    owner_file f(notes + ";CREATE VIEW w AS SELECT 1; CREATE TABLE s(x)");
    const std::string bytes = f.bytes();
    const watch_report plan = keeper_of(f).plan_all({});
    CHECK(plan.watched == std::vector<std::string>{"t", "s"});
    CHECK(f.bytes() == bytes);
    const watch_report done = keeper_of(f).watch_all({});
    CHECK(done.watched == plan.watched);
    REQUIRE(done.refused.size() == 1);
    CHECK(done.refused[0].first == "w");
    CHECK(keeper_of(f).watch_all({}).kept == plan.watched);
}

TEST_CASE("unwatching everything leaves schema and rows as they were before the first watch") {
    for (const std::string& sql :
         {notes,
          notes + ";CREATE TABLE a(x, y, z, PRIMARY KEY(x, y, z)) WITHOUT ROWID; CREATE TABLE s(x);"
                  "CREATE TRIGGER mine AFTER INSERT ON s BEGIN SELECT 1; END"}) {
        owner_file f(sql);
        const std::string before = f.dump();
        keeper_of(f).watch_all({});
        CHECK(f.dump() != before);
        keeper_of(f).unwatch_all();
        CHECK(f.dump() == before);
        CHECK(keeper_of(f).unwatch_all().empty());
        CHECK(f.rows("PRAGMA integrity_check") == "ok");
        CHECK(f.refusal("INSERT INTO t VALUES(9, 9, 9)") == "");
    }
}

TEST_CASE(
    "who followed a table that is unwatched is told truncate, once; others are told nothing") {
    owner_file f(notes + ";CREATE TABLE s(id INTEGER PRIMARY KEY); INSERT INTO s VALUES(1)");
    watch(f, {"t", "s"});
    feed reads = feed_of(f);
    replica all(reads), only_s(reads, {.tables = {"s"}});
    all.follow();
    only_s.follow();
    const position before = all.at;
    keeper_of(f).unwatch({"T"});
    CHECK(told(ask(reads, before, {.tables = {"t"}})) == "truncate");
    all.follow();
    only_s.follow();
    CHECK(all.text("t") == "");
    CHECK(all.text("s") == all.truth("s"));
    CHECK(only_s.text("s") == all.text("s"));
    CHECK(all.resets.empty());
    CHECK(f.logged("INSERT INTO t VALUES(5,5,5)") == "");
    CHECK(cannot_of([&] { keeper_of(f).unwatch({"t"}); }) == "cannot unwatch t: it is not watched");
    CHECK(contains(cannot_of([&] { keeper_of(f).unwatch({"s", "nothing"}); }), "nothing"));
    CHECK(f.logged("INSERT INTO s VALUES(5)") == "i[5]");
}

TEST_CASE("a table that is watched again begins a new generation, and its readers start over") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    replica reader(reads);
    reader.follow();
    const position before = reader.at;
    keeper_of(f).unwatch({"t"});
    f.sql("DELETE FROM t WHERE id = 1");
    watch(f, {"t"});
    const answer a = ask(reads, before);
    CHECK(reset_of(a) == "enabled: t");
    reader.follow();
    CHECK(reader.text("t") == reader.truth("t"));
    CHECK(f.logged("INSERT INTO t VALUES(7,7,7)") == "i[7]");
    reader.follow();
    CHECK(reader.text("t") == reader.truth("t"));
    CHECK(reader.resets.size() == 1);
}

TEST_CASE("a wider key widens the log, and narrower ones are as before") {
    owner_file f(
        notes +
        ";CREATE TABLE w(a NOT NULL, b NOT NULL, c NOT NULL, PRIMARY KEY(a, b, c)) WITHOUT ROWID");
    watch(f, {"t"});
    feed reads = feed_of(f);
    replica reader(reads);
    reader.follow();
    f.sql("INSERT INTO t VALUES(3,3,3)");
    const position before = ask(reads, from_now{}).next;
    CHECK(f.rows("SELECT name FROM pragma_table_info('litefeed_log') WHERE name LIKE 'key%'") ==
          "key");
    watch(f, {"w"});
    CHECK(f.rows("SELECT name FROM pragma_table_info('litefeed_log') WHERE name LIKE 'key%'") ==
          "key key2 key3");
    CHECK(f.logged("INSERT INTO w VALUES(1,'x',2.5); INSERT INTO t VALUES(4,4,4)") ==
          "i[1,'x',2.5] i[4]");
    reader.follow();
    CHECK(reader.text("t") == reader.truth("t"));
    CHECK(reader.text("w") == reader.truth("w"));
    CHECK(reset_of(ask(reads, before, {.tables = {"t"}})) == "");
}

TEST_CASE("other options take effect without a new generation") {
    owner_file f(notes);
    watch(f, {"t"});
    CHECK(watch(f, {"t"}, {.skip_unchanged = true}).kept == std::vector<std::string>{"t"});
    CHECK(f.logged("UPDATE t SET v = v") == "");
    CHECK(catalog(f) == "t|1|1|enabled");
    watch(f, {"t"}, {.replace_guards = false});
    CHECK(f.logged("UPDATE t SET v = v WHERE id = 1; REPLACE INTO t VALUES(1,'a',0)") ==
          "u[1] i[1]");
    CHECK(repaired(f) == "");
}

TEST_CASE(
    "an installation whose log was dropped by hand fails the owner's writes, and repair heals it") {
    owner_file f(notes);
    watch(f, {"t"});
    f.sql("DROP TABLE litefeed_log");
    CHECK(contains(f.refusal("INSERT INTO t VALUES(9,9,9)"), "litefeed_log"));
    CHECK(feed_of(f).changes(question_from(from_now{})).error() == make_error_code(errc::drifted));
    CHECK(repaired(f) == "t: feed_restored");
    CHECK(f.logged("INSERT INTO t VALUES(9,9,9)") == "i[9]");
    CHECK(watch(f, {"t"}).kept == std::vector<std::string>{"t"});
    f.sql("DROP TABLE litefeed_meta");
    keeper_of(f).unwatch_all();
    CHECK(f.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'litefeed%'") == "");
    CHECK(f.refusal("INSERT INTO t VALUES(10,10,10)") == "");
}

TEST_CASE("repair: what litefeed never writes into its own tables begins the feed again") {
    for (const std::string how : {
             "DROP TABLE litefeed_meta",
             "DROP TABLE litefeed_tables",
             "DROP TABLE litefeed_log",
             "DROP TABLE litefeed_log; DROP TABLE litefeed_meta; DROP TABLE litefeed_tables",
             "DELETE FROM litefeed_meta",
             "UPDATE litefeed_meta SET id = 1",
             "UPDATE litefeed_meta SET format = NULL",
             "UPDATE litefeed_meta SET lineage = 'x'",
             "UPDATE litefeed_meta SET floor = -1",
             "UPDATE litefeed_meta SET floor = 9007199254740993",
             "INSERT INTO litefeed_log(seq) VALUES(9223372036854775807)",
             "UPDATE litefeed_tables SET key_columns = NULL",
             "INSERT INTO litefeed_tables(table_id, name, watched, key_columns) VALUES(7, 'T', 1, "
             "'[\"id\"]')",
             "UPDATE litefeed_tables SET generation_seq = -5",
             "UPDATE litefeed_tables SET table_id = -1",
             "ALTER TABLE litefeed_log DROP COLUMN at_ms",
             "ALTER TABLE litefeed_marks RENAME COLUMN digests TO d",
             "DROP TABLE litefeed_schema; CREATE VIEW litefeed_schema AS SELECT 1",
         }) {
        CAPTURE(how);
        owner_file f(notes);
        watch(f, {"t"}, {.skip_unchanged = true});
        f.sql(
            "UPDATE litefeed_meta SET entries_max = 77, retention_s = 5; INSERT INTO t "
            "VALUES(11,11,11)");
        const answer before = [&] {
            feed earlier = feed_of(f);
            return ask(earlier, from_now{});
        }();
        f.sql(how);
        feed reads = feed_of(f), unrepaired = feed_of(f, {.read_only = true});
        CHECK(unrepaired.changes(question_from(before.next)).error() ==
              make_error_code(errc::damaged));
        CHECK(reads.changes(question_from(before.next)).error() == make_error_code(errc::drifted));
        CHECK(repaired(f) == "t: feed_restored");
        CHECK(repaired(f) == "");
        const answer after = ask(reads, before.next);
        CHECK(reset_of(after) == "restored: t");
        const bool no_number_is_left = how.find("log; DROP") != std::string::npos;
        CHECK((no_number_is_left || after.head > before.head));
        CHECK((no_number_is_left || reset_of(ask(reads, before.head)) == "feed_restored: t"));
        CHECK(f.logged("UPDATE t SET v = v; INSERT INTO t VALUES(12,12,12)") == "i[12]");
        CHECK(told(ask(reads, after.next)) == "insert 12");
        if (how.find("litefeed_meta") == std::string::npos)
            CHECK(f.rows("SELECT entries_max, retention_s FROM litefeed_meta") == "77|5");
        CHECK(f.rows("PRAGMA integrity_check") == "ok");
    }
}

TEST_CASE("a log that was cut at its end is told to whoever stood below, in that same answer") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    const answer before = ask(reads, from_now{});
    f.sql("INSERT INTO t VALUES(11,11,11); INSERT INTO t VALUES(12,12,12)");
    (void)ask(reads, from_now{});
    f.sql("DELETE FROM litefeed_log WHERE seq = 3");
    CHECK(reset_of(ask(reads, before.next)) == "restored: t");
    f.sql("INSERT INTO t VALUES(13,13,13)");  // takes the number
    CHECK(reset_of(ask(reads, before.next)) == "restored: t");
    CHECK(reads.look().value().gone.has_value());
    CHECK(reset_of(ask(reads, ask(reads, from_now{}).next)) == "");
}

TEST_CASE(
    "a log that ends below the head at which capture was verified is lost, also after a stop") {
    owner_file f(notes);
    watch(f, {"t"});
    f.sql("INSERT INTO t VALUES(11,11,11); CREATE TABLE seen(x)");
    CHECK(repaired(f) == "");
    feed reads = feed_of(f);
    const answer before = ask(reads, stamp{1});
    f.sql("DELETE FROM litefeed_log WHERE seq = 2");
    feed later = feed_of(f);
    CHECK(later.changes(question_from(before.next)).error() == make_error_code(errc::drifted));
    CHECK(repaired(f) == "t: feed_restored");
    CHECK(reset_of(ask(later, stamp{1})) == "below_floor: t");
}

TEST_CASE("a look notices that a table was taken out of litefeed_tables") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    CHECK(reads.look().value().watched->size() == 1);
    f.sql("DELETE FROM litefeed_tables");
    CHECK(reads.look().error() == make_error_code(errc::drifted));
    CHECK(repaired(f) == "t: feed_restored");
    CHECK(reads.look().value().watched->size() == 1);
}

TEST_CASE("repair: what the feed can go on without is made again, and nobody is told") {
    owner_file f(notes);
    watch(f, {"t"});
    f.sql("INSERT INTO t VALUES(11,11,11)");
    feed reads = feed_of(f);
    const answer before = ask(reads, from_now{});
    for (const std::string table : {"marks", "contracts", "consumers", "shapes"}) {
        CAPTURE(table);
        f.sql("DROP TABLE litefeed_" + table);
        CHECK(repaired(f) == "");
        CHECK(f.integer("SELECT count(*) FROM litefeed_" + table) >= 0);
        CHECK(told(ask(reads, before.next)) == "");
        CHECK(reset_of(ask(reads, before.next)) == "");
    }
}

TEST_CASE(
    "repair: a table taken out of litefeed_tables while its triggers stand is told, and watched "
    "on") {
    for (const std::string how :
         {"DELETE FROM litefeed_tables", "UPDATE litefeed_tables SET watched = 0"}) {
        CAPTURE(how);
        owner_file f(notes);
        watch(f, {"t"}, {.replace_guards = false, .skip_unchanged = true});
        const answer before = [&] {
            feed reads = feed_of(f);
            return ask(reads, from_now{});
        }();
        f.sql(how);
        feed reads = feed_of(f), unrepaired = feed_of(f, {.read_only = true});
        CHECK(reads.changes(question_from(before.next)).error() == make_error_code(errc::drifted));
        CHECK(unrepaired.changes(question_from(before.next)).error() ==
              make_error_code(errc::damaged));
        CHECK(repaired(f) == "t: feed_restored");
        CHECK(reset_of(ask(reads, before.next)) == "feed_restored: t");
        CHECK(f.logged("UPDATE t SET v = v; REPLACE INTO t VALUES(1,'a',0)") == "i[1]");
        CHECK(repaired(f) == "");
    }
}

TEST_CASE("repair: a log that was emptied begins again above every number that anybody can hold") {
    for (const std::string how : {
             "DELETE FROM litefeed_log",
             "DELETE FROM litefeed_log WHERE seq = 1",
             "DELETE FROM litefeed_log WHERE seq < 4",
         }) {
        CAPTURE(how);
        owner_file f(notes);
        watch(f, {"t"});
        f.sql(
            "INSERT INTO t VALUES(11,11,11); INSERT INTO t VALUES(12,12,12); DELETE FROM t WHERE "
            "id = 11");
        feed reads = feed_of(f);
        const answer before = ask(reads, from_now{});
        CHECK(before.head == stamp{4});
        f.sql(how);
        CHECK(reads.changes(question_from(before.next)).error() == make_error_code(errc::drifted));
        feed unrepaired = feed_of(f, {.read_only = true});
        CHECK(unrepaired.changes(question_from(from_nothing{})).error() ==
              make_error_code(errc::damaged));
        CHECK(keeper_of(f).repair(std::get<rest_cursor>(before.next)).has_value());
        CHECK(reset_of(ask(reads, before.next)) != "");
        CHECK(reset_of(ask(reads, stamp{2})) == "below_floor: t");
        const answer after = ask(reads, from_now{});
        CHECK(after.head > before.head);
        // SQLite looks for a trigger's tables in the schema that it knows; any read brings that up to date.
        (void)f.integer("SELECT count(*) FROM t");
        CHECK(f.refusal("INSERT INTO t VALUES(60,60,60)") == "");
        CHECK(told(ask(reads, after.next)) == "insert 60");
        CHECK_FALSE(ask(unrepaired, ask(unrepaired, from_now{}).next).reset.has_value());
        CHECK(repaired(f) == "");
    }
}

TEST_CASE("repair: a trigger that is missing, changed or no longer newest is a gap") {
    for (const std::string name : {"insert", "update", "update_key", "delete"}) {
        CHECK(repaired_after("DROP TRIGGER litefeed_1_" + std::string(name)) ==
              "t: triggers_restored | triggers_restored: t");
    }
    CHECK(repaired_after("DROP TRIGGER litefeed_1_insert; INSERT INTO t VALUES(9,9,9); DELETE FROM "
                         "t WHERE id = 1") == "t: triggers_restored | triggers_restored: t");
    CHECK(repaired_after("CREATE TRIGGER mine AFTER INSERT ON t BEGIN SELECT 1; END") ==
          "t: triggers_restored | triggers_restored: t");
}

TEST_CASE("repair: a missing guard is a gap only if the table was written since") {
    CHECK(repaired_after("DROP TRIGGER litefeed_1_guard_rowid") == "");
    CHECK(repaired_after(
              "DROP TRIGGER litefeed_1_guard_rowid; UPDATE OR REPLACE t SET id = 2 WHERE id = 1") ==
          "t: triggers_restored | triggers_restored: t");
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    const auto seen_at_head = [&] { return std::get<rest_cursor>(ask(reads, from_now{}).next); };
    f.sql("UPDATE t SET v = 1");
    const rest_cursor early = seen_at_head();
    f.sql("UPDATE t SET v = 1");
    f.sql("DROP TRIGGER litefeed_1_guard_insert");
    CHECK(repaired(f, early) == "t: triggers_restored");
    f.sql("UPDATE t SET v = 2");
    const rest_cursor late = seen_at_head();
    f.sql("DROP TRIGGER litefeed_1_guard_insert");
    CHECK(repaired(f, late) == "");
    CHECK(f.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'litefeed_1_guard_insert'") ==
          1);
}

TEST_CASE(
    "repair: what a reader saw in a history that is not in the file any more excuses nothing") {
    owner_file f(notes), backup;
    watch(f, {"t"});
    f.sql("UPDATE t SET v = 1");
    copy_file(f, backup);
    std::optional<feed> reads = feed_of(f);
    const position before = ask(*reads, from_now{}).next;
    f.sql("UPDATE t SET v = 2; UPDATE t SET v = 3");
    REQUIRE(ask(*reads, from_now{}).head > stamp{6});
    const rest_cursor seen = reads->verified_through();
    reads.reset();
    copy_file(backup, f);
    f.sql("CREATE UNIQUE INDEX tv ON t(v) WHERE v > 8; UPDATE t SET v = 9 WHERE id = 1");
    f.sql("REPLACE INTO t VALUES(3,'c',9)");  // row 1 goes, and nothing logs it
    REQUIRE(f.head() < seen.at);
    CHECK(repaired(f, seen) == "t: triggers_restored");
    feed after = feed_of(f);
    CHECK(reset_of(ask(after, before)) == "triggers_restored: t");
}

TEST_CASE("repair: entries that were thinned away may have been of the table") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    const position before = ask(reads, from_now{}).next;
    f.sql("CREATE UNIQUE INDEX tv ON t(v) WHERE v > 8; UPDATE t SET v = 9 WHERE id = 1");
    f.sql("REPLACE INTO t VALUES(3,'c',9)");
    f.sql("CREATE TABLE later(id INTEGER PRIMARY KEY)");
    f.sql("UPDATE litefeed_log SET at_ms = 0");
    f.sql("INSERT INTO litefeed_log(table_id, op, at_ms) VALUES(0, 'g', 2000000000000)");
    keeper k = keeper_of(f);
    REQUIRE(k.thin(2'000'000'000'000, [](const auto&) { return true; }).value().removed > 0);
    CHECK(repaired(f) == "t: triggers_restored");
    CHECK(ask(reads, before).reset.has_value());
}

TEST_CASE("repair: guards follow the indexes") {
    CHECK(repaired_after("CREATE UNIQUE INDEX tv ON t(v, u)") == "");
    CHECK(repaired_after("CREATE UNIQUE INDEX tv ON t(v, u); REPLACE INTO t VALUES(5,'c',0)") ==
          "t: triggers_restored | triggers_restored: t");
    CHECK(repaired_after("DROP INDEX tu") == "");
    CHECK(repaired_after(
              "DROP INDEX tu; CREATE UNIQUE INDEX tu ON t(u, v); REPLACE INTO t VALUES(5,'a',0)") ==
          "t: triggers_restored | triggers_restored: t");
    owner_file f(notes);
    watch(f, {"t"});
    f.sql("DROP INDEX tu; UPDATE t SET v = 3");
    repaired(f);
    CHECK(f.refusal("ALTER TABLE t DROP COLUMN u") == "");
}

TEST_CASE("repair: what touches no capture is nothing to repair") {
    for (const std::string change :
         {"CREATE INDEX i ON t(v)", "CREATE VIEW w AS SELECT * FROM t", "CREATE TABLE o(x)",
          "ANALYZE", "VACUUM", "DROP VIEW IF EXISTS w",
          "CREATE TABLE o(x); CREATE TRIGGER oo AFTER INSERT ON o BEGIN SELECT 1; END"}) {
        CAPTURE(change);
        CHECK(repaired_after(change) == "");
    }
}

TEST_CASE("repair: another shape is told as one") {
    CHECK(repaired_after("ALTER TABLE t ADD COLUMN w DEFAULT 5") ==
          "t: schema_changed | schema_changed: t");
    CHECK(repaired_after("ALTER TABLE t RENAME COLUMN v TO w") ==
          "t: schema_changed | schema_changed: t");
    CHECK(repaired_after("ALTER TABLE t RENAME COLUMN id TO key") ==
          "t: schema_changed | schema_changed: t");
    CHECK(repaired_after("ALTER TABLE t DROP COLUMN v") == "t: schema_changed | schema_changed: t");
    CHECK(repaired_after("ALTER TABLE t ADD COLUMN w; ALTER TABLE t RENAME COLUMN v TO z") ==
          "t: schema_changed | schema_changed: t");
}

TEST_CASE("repair: a table that was rebuilt or made anew starts over") {
    CHECK(repaired_after("DROP TABLE t; " + notes) ==
          "t: triggers_restored | triggers_restored: t");
    // As Django does it.
    CHECK(repaired_after(
              "BEGIN; CREATE TABLE \"new__t\"(id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, u, v, "
              "w);"
              "INSERT INTO \"new__t\" SELECT id, u, v, NULL FROM t WHERE id > 1; DROP TABLE t;"
              "ALTER TABLE \"new__t\" RENAME TO t; CREATE UNIQUE INDEX tu ON t(u); COMMIT") ==
          "t: triggers_restored | triggers_restored: t");
}

TEST_CASE("repair: a renamed table ends under its old name and begins under its new") {
    CHECK(repaired_after("ALTER TABLE t RENAME TO s", "s") == "s: enabled; gone: t | enabled: s");
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    const answer a = ask(reads, from_now{});
    f.sql("ALTER TABLE t RENAME TO s");
    repaired(f);
    const answer after = ask(reads, a.next, {.snapshot = true});
    CHECK(reset_of(after) == "enabled: s");
    CHECK(told(after) == "s truncate, s read 1, s read 2, t truncate");
    CHECK(f.logged("INSERT INTO s VALUES(7,7,7)") == "i[7]");
}

TEST_CASE("what only begins as litefeed's names do is the owner's, and is never dropped") {
    owner_file f(notes);
    f.sql(
        "CREATE TABLE litefeed_notes(id INTEGER PRIMARY KEY, v); INSERT INTO litefeed_notes "
        "VALUES(1, 'mine'); CREATE VIEW litefeed_view AS SELECT * FROM litefeed_notes; CREATE "
        "TRIGGER litefeed_mine AFTER INSERT ON t BEGIN UPDATE litefeed_notes SET v = 'fired'; END; "
        "CREATE TABLE litefeed_7_things(a)");
    const std::string before =
        f.rows("SELECT name, sql FROM sqlite_schema WHERE name LIKE 'litefeed%' ORDER BY name");
    watch(f, {"t"});
    f.sql("DROP TABLE litefeed_meta");
    CHECK(repaired(f) == "t: feed_restored");
    f.sql("DELETE FROM litefeed_tables");
    CHECK(repaired(f) == "t: feed_restored");
    f.sql("INSERT INTO t VALUES(77, 77, 77)");
    CHECK(f.rows("SELECT v FROM litefeed_notes") == "fired");
    CHECK(keeper::open(f.path(), false).unwatch_all() == std::vector<std::string>{"t"});
    CHECK(f.rows("SELECT name, sql FROM sqlite_schema WHERE name LIKE 'litefeed%' ORDER BY name") ==
          before);
    CHECK(keeper::open(f.path(), false).unwatch_all().empty());
}

TEST_CASE("repair: a renamed table keeps what becomes of its entries") {
    owner_file f(notes);
    (void)keeper::open(f.path(), false).watch({"t"}, {}, {.latest = true, .retention_s = 99});
    f.sql("ALTER TABLE t RENAME TO s");
    repaired(f);
    CHECK(f.rows("SELECT keep, retention_s FROM litefeed_tables WHERE name = 's'") == "latest|99");
}

TEST_CASE("repair: one table drops another and takes its name, and is watched once") {
    for (const bool first_goes : {true, false}) {
        CAPTURE(first_goes);
        owner_file f(notes);
        f.sql("CREATE TABLE s(id INTEGER PRIMARY KEY, w)");
        watch(f, {first_goes ? "t" : "s", first_goes ? "s" : "t"});
        feed reads = feed_of(f);
        const answer a = ask(reads, from_now{});
        f.sql("DROP TABLE t; ALTER TABLE s RENAME TO t; INSERT INTO t VALUES(5, 'five')");
        (void)repaired(f);
        CHECK(repaired(f) == "");
        CHECK(f.rows("SELECT count(*) FROM litefeed_tables WHERE watched AND name = 't'") == "1");
        const answer after = ask(reads, a.next, {.snapshot = true});
        CHECK(told(after).find("t read 5") != std::string::npos);
        CHECK(f.logged("INSERT INTO t VALUES(7, 7)") == "i[7]");
    }
}

TEST_CASE("what is hidden stays hidden under a new name, also when the feed begins again") {
    for (const std::string how : {"SELECT 1", "UPDATE litefeed_meta SET lineage = 'x'",
                                  "DROP TABLE litefeed_log", "DROP TABLE litefeed_meta"}) {
        CAPTURE(how);
        owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY, shown, secret)");
        f.sql("INSERT INTO t VALUES(1, 'to see', 'not to see')");
        watch(f, {"t"});
        f.sql("ALTER TABLE t RENAME TO s");
        repaired(f);
        f.sql(how);
        repaired(f);
        for (const column_rules& rules :
             {column_rules{{{"t", {"secret"}}}, {}}, column_rules{{}, {{"t", {"shown"}}}},
              column_rules{{{"t", {"secret"}}, {"S", {"id2"}}}, {}}}) {
            feed reads = feed_of(f, {.columns = rules, .serving = true});
            const answer all = ask(reads, from_nothing{});
            CHECK(all.changes.bytes.find("not to see") == std::string::npos);
        }
    }
}

TEST_CASE("repair: a dropped table is told as gone, once, and comes back under its name") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    const answer a = ask(reads, from_now{});
    f.sql("DROP TABLE t");
    CHECK(repaired(f) == "gone: t");
    CHECK(repaired(f) == "");
    const answer after = ask(reads, a.next);
    CHECK(told(after) == "truncate");
    CHECK(after.changes.changes[0].at == f.head());
    f.sql(notes);
    CHECK(repaired(f) == "t: triggers_restored");
    const answer again_there = ask(reads, after.next);
    CHECK(reset_of(again_there) == "triggers_restored: t");
    CHECK(f.logged("INSERT INTO t VALUES(7,7,7)") == "i[7]");
}

TEST_CASE("repair: edits that cancel out leave nothing but a number, and every table starts over") {
    for (const std::string edits :
         {"ALTER TABLE t DROP COLUMN v; ALTER TABLE t ADD COLUMN v",
          "CREATE UNIQUE INDEX i ON t(v); REPLACE INTO t VALUES(9, 1, 1); DROP INDEX i"}) {
        CAPTURE(edits);
        owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY, w, v); INSERT INTO t VALUES(1,1,1)");
        watch(f, {"t"});
        feed reads = feed_of(f), unrepaired = feed_of(f, {.read_only = true});
        const answer before = ask(reads, from_now{});
        (void)ask(unrepaired, from_now{});
        f.sql(edits);
        CHECK(reads.changes(question_from(before.next)).error() == make_error_code(errc::drifted));
        CHECK(reads.changes(question_from(before.next)).error() == make_error_code(errc::drifted));
        for (int i = 0; i < 3; ++i) {
            CHECK(reset_of(ask(unrepaired, before.next)) == "schema_changed: t");
            f.sql("CREATE TABLE seen" + std::to_string(i) + "(x)");  // explained by itself
        }
        CHECK(repaired(f) == "t: schema_changed");
        CHECK(reset_of(ask(reads, before.next)) == "schema_changed: t");
        CHECK(reset_of(ask(unrepaired, ask(unrepaired, from_now{}).next)) == "");
    }
}

TEST_CASE("repair: a table that cannot be watched any more is told as gone, with the reason") {
    owner_file f(notes);
    watch(f, {"t"});
    f.sql("CREATE UNIQUE INDEX bad ON t(id + 1)");
    const std::string why = repaired(f);
    CHECK(contains(why, "problem: t: its unique index bad computes with the rowid"));
    CHECK(repaired(f) == "");
    CHECK(f.logged("INSERT INTO t VALUES(7,7,7)") == "");
    feed reads = feed_of(f);
    CHECK(reads.tables().value().tables.at(0).problem.has_value());
    f.sql("DROP INDEX bad");
    CHECK(repaired(f) == "t: triggers_restored");
    CHECK_FALSE(reads.tables().value().tables.at(0).problem.has_value());
}

TEST_CASE("repair: VACUUM renumbers rowids, so a table keyed by them starts over") {
    owner_file f(
        "CREATE TABLE t(v); INSERT INTO t VALUES('a'),('b'),('c'); CREATE TABLE s(id INTEGER "
        "PRIMARY KEY)");
    watch(f, {"t", "s"});
    feed reads = feed_of(f, {.read_only = true});
    replica reader(reads);
    f.sql("DELETE FROM t WHERE v = 'a'");
    reader.follow();
    f.sql("VACUUM");
    CHECK(f.rows("SELECT rowid FROM t") == "1 2");
    CHECK(repaired(f) == "t: triggers_restored");
    CHECK(repaired(f) == "");
    reader.follow();
    CHECK(reader.text("t") == reader.truth("t"));
    CHECK(reader.resets == std::vector<std::string>{"triggers_restored: t"});
}

TEST_CASE("where the owner holds the write lock, watching says so and repair is busy") {
    owner_file f(notes);
    watch(f, {"t"});
    f.sql("DROP TRIGGER litefeed_1_insert; BEGIN IMMEDIATE");
    keeper k = keeper::open(f.path(), true);
    const auto report = k.repair();
    REQUIRE(report.has_error());
    CHECK(report.error() == make_error_code(errc::busy));
    CHECK(contains(cannot_of([&] { k.watch({"t"}, {}); }), "nothing was changed, try again"));
    f.sql("COMMIT");
    CHECK(k.repair().has_value());
}

TEST_CASE(
    "a file without our tables needs no repair, and a feed of a later litefeed is left alone") {
    owner_file f(notes);
    CHECK(repaired(f) == "");
    watch(f, {"t"});
    f.sql("UPDATE litefeed_meta SET format = 99");
    CHECK(contains(cannot_of([&] { keeper_of(f); }), "use a newer litefeed"));
    CHECK(contains(cannot_of([&] { feed_of(f); }), "use a newer litefeed"));
}

TEST_CASE("a file in UTF-16 is watched like any other: SQLite's own collations stay SQLite's") {
    owner_file f(
        "PRAGMA encoding = 'UTF-16le'; CREATE TABLE a(x UNIQUE); CREATE TABLE b(id INTEGER PRIMARY "
        "KEY, v TEXT COLLATE NOCASE UNIQUE) WITHOUT ROWID");
    REQUIRE(f.rows("PRAGMA encoding") == "UTF-16le");
    watch(f, {"b"});
    CHECK(f.logged("INSERT INTO b VALUES(1, 'abc'); REPLACE INTO b VALUES(2, 'ABC')") ==
          "i[1] t[1] i[2]");
}

TEST_CASE("what cannot be opened is named with what to do") {
    const owner_file f(notes);
    CHECK(contains(cannot_of([&] { keeper::open(f.path() + ".missing", false); }),
                   "there is no file"));
    CHECK(contains(cannot_of([&] { keeper::open("/tmp", false); }), "is a directory"));
    {
        std::ofstream(f.path() + ".txt")
            << "this is no database, but a text that is long enough to be looked at";
    }
    CHECK(
        contains(cannot_of([&] { keeper::open(f.path() + ".txt", false); }), "no SQLite database"));
    CHECK_FALSE(std::filesystem::exists(f.path() + ".missing"));
}

TEST_SUITE_END();
