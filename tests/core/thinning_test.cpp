#include "core/thinning.hpp"

#include <random>

#include "core/format.hpp"
#include "core/log.hpp"
#include "core/marks.hpp"
#include "core/wal.hpp"
#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

constexpr std::int64_t day_ms = 24 * 3600 * std::int64_t{1000};
constexpr std::int64_t now = 2'000'000'000'000;

/// `t` with its entries' times set by hand.
struct aged_log {
    owner_file file;
    feed reads;

    explicit aged_log(const keeping_wish& keeping = {}, const std::string& index = {},
                      const watch_options& options = {})
        : file("CREATE TABLE t(id INTEGER PRIMARY KEY, v);" + index), reads([&] {
              (void)keeper_of(file).watch({"t"}, options, keeping);
              file.sql("UPDATE litefeed_log SET at_ms = 0");
              return feed_of(file);
          }()) {}

    /// One statement whose entries are that many days old.
    void write(const std::string& sql, double days_old) const {
        const std::int64_t before = file.head().n;
        file.sql(sql);
        file.sql("UPDATE litefeed_log SET at_ms = " +
                 std::to_string(now - static_cast<std::int64_t>(days_old * day_ms)) +
                 " WHERE seq > " + std::to_string(before));
    }
    [[nodiscard]] thinning_report thin(std::int64_t at = now) const {
        return keeper_of(file).thin(at, [](const auto&) { return true; }).value();
    }
    [[nodiscard]] std::string stamps() const {
        const connection db(file.path(), connection::access::read_only, 0);
        return db.text(
            "SELECT group_concat(seq || op, ' ') FROM (SELECT seq, op FROM "
            "litefeed_log ORDER BY seq)");
    }
    [[nodiscard]] meta state() const {
        return read_meta(connection(file.path(), connection::access::read_only, 0));
    }
    [[nodiscard]] std::string since(const position& at) { return told_or_reset(ask(reads, at)); }
    static std::string told_or_reset(const answer& a) { return a.reset ? reset_of(a) : told(a); }
};

const keeping_wish as_latest{.latest = true, .retention_s = {}};

}  // namespace

TEST_SUITE_BEGIN("core/thinning");

TEST_CASE("what is older than the window goes, and the floor rises with its digest") {
    aged_log log;
    log.write("INSERT INTO t VALUES(1, 1)", 9);
    log.write("INSERT INTO t VALUES(2, 2)", 8);
    const position at_floor = ask(log.reads, from_now{}).next;
    log.write("INSERT INTO t VALUES(3, 3)", 6);
    log.write("INSERT INTO t VALUES(4, 4)", 0);
    const auto report = log.thin();
    CHECK(report.finished);
    CHECK(report.removed == 3);
    CHECK(report.folded == 0);
    CHECK(report.floor == stamp{3});
    CHECK(log.stamps() == "4i 5i");
    CHECK(log.since(at_floor) == "insert 3, insert 4");
    CHECK(log.since(stamp{3}) == "insert 3, insert 4");
    CHECK(log.since(stamp{2}) == "below_floor: t");
    CHECK(log.since(from_nothing{}) == "read 1, read 2, read 3, read 4");
    CHECK(log.state().compacted_ms == now);
    CHECK(log.thin().removed == 0);
}

TEST_CASE("the newest entry stays, however old it is") {
    aged_log log;
    log.write("INSERT INTO t VALUES(1, 1)", 100);
    log.write("INSERT INTO t VALUES(2, 2)", 90);
    CHECK(log.thin().removed == 2);
    CHECK(log.stamps() == "3i");
    // Without a newer entry nothing grows older.
    log.write("INSERT INTO t VALUES(3, 3)", 86);
    CHECK(log.thin().removed == 0);
}

TEST_CASE("a window of its own holds a table's entries, and what follows them") {
    aged_log log;
    (void)keeper_of(log.file).watch({"t"}, {}, {.latest = {}, .retention_s = 30 * 24 * 3600});
    log.write("INSERT INTO t VALUES(1, 1)", 40);
    log.write("INSERT INTO t VALUES(2, 2)", 20);
    log.write("INSERT INTO t VALUES(3, 3)", 0);
    CHECK(log.thin().floor == stamp{2});
    CHECK(log.stamps() == "3i 4i");
}

TEST_CASE("an entry from a clock that stood ahead neither blocks the others nor is old by itself") {
    aged_log log;
    log.write("INSERT INTO t VALUES(1, 1)", 9);
    log.write("INSERT INTO t VALUES(2, 2)", -365);
    log.write("INSERT INTO t VALUES(3, 3)", 8);
    log.write("INSERT INTO t VALUES(4, 4)", -365);
    log.write("INSERT INTO t VALUES(5, 5)", 2);
    log.write("INSERT INTO t VALUES(6, 6)", 0);
    CHECK(log.thin().floor == stamp{4});
    CHECK(log.stamps() == "5i 6i 7i");
}

TEST_CASE("the caller's clock ahead of the log makes nothing old") {
    aged_log log;
    log.write("INSERT INTO t VALUES(1, 1)", 3);
    log.write("INSERT INTO t VALUES(2, 2)", 0);
    CHECK(log.thin(now + 365 * day_ms).floor == stamp{1});
    CHECK(log.stamps() == "2i 3i");
}

TEST_CASE("beyond the most entries the oldest go, whatever their age and whoever is behind") {
    aged_log log;
    log.write(
        "WITH RECURSIVE f(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM f WHERE i < 5000) "
        "INSERT INTO t SELECT i, i FROM f",
        -1);
    log.file.sql("INSERT INTO litefeed_consumers VALUES('copy', 10, 0)");
    keeper_of(log.file).set_entries_max(100);
    const auto report = log.thin();
    CHECK(report.finished);
    CHECK(report.removed == 4901);
    CHECK(report.floor == stamp{4901});
    CHECK(log.file.integer("SELECT count(*) FROM litefeed_log") == 100);
    keeper_of(log.file).set_entries_max(1);
    CHECK(log.thin().removed == 99);
    CHECK(log.stamps() == "5001i");
}

TEST_CASE("a consumer that is behind holds what it has not read") {
    aged_log log;
    for (int i = 1; i <= 5; ++i)
        log.write("INSERT INTO t VALUES(" + std::to_string(i) + ", 1)", 20);
    log.write("INSERT INTO t VALUES(6, 1)", 0);
    log.file.sql("INSERT INTO litefeed_consumers VALUES('slow', 3, 0), ('fast', 6, 0)");
    CHECK(log.thin().floor == stamp{3});
    log.file.sql("DELETE FROM litefeed_consumers WHERE name = 'slow'");
    CHECK(log.thin().floor == stamp{6});
}

TEST_CASE("kept as latest, an entry goes when the row's next one is no insert either") {
    aged_log log(as_latest);
    log.write("INSERT INTO t VALUES(1, 1), (2, 1)", 20);    // 2i 3i
    log.write("UPDATE t SET v = 2", 19);                    // 4u 5u
    log.write("UPDATE t SET v = 3 WHERE id = 1", 18);       // 6u
    log.write("DELETE FROM t WHERE id = 1", 17);            // 7d
    log.write("INSERT INTO t VALUES(1, 4)", 16);            // 8i
    log.write("INSERT OR IGNORE INTO t VALUES(1, 5)", 15);  // 9t
    log.write("UPDATE t SET v = 6 WHERE id = 1", 14);       // 10u
    log.write("INSERT OR IGNORE INTO t VALUES(1, 5)", 13);  // 11t
    log.write("UPDATE t SET v = 7", 1);                     // 12u 13u
    CHECK(log.stamps() == "1g 2i 3i 4u 5u 6u 7d 8i 9t 10u 11t 12u 13u");
    const auto report = log.thin();
    CHECK(report.finished);
    CHECK(report.floor == stamp{0});
    CHECK(log.stamps() == "1g 2i 3i 7d 8i 12u 13u");
    CHECK(report.folded == 6);
    CHECK(log.state().folded == 6);
    CHECK(log.thin().folded == 0);
}

TEST_CASE(
    "one table that is kept as latest keeps the floor down, and the others are folded as well") {
    aged_log log;
    log.file.sql("CREATE TABLE s(id INTEGER PRIMARY KEY, v)");
    (void)keeper_of(log.file).watch({"s"}, {}, as_latest);
    const position begun = ask(log.reads, from_now{}).next;
    log.write("INSERT INTO t VALUES(1, 1)", 9);
    log.write("UPDATE t SET v = 2 WHERE id = 1", 9);
    log.write("UPDATE t SET v = 3 WHERE id = 1", 8);
    log.write("INSERT INTO s VALUES(5, 5)", 8);
    log.write("UPDATE s SET v = 6 WHERE id = 5", 6);
    log.write("UPDATE t SET v = 4 WHERE id = 1", 0);
    const std::string before = log.since(begun);
    const auto report = log.thin();
    CHECK(report.removed == 0);
    CHECK(report.folded == 2);
    CHECK(report.floor == stamp{});
    CHECK(log.since(begun) == before);
    (void)keeper_of(log.file).watch({"s"}, {}, {.latest = false, .retention_s = {}});
    CHECK(log.thin().removed > 0);
    CHECK(log.since(begun).find("below_floor") == 0);
}

TEST_CASE("kept as latest, rows that are replaced again and again leave their last entry") {
    aged_log log(as_latest);
    log.write("INSERT INTO t VALUES(1, 1)", 20);                               // 2i
    for (int i = 0; i < 3; ++i) log.write("REPLACE INTO t VALUES(1, 2)", 19);  // 3t 4i 5t 6i 7t 8i
    log.write("UPDATE t SET v = 3", 18);                                       // 9u
    log.write("REPLACE INTO t VALUES(1, 4)", 17);                              // 10t 11i
    log.write("REPLACE INTO t VALUES(1, 5)", 1);                               // 12t 13i
    const position begun = ask(log.reads, from_now{}).next;
    (void)log.thin();
    CHECK(log.stamps() == "1g 2i 12t 13i");
    log.write("DELETE FROM t", 0);
    CHECK(log.since(begun) == "delete 1");
}

TEST_CASE("kept as latest without guards, an insert stands for the one before it") {
    aged_log log(as_latest, {}, {.replace_guards = false});
    for (int i = 0; i < 4; ++i) log.write("REPLACE INTO t VALUES(1, 2)", 19);  // 2i 3i 4i 5i
    log.write("UPDATE t SET v = 3", 1);                                        // 6u
    (void)log.thin();
    CHECK(log.stamps() == "1g 5i 6u");
}

TEST_CASE("a cursor on a folded entry is still checked, and tells what it told before") {
    aged_log log(as_latest);
    log.write("INSERT INTO t VALUES(1, 1), (2, 1)", 20);
    std::vector<std::pair<position, std::string>> before;
    for (int i = 0; i < 3000; ++i) {
        log.file.sql("UPDATE t SET v = " + std::to_string(i) +
                     " WHERE id = " + std::to_string(1 + i % 2));
        if (i % 97 == 0) before.emplace_back(ask(log.reads, from_now{}).next, "");
    }
    log.file.sql("UPDATE litefeed_log SET at_ms = " + std::to_string(now - 15 * day_ms) +
                 " WHERE op = 'u'");
    // Its time is part of a digest: a reader who knows nothing, and the cursors as they are now.
    log.reads = feed_of(log.file);
    for (auto& [at, answer] : before) {
        auto& rest = std::get<rest_cursor>(at);
        const connection db(log.file.path(), connection::access::read_only, 0);
        rest.digest = log_reader(db).digest_at(rest.at).value();
        answer = log.since(at);
    }
    log.write("DELETE FROM t WHERE id = 2", 0);
    CHECK(log.thin().folded == 2999);
    for (const auto& [at, answer] : before) {
        CHECK(log.since(at) == "update 1, delete 2");
        auto other = std::get<rest_cursor>(at);
        other.digest ^= 1;
        CHECK(log.since(other) == "restored: t");
    }
}

TEST_CASE("a log whose beginning was folded is not one that was lost") {
    aged_log log(as_latest);
    log.write("INSERT INTO t VALUES(1, 1)", 20);
    keeper_of(log.file).unwatch({"t"});
    (void)keeper_of(log.file).watch({"t"}, {}, as_latest);
    log.write("UPDATE t SET v = 2", 19);
    keeper_of(log.file).unwatch({"t"});
    (void)keeper_of(log.file).watch({"t"}, {}, as_latest);
    log.file.sql("UPDATE litefeed_log SET at_ms = 1");
    log.write("UPDATE t SET v = 3", 0);
    (void)log.thin();
    CHECK(log.state().floor == stamp{0});
    CHECK(log.stamps() == "3x 6x 7g 8u");
    CHECK(log.file.integer("SELECT min(seq) FROM litefeed_log") > 1);
    CHECK(log.since(from_nothing{}) == "read 1");
}

TEST_CASE("the floor rises past folded entries, and their marks go") {
    aged_log log(as_latest);
    log.write("INSERT INTO t VALUES(1, 1)", 20);
    for (int i = 0; i < 2500; ++i) log.file.sql("UPDATE t SET v = v + 1");
    log.file.sql("UPDATE litefeed_log SET at_ms = 1 WHERE op = 'u'");
    log.write("UPDATE t SET v = 0", 0);
    CHECK(log.thin().folded == 2500);
    CHECK(log.file.integer("SELECT count(*) FROM litefeed_marks") == 3);
    keeper_of(log.file).set_entries_max(1);
    const auto report = log.thin();
    CHECK(report.removed == 2);
    CHECK(report.floor == stamp{2});
    CHECK(log.state().folded == 2500);
    log.file.sql("UPDATE t SET v = 1");
    CHECK(log.thin().floor == stamp{2503});
    CHECK(log.state().folded == 0);
    CHECK(log.file.integer("SELECT count(*) FROM litefeed_marks") <= 1);
    CHECK(log.stamps() == "2504u");
}

TEST_CASE("what stands below a table's generation is folded as well, a truncate is not") {
    aged_log log(as_latest);
    log.write("INSERT INTO t VALUES(1, 1), (2, 1)", 20);
    keeper_of(log.file).unwatch({"t"});
    log.file.sql("UPDATE litefeed_log SET at_ms = 1");
    (void)keeper_of(log.file).watch({"t"}, {}, as_latest);
    log.write("INSERT INTO t VALUES(3, 1)", 0);
    (void)log.thin();
    CHECK(log.stamps().find('x') != std::string::npos);
}

TEST_CASE("numbers that others wrote into litefeed's tables make it neither endless nor wrong") {
    for (const std::string written : {"floor = 9007199254740991", "folded = -9223372036854775807",
                                      "folded = 9223372036854775807", "entries_max = -5",
                                      "retention_s = NULL", "retention_s = 9223372036854775807"}) {
        CAPTURE(written);
        aged_log log(as_latest);
        log.write("INSERT INTO t VALUES(1, 1)", 20);
        log.write("UPDATE t SET v = 2", 19);
        log.write("UPDATE t SET v = 3", 0);
        log.file.sql("UPDATE litefeed_meta SET " + written);
        (void)log.thin();
        CHECK(log.file.integer("SELECT count(*) FROM litefeed_log WHERE seq = 4") == 1);
    }
}

TEST_CASE("what is damaged is not thinned") {
    aged_log log;
    log.write("INSERT INTO t VALUES(1, 1)", 20);
    log.write("INSERT INTO t VALUES(2, 1)", 0);
    log.file.sql("UPDATE litefeed_meta SET floor = -9");
    const auto report = keeper_of(log.file).thin(now, [](const auto&) { return true; });
    CHECK(report.error() == make_error_code(errc::damaged));
    CHECK(log.stamps() == "1g 2i 3i");
}

TEST_CASE("it ends between two batches when it is told to, and goes on another time") {
    aged_log log;
    log.write(
        "WITH RECURSIVE f(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM f WHERE i < 20000) "
        "INSERT INTO t SELECT i, i FROM f",
        30);
    log.write("INSERT INTO t VALUES(0, 0)", 0);
    keeper k = keeper_of(log.file);
    int calls = 0;
    const auto first = k.thin(now, [&](const auto& so_far) {
                            CHECK((so_far.expected == 0 || so_far.expected == 20001));
                            calls += so_far.removed > 0;
                            return calls < 2;
                        }).value();
    CHECK_FALSE(first.finished);
    CHECK(first.removed > 0);
    CHECK(first.removed < 20001);
    CHECK(log.state().floor == first.floor);
    const auto rest = k.thin(now, [](const auto&) { return true; }).value();
    CHECK(first.removed + rest.removed == 20001);
    CHECK(rest.finished);
}

TEST_CASE("a file that is restored between two batches keeps its own entries") {
    for (const bool latest : {false, true}) {
        CAPTURE(latest);
        aged_log log({.latest = latest, .retention_s = {}});
        log.write(
            "WITH RECURSIVE f(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM f WHERE i < 3000) "
            "INSERT INTO t SELECT i, i FROM f",
            30);
        log.write("UPDATE t SET v = 1", 20);
        const owner_file copy("CREATE TABLE o(x)");
        copy_file(log.file, copy);
        const std::int64_t entries = copy.integer("SELECT count(*) FROM litefeed_log");
        log.write("UPDATE t SET v = 2", 10);
        log.write("INSERT INTO t VALUES(0, 0)", 0);
        bool restored = false;
        const auto report = keeper_of(log.file).thin(now, [&](const auto& so_far) {
            if (!restored && so_far.removed + so_far.folded > 0) {
                copy_file(copy, log.file);
                restored = true;
            }
            return true;
        });
        CHECK(restored);
        CHECK_FALSE(report.value().finished);
        CHECK(log.file.integer("SELECT count(*) FROM litefeed_log") == entries);
        CHECK(log.state().floor == stamp{0});
        CHECK(log.state().folded == 0);
    }
}

TEST_CASE("pages go on over a thinning, or the run starts over: no row is missed") {
    aged_log log;
    for (int i = 1; i <= 40; ++i)
        log.write("INSERT INTO t VALUES(" + std::to_string(i) + ", 1)", 20);
    const answer begun = ask(log.reads, stamp{20}, {.rows_max = 5});
    REQUIRE(begun.more);
    log.write("UPDATE t SET v = 2 WHERE id = 38", 0);
    log.file.sql("INSERT INTO litefeed_consumers VALUES('slow', 20, 0)");
    (void)log.thin();
    CHECK(log.state().floor == stamp{20});
    CHECK(told(ask(log.reads, again(begun), {.rows_max = 2})) == "insert 25, insert 26");
    log.file.sql("DELETE FROM litefeed_consumers");
    (void)log.thin();
    CHECK(reset_of(ask(log.reads, again(begun), {.rows_max = 2})) == "below_floor: t");
}

TEST_CASE("random logs: folding changes no reader's delta, wherever it stands") {
    const auto seed = std::random_device{}();
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (int round = 0; round < 20; ++round) {
        // REPLACE then removes rows of other keys as well, with a touch and no more.
        const std::string index = round % 2 == 0 ? "" : "CREATE UNIQUE INDEX u ON t(v)";
        aged_log log(as_latest, index);
        std::vector<position> places;
        for (int i = 0; i < 120; ++i) {
            const std::string id = std::to_string(1 + below(6));
            switch (below(5)) {
                case 0:
                    log.file.sql("INSERT OR IGNORE INTO t VALUES(" + id + ", 0)");
                    break;
                case 1:
                    log.file.sql("REPLACE INTO t VALUES(" + id + ", 1)");
                    break;
                case 2:
                    log.file.sql("DELETE FROM t WHERE id = " + id);
                    break;
                case 3:
                    log.file.sql("UPDATE OR REPLACE t SET id = " + id +
                                 " WHERE id = " + std::to_string(1 + below(6)));
                    break;
                default:
                    log.file.sql("UPDATE OR REPLACE t SET v = v + 1 WHERE id <= " + id);
            }
            places.push_back(ask(log.reads, from_now{}).next);
        }
        const stamp last_folded{log.file.head().n - below(30)};
        std::vector<std::string> before;
        for (const auto& at : places) before.push_back(log.since(at));
        // A digest holds the time, so it is the clock that moves, not the entries.
        const std::int64_t then = log.file.integer("SELECT max(at_ms) FROM litefeed_log");
        log.file.sql("UPDATE litefeed_tables SET retention_s = 1");
        log.file.sql("INSERT INTO litefeed_consumers VALUES('c', " + std::to_string(last_folded.n) +
                     ", 0)");
        log.file.sql("INSERT INTO litefeed_log(table_id, op, at_ms) VALUES(99, 'i', " +
                     std::to_string(then + day_ms) + ")");
        for (int pass = 0; pass < 3; ++pass) (void)log.thin(then + day_ms);
        CHECK(log.state().folded > 0);
        for (std::size_t i = 0; i < places.size(); ++i) {
            INFO("at " << std::get<rest_cursor>(places[i]).at);
            CHECK(log.since(places[i]) == before[i]);
        }
    }
}

TEST_CASE("the frames of a write-ahead log are counted, also after it began anew") {
    owner_file f("PRAGMA journal_mode = WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, v)");
    const connection db(f.path(), connection::access::read_only, 0);
    (void)db.integer("SELECT count(*) FROM t");
    for (int i = 0; i < 50; ++i) f.sql("INSERT INTO t(v) VALUES(zeroblob(3000))");
    const auto frames = [&] { return f.integer("SELECT 0") + wal_frames(db); };
    const std::int64_t many = frames();
    CHECK(many >= 100);
    f.sql("PRAGMA wal_checkpoint(PASSIVE)");
    CHECK(frames() == many);
    f.sql("UPDATE t SET v = 1 WHERE id = 1");
    CHECK(frames() > 0);
    CHECK(frames() < 5);
    CHECK(
        wal_frames(connection(owner_file("PRAGMA journal_mode = DELETE; CREATE TABLE t(x)").path(),
                              connection::access::read_only, 0)) == 0);
}
