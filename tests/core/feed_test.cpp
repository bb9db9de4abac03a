#include "core/feed.hpp"

#include <atomic>
#include <thread>

#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

const std::string notes =
    "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v); INSERT INTO t VALUES(1,'a',0),(2,'b',0);"
    "CREATE TABLE s(id INTEGER PRIMARY KEY)";

std::string rows_text(feed& f, const std::string& table = "t") {
    std::string out;
    for (const auto& [key, row] : rows_of(f, table)) out += key + row + " ";
    return out;
}

}  // namespace

TEST_SUITE_BEGIN("core/feed");

TEST_CASE("what a selection was told of is known, whichever read was the first") {
    owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY); CREATE TABLE s(id INTEGER PRIMARY KEY)");
    watch(f, {"t", "s"});
    feed reads = feed_of(f);
    (void)ask(reads, from_now{});
    (void)reads.look().value();
    f.sql("INSERT INTO t VALUES(1)");
    const stamp of_t = f.head();
    f.sql("INSERT INTO s VALUES(1)");
    (void)reads.look().value();
    CHECK(reads.newest({.tables = {"t"}}) == of_t);
    CHECK(reads.newest({.tables = {"s"}}) == f.head());
    watch(f, {"t"}, {.skip_unchanged = true});
    f.sql("CREATE TABLE n(id INTEGER PRIMARY KEY)");
    watch(f, {"n"});
    (void)ask(reads, from_now{});
    (void)reads.look().value();
    f.sql("INSERT INTO n VALUES(1)");
    (void)reads.look().value();
    CHECK(reads.newest({.tables = {"n"}}) == f.head());
}

TEST_CASE(
    "a file that carries nothing of ours has no tables and head 0, and becomes a feed while it is "
    "open") {
    owner_file f(notes);
    feed reads = feed_of(f);
    const answer empty = ask(reads, from_now{});
    CHECK(empty.head == stamp{0});
    CHECK_FALSE(empty.more);
    CHECK(reads.tables().value().tables.empty());
    CHECK(reads.status().value().head == stamp{0});
    CHECK(reads.look().value().head == stamp{0});
    CHECK(reads.rows(all_rows("t")).error() == make_error_code(errc::unknown_table));
    CHECK(reset_of(ask(reads, stamp{5})) == "ahead_of_head:");
    const std::string before = f.dump();
    watch(f, {"t"});
    CHECK(told(ask(reads, from_nothing{})) == "read 1, read 2");
    keeper_of(f).unwatch_all();
    CHECK(f.dump() == before);
    CHECK(ask(reads, from_now{}).head == stamp{0});
}

TEST_CASE("look tells the head, and newest what a selection has to be told") {
    owner_file f(notes);
    watch(f, {"t", "s"});
    feed reads = feed_of(f);
    CHECK(reads.look().value().head == f.head());
    const stamp at_open = f.head();
    CHECK(reads.newest({}) == at_open);
    CHECK(reads.newest({{"t"}}) == at_open);
    f.sql("UPDATE t SET v = 1 WHERE id = 1");
    CHECK(reads.newest({{"t"}}) == at_open);  // as of the last look
    CHECK_FALSE(reads.look().value().ask_again);
    CHECK(reads.newest({{"T"}}) == f.head());
    CHECK(reads.newest({}) == f.head());
    CHECK(reads.newest({{"s"}}) == at_open);
    CHECK(reads.newest({{"s", "t"}}) == f.head());
    CHECK(reads.newest({{"nothing"}}) == at_open);
    CHECK(reads.head() == f.head());
    CHECK(reads.bookmark() == std::get<rest_cursor>(ask(reads, from_now{}).next));
    CHECK(reads.verified_through().at == f.head());
}

TEST_CASE("a touch moves the head and wakes nobody") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    REQUIRE(reads.look().has_value());
    const stamp before = reads.newest({});
    f.sql("INSERT OR IGNORE INTO t VALUES(1,'a',9)");
    CHECK(reads.look().value().head == stamp{before.n + 1});
    CHECK(reads.newest({}) == before);
    CHECK(reads.newest({{"t"}}) == before);
}

TEST_CASE("a generation and an end wake the table's readers") {
    owner_file f(notes);
    watch(f, {"t", "s"});
    feed reads = feed_of(f);
    REQUIRE(reads.look().has_value());
    f.sql("ALTER TABLE t ADD COLUMN w");
    REQUIRE(keeper_of(f).repair().has_value());
    REQUIRE(reads.look().has_value());
    CHECK(reads.newest({{"t"}}) == f.head());
    keeper_of(f).unwatch({"s"});
    REQUIRE(reads.look().has_value());
    CHECK(reads.newest({{"s"}}) == f.head());
}

TEST_CASE("moved is true once after another connection's commit") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    (void)reads.moved().value();
    CHECK_FALSE(reads.moved().value());
    f.sql("BEGIN; INSERT INTO t VALUES(5,'c',0)");
    CHECK_FALSE(reads.moved().value());
    f.sql("COMMIT");
    CHECK(reads.moved().value());
    CHECK_FALSE(reads.moved().value());
    f.sql("BEGIN; INSERT INTO t VALUES(6,'d',0); ROLLBACK");
    CHECK_FALSE(reads.moved().value());
}

TEST_CASE("a file that went back to an older state is to be asked again, whatever its head") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    f.sql("INSERT INTO t VALUES(5,'c',0)");
    REQUIRE(reads.look().has_value());
    f.sql("DELETE FROM litefeed_log WHERE seq = (SELECT max(seq) FROM litefeed_log)");
    CHECK(reads.look().value().ask_again);
    CHECK_FALSE(reads.look().value().ask_again);
    f.sql("UPDATE litefeed_meta SET lineage = 'ffffffffffffffffffffffffffffffff'");
    CHECK(reads.look().value().ask_again);
}

TEST_CASE("a path that names another file is told, also while the old one is open") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    REQUIRE(reads.look().has_value());
    f.close();
    std::filesystem::copy_file(f.path(), f.path() + ".new");
    std::filesystem::rename(f.path() + ".new", f.path());
    CHECK(reads.look().has_error());
    CHECK(reads.changes(question_from(from_now{})).has_error());
    f.open();
    feed anew = feed_of(f);
    CHECK(anew.look().has_value());
}

TEST_CASE("where somebody repairs, drift is an error until it is repaired") {
    owner_file f(notes);
    watch(f, {"t", "s"});
    feed reads = feed_of(f);
    const answer a = ask(reads, from_now{});
    f.sql("INSERT INTO t VALUES(5,'c',0)");
    REQUIRE(reads.look().has_value());
    const stamp verified = f.head();
    f.sql("DROP TRIGGER litefeed_1_insert; INSERT INTO t VALUES(6,'d',0); INSERT INTO s VALUES(1)");
    CHECK(reads.changes(question_from(a.next)).error() == make_error_code(errc::drifted));
    CHECK(reads.look().error() == make_error_code(errc::drifted));
    CHECK(reads.rows(all_rows("s")).error() == make_error_code(errc::drifted));
    CHECK(reads.verified_through().at == verified);
    REQUIRE(keeper_of(f).repair(reads.verified_through()).has_value());
    CHECK(reset_of(ask(reads, a.next)) == "triggers_restored: t");
    CHECK(reads.verified_through().at == f.head());
}

TEST_CASE(
    "a trigger that was gone and is back as it was hides nothing from one who looked in between") {
    for (const bool read_only : {true, false}) {
        CAPTURE(read_only);
        owner_file f(notes);
        watch(f, {"t"});
        feed reads = feed_of(f, {.read_only = read_only});
        const answer begun = ask(reads, from_now{});
        const std::string trigger =
            f.rows("SELECT sql FROM sqlite_schema WHERE name = 'litefeed_1_insert'");
        f.sql("DROP TRIGGER litefeed_1_insert; INSERT INTO t VALUES(77, 77, 77)");
        (void)reads.changes(question_from(begun.next));
        f.sql(trigger);
        const auto after = reads.changes(question_from(begun.next));
        if (read_only)
            CHECK(reset_of(after.value()) == "triggers_restored: t");
        else
            CHECK(after.error() == make_error_code(errc::drifted));
        REQUIRE(keeper_of(f).repair().has_value());
        const answer mended = ask(reads, begun.next);
        CHECK(mended.reset.has_value());
        CHECK_FALSE(ask(reads, mended.next).reset.has_value());
    }
}

TEST_CASE("where nobody repairs, every answer starts the table over and the status says why") {
    owner_file f(notes);
    watch(f, {"t", "s"});
    feed reads = feed_of(f, {.read_only = true});
    CHECK(reads.status().value().problems.empty());
    const answer before = ask(reads, from_now{});
    f.sql("DROP TRIGGER litefeed_1_insert; INSERT INTO t VALUES(6,'d',0); INSERT INTO s VALUES(1)");
    const answer first = ask(reads, before.next);
    CHECK(reset_of(first) == "triggers_restored: t");
    CHECK(told(first) == "insert 1");
    CHECK(reset_of(ask(reads, first.next)) == "triggers_restored: t");
    const answer rows = ask(reads, first.next, {.snapshot = true});
    CHECK(told(rows) == "truncate, read 1, read 2, read 6");
    CHECK(reset_of(ask(reads, rows.next, {.tables = {"s"}})) == "");
    const auto status = reads.status().value();
    REQUIRE(status.problems.size() == 1);
    const std::string why =
        "the trigger litefeed_1_insert is missing; litefeed watch, or a server that may write, "
        "puts it in order";
    CHECK(status.problems[0] == "t: " + why);
    CHECK(status.read_only);
    CHECK(reads.tables().value().tables.at(0).problem == why);
    CHECK_FALSE(reads.tables().value().tables.at(1).problem.has_value());
    REQUIRE(reads.look().has_value());
    REQUIRE(keeper_of(f).repair().has_value());
    CHECK(reads.look().value().ask_again);
    CHECK(reads.status().value().problems.empty());
    CHECK(reset_of(ask(reads, ask(reads, from_now{}).next)) == "");
}

TEST_CASE("read-only, a column that came is told as such") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f, {.read_only = true});
    const answer before = ask(reads, from_now{});
    f.sql("ALTER TABLE t ADD COLUMN w DEFAULT 5");
    const answer a = ask(reads, before.next, {.snapshot = true});
    CHECK(reset_of(a) == "schema_changed: t");
    CHECK(row_of(a.changes, 1) == "{\"id\":1,\"u\":\"a\",\"v\":0,\"w\":5}");
}

TEST_CASE("hidden columns never leave the house, kept ones do beside the key") {
    owner_file f(notes);
    watch(f, {"t"});
    feed_options hide;
    hide.columns.hide["T"] = {"V"};
    feed hidden = feed_of(f, hide);
    CHECK(rows_text(hidden) ==
          "{\"id\":1}{\"id\":1,\"u\":\"a\"} {\"id\":2}{\"id\":2,\"u\":\"b\"} ");
    CHECK(hidden.tables().value().tables.at(0).columns.size() == 2);
    feed_options only;
    only.columns.only["t"] = {"v"};
    feed kept = feed_of(f, only);
    CHECK(rows_text(kept) == "{\"id\":1}{\"id\":1,\"v\":0} {\"id\":2}{\"id\":2,\"v\":0} ");
    f.sql("UPDATE t SET u = 'secret', v = 3 WHERE id = 1");
    CHECK_FALSE(contains(ask(kept, stamp{1}).changes.bytes, "secret"));
    CHECK(contains(ask(hidden, stamp{1}).changes.bytes, "secret"));
    // A column that comes later is hidden where only some are kept, and shown where some are hidden.
    f.sql("ALTER TABLE t ADD COLUMN w DEFAULT 'late'");
    REQUIRE(keeper_of(f).repair().has_value());
    CHECK_FALSE(contains(rows_text(kept), "late"));
    CHECK(contains(rows_text(hidden), "late"));
}

TEST_CASE("a rule for a column that is not there, or for the key, is refused when the feed opens") {
    owner_file f(notes);
    watch(f, {"t"});
    const auto with = [&](bool hide, const std::string& table, const std::string& column) {
        feed_options o;
        (hide ? o.columns.hide : o.columns.only)[table] = {column};
        return cannot_of([&] { feed_of(f, o); });
    };
    CHECK(contains(with(true, "t", "nothing"),
                   "--hide names the column nothing, which t does not have"));
    CHECK(contains(with(false, "t", "nothing"), "--only names the column nothing"));
    CHECK(contains(with(true, "t", "ID"), "part of its key"));
    CHECK(contains(with(true, "nothing", "v"), "there is no such table"));
    CHECK(with(false, "t", "id") == "");
}

TEST_CASE("a table that is renamed takes its rules along, also twice") {
    owner_file f(notes);
    watch(f, {"t"});
    feed_options hide;
    hide.columns.hide["t"] = {"v"};
    feed hidden = feed_of(f, hide);
    for (const auto* name : {"other", "third"}) {
        f.sql("ALTER TABLE " + std::string(name == std::string("other") ? "t" : "other") +
              " RENAME TO " + name);
        REQUIRE(keeper_of(f).repair().has_value());
        CHECK(rows_text(hidden, name) ==
              "{\"id\":1}{\"id\":1,\"u\":\"a\"} {\"id\":2}{\"id\":2,\"u\":\"b\"} ");
    }
}

TEST_CASE(
    "a rule that fits no more withholds its table, tells it once, and lets the others go on") {
    owner_file f(notes);
    watch(f, {"t", "s"});
    feed_options hide;
    hide.columns.hide["t"] = {"v"};
    feed hidden = feed_of(f, hide);
    const stamp before = f.head();
    f.sql("ALTER TABLE t RENAME COLUMN v TO plain");
    REQUIRE(keeper_of(f).repair().has_value());
    const answer told_once = ask(hidden, before);
    CHECK(reset_of(told_once) == "schema_changed: t");
    CHECK(reset_of(ask(hidden, told_once.next)) == "");
    CHECK(rows_text(hidden).empty());
    CHECK(hidden.tables().value().tables.at(0).columns.empty());
    CHECK(contains(hidden.tables().value().tables.at(0).problem.value_or(""),
                   "fits its columns no more"));
    CHECK(hidden.status().value().problems.size() == 1);
    f.sql("INSERT INTO s VALUES(7); UPDATE t SET plain = 'secret'");
    CHECK(told(ask(hidden, told_once.next)) == "s insert 7");
    CHECK(told(ask(hidden, from_nothing{})) == "s read 7");
    f.sql("ALTER TABLE t RENAME COLUMN plain TO v");
    REQUIRE(keeper_of(f).repair().has_value());
    CHECK(contains(rows_text(hidden), "{\"id\":1,\"u\":\"a\"}"));
    CHECK(hidden.status().value().problems.empty());
}

TEST_CASE("a row over the limit comes as its key and its size, one at the limit whole") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f, {.row_bytes_max = 100});
    f.sql(
        "INSERT INTO t VALUES(3, zeroblob(50), printf('%.50c','x')), (4, 'u', "
        "printf('%.100c','x'))");
    const answer a = ask(reads, stamp{f.head().n - 2});
    REQUIRE(told(a) == "insert 3, insert 4");
    CHECK(a.changes.changes[0].too_large == 0);
    CHECK(a.changes.changes[1].too_large == 101);
    CHECK(row_of(a.changes, 1) == "");
}

TEST_CASE("a row that SQLite cannot compute comes as its key, and the others come whole") {
    owner_file f;
    // As a program with a newer SQLite, whose json_extract takes more than ours.
    sqlite3_create_function(
        f.get(), "json_extract", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr,
        [](sqlite3_context* c, int, sqlite3_value**) { sqlite3_result_int(c, 5); }, nullptr,
        nullptr);
    f.sql("CREATE TABLE t(id INTEGER PRIMARY KEY, j TEXT, g AS (json_extract(j, '$.a')))");
    watch(f, {"t"}, {.skip_unchanged = true});
    feed reads = feed_of(f);
    const answer begun = ask(reads, from_now{});
    f.sql(
        "INSERT INTO t(id, j) VALUES(1, '{\"a\": 5}'), (2, 'no json'), (3, 'none either'), (4, "
        "'{}')");
    f.sql("UPDATE t SET j = 'still none' WHERE id = 3");
    for (const position& from : {position(begun.next), position(from_nothing{})}) {
        for (const int rows_max : {1, 2, 100}) {
            CAPTURE(rows_max);
            std::map<std::string, std::string> got;
            question q = question_from(from);
            q.rows_max = rows_max;
            for (bool more = true; more;) {
                const answer a = reads.changes(q).value();
                for (std::size_t i = 0; i < a.changes.changes.size(); ++i) {
                    const change& c = a.changes.changes[i];
                    got[std::string(a.changes.text(c.key))] =
                        c.unreadable ? "unreadable" : std::string(a.changes.text(c.row));
                    CHECK(c.unreadable == (c.row.size == 0));
                }
                q.from = a.next;
                more = a.more;
            }
            CHECK(got == std::map<std::string, std::string>{
                             {R"({"id":1})", R"({"id":1,"j":"{\"a\": 5}","g":5})"},
                             {R"({"id":2})", "unreadable"},
                             {R"({"id":3})", "unreadable"},
                             {R"({"id":4})", R"({"id":4,"j":"{}","g":null})"}});
        }
    }
    f.sql("DELETE FROM t WHERE id = 2");
    CHECK(told(ask(reads, ask(reads, begun.next).next)) == "");
    feed hidden = feed_of(f, {.columns = {{{"t", {"g"}}}, {}}});
    CHECK(told(ask(hidden, begun.next)).find("delete 2") != std::string::npos);
    for (const change& c : ask(hidden, begun.next).changes.changes) CHECK(!c.unreadable);
}

TEST_CASE("generated columns are told like any other, hidden ones of SQLite's own never") {
    owner_file f(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a, g AS (a || '!'), s AS (a + 1) STORED); INSERT "
        "INTO t VALUES(1, 5)");
    watch(f, {"t"});
    feed reads = feed_of(f);
    CHECK(rows_text(reads) == "{\"id\":1}{\"id\":1,\"a\":5,\"g\":\"5!\",\"s\":6} ");
}

TEST_CASE("a file whose schema calls JSON functions is read like any other") {
    owner_file f(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, data TEXT CHECK (json_valid(data)), k AS (data ->> "
        "'k'));"
        "CREATE UNIQUE INDEX tk ON t(json_extract(data, '$.k')); INSERT INTO t(data) "
        "VALUES('{\"k\":1}')");
    watch(f, {"t"});
    feed reads = feed_of(f);
    CHECK(rows_text(reads) == "{\"id\":1}{\"id\":1,\"data\":\"{\\\"k\\\":1}\",\"k\":1} ");
    CHECK(f.logged("REPLACE INTO t(data) VALUES('{\"k\":1}')") == "t[1] i[2]");
}

TEST_CASE("tables tell key, columns, generation and entries") {
    owner_file f(notes);
    watch(f, {"t", "s"});
    feed reads = feed_of(f);
    f.sql("INSERT OR IGNORE INTO t VALUES(1,1,1); UPDATE t SET v = 1");
    const auto all = reads.tables({.counts = true}).value().tables;
    REQUIRE(all.size() == 2);
    CHECK(all[0].name == "t");
    CHECK(all[0].key == std::vector<std::string>{"id"});
    CHECK_FALSE(all[0].keyed_by_rowid);
    CHECK(all[0].columns.at(0) == std::pair<std::string, std::string>{"id", "INTEGER"});
    CHECK(all[0].generation == 1);
    CHECK(all[0].reason == "enabled");
    CHECK(all[0].generation_at == stamp{1});
    CHECK(all[0].head == f.head());
    CHECK(all[0].entries == 4);
    CHECK(all[0].touched == 1);
    CHECK(all[0].keep == "window");
    CHECK(all[1].head == stamp{2});
    const auto status = reads.status().value();
    CHECK(status.entries == 5);
    CHECK(status.journal_mode == "wal");
    CHECK(status.lineage.size() == 32);
    CHECK(status.format == 1);
}

TEST_CASE("both journal modes are served, and neither is changed") {
    for (const std::string mode : {"wal", "delete", "truncate", "persist"}) {
        CAPTURE(mode);
        owner_file f("PRAGMA journal_mode = " + mode + ";" + notes);
        watch(f, {"t"});
        feed reads = feed_of(f);
        const answer a = ask(reads, from_now{});
        f.sql("INSERT INTO t VALUES(7,7,7)");
        CHECK(reads.moved().value());
        CHECK(told(ask(reads, a.next)) == "insert 7");
        CHECK(f.rows("PRAGMA journal_mode") == mode);
    }
}

TEST_CASE("a transaction that is not over is not seen, and holds nobody up in WAL mode") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    const answer a = ask(reads, from_now{});
    f.sql("BEGIN IMMEDIATE; INSERT INTO t VALUES(7,7,7)");
    CHECK(told(ask(reads, a.next)) == "");
    f.sql("COMMIT");
    CHECK(told(ask(reads, a.next)) == "insert 7");
}

TEST_CASE("where another program holds the file exclusively, every question is busy") {
    owner_file f("PRAGMA journal_mode = delete;" + notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    REQUIRE(reads.look().has_value());
    f.sql("BEGIN EXCLUSIVE");
    CHECK(reads.look().error() == make_error_code(errc::busy));
    CHECK(reads.changes(question_from(from_now{})).error() == make_error_code(errc::busy));
    f.sql("COMMIT");
    CHECK(reads.look().has_value());
}

TEST_CASE("a read that is interrupted by another thread is busy, and the feed answers again") {
    owner_file f(notes);
    watch(f, {"t"});
    f.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
        "INSERT INTO litefeed_log(table_id, op, at_ms, key) SELECT 1, 'u', 0, i FROM n");
    feed reads = feed_of(f);
    std::atomic<bool> ended{false};
    std::thread other([&] {
        while (!ended) reads.interrupt();
    });
    const auto got = reads.changes(question_from(stamp{1}));
    ended = true;
    other.join();
    CHECK(got.error() == make_error_code(errc::busy));
    CHECK(reads.look().has_value());
    CHECK(ask(reads, stamp{1}).changes.changes.size() == 10'000);
}

TEST_CASE("a log whose head is beyond 2^53 is refused") {
    owner_file f(notes);
    watch(f, {"t"});
    feed reads = feed_of(f);
    f.sql("INSERT INTO litefeed_log(seq, table_id, op) VALUES(" + std::to_string(stamp_max.n) +
          ", 1, 't')");
    CHECK(reads.look().has_value());
    f.sql("INSERT INTO litefeed_log(seq, table_id, op) VALUES(" + std::to_string(stamp_max.n + 1) +
          ", 1, 't')");
    CHECK(reads.look().has_error());
}

TEST_CASE("words are those of the wire") {
    CHECK(to_word(change_op::remove) == "delete");
    CHECK(to_word(change_op::truncate) == "truncate");
    CHECK(to_word(reset_reason::below_floor) == "below_floor");
    CHECK(to_word(reset_reason::bulk_load) == "bulk_load");
}

TEST_SUITE_END();
