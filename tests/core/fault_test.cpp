#include <functional>

#include "core/format.hpp"
#include "tests/core/failing_vfs.hpp"
#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

/// One of the keeper's transactions: what comes before it, and the transaction.
struct transaction_kind {
    std::string what;
    bool watched;
    std::function<void(const owner_file&)> before;
    std::function<void(const owner_file&)> work;
};

const keeping_wish as_latest{.latest = true, .retention_s = 1};

void thin(const owner_file& f) {
    constexpr std::int64_t later_ms = 100'000;
    const auto done = keeper_of(f).thin(f.integer("SELECT max(at_ms) FROM litefeed_log") + later_ms,
                                        [](const auto&) { return true; });
    if (!done) throw boost::system::system_error(done.error());
}

void write_a_lot(const owner_file& f) {
    for (int i = 0; i < 4; ++i)
        f.sql(
            "INSERT INTO t(v) SELECT value FROM json_each('[1,2,3,4,5]'); UPDATE t SET v = v + 1; "
            "DELETE FROM t WHERE id % 3 = 0");
    // As if the next entry came later: what was written above is beyond the window.
    f.sql(
        "INSERT INTO litefeed_log(table_id, op, at_ms) SELECT 0, 'g', max(at_ms) + 50000 FROM "
        "litefeed_log");
}

std::vector<transaction_kind> kinds() {
    return {
        {"install", false, [](const auto&) {}, [](const auto& f) { (void)watch(f, {"t"}); }},
        {"repair", true,
         [](const auto& f) {
             f.sql("DROP TRIGGER litefeed_1_insert; INSERT INTO t VALUES(77, 1)");
         },
         [](const auto& f) {
             const auto done = keeper_of(f).repair();
             if (!done) throw boost::system::system_error(done.error());
         }},
        {"a new lineage", true, [](const auto& f) { f.sql("INSERT INTO t VALUES(78, 1)"); },
         [](const auto& f) {
             const meta m = read_meta(connection(f.path(), connection::access::read_only, 0));
             const auto done =
                 keeper_of(f).begin_lineage({{f.head().n + 5}, m.short_lineage(), 12345});
             if (!done) throw boost::system::system_error(done.error());
         }},
        {"an emptied log", true, [](const auto& f) { f.sql("DELETE FROM litefeed_log"); },
         [](const auto& f) {
             const auto done = keeper_of(f).repair();
             if (!done) throw boost::system::system_error(done.error());
         }},
        {"compaction", true, write_a_lot,
         [](const auto& f) {
             (void)keeper_of(f).watch({"t"}, {}, {.latest = false, .retention_s = 1});
             thin(f);
         }},
        {"folding", true, write_a_lot,
         [](const auto& f) {
             (void)keeper_of(f).watch({"t"}, {}, as_latest);
             thin(f);
         }},
        {"unwatch", true, [](const auto&) {}, [](const auto& f) { keeper_of(f).unwatch({"t"}); }},
        {"removal", true, [](const auto&) {}, [](const auto& f) { keeper_of(f).unwatch_all(); }},
    };
}

/// What `work` was refused with; empty when it was not.
std::string refusal_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const std::exception& why) {
        return why.what();
    }
    return {};
}

}  // namespace

TEST_SUITE_BEGIN("core/faults");

TEST_CASE("a disk that fails at any write leaves a whole feed, and the owner unharmed") {
    const failing_vfs disk;
    for (const std::string journal : {"WAL", "DELETE"}) {
        for (const int code : {SQLITE_IOERR_WRITE, SQLITE_FULL}) {
            for (const transaction_kind& kind : kinds()) {
                int failures = 0;
                for (int nth = 1;; ++nth) {
                    CAPTURE(journal);
                    CAPTURE(code);
                    CAPTURE(kind.what);
                    CAPTURE(nth);
                    owner_file f("PRAGMA journal_mode = " + journal +
                                 "; CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t "
                                 "VALUES(1,1),(2,2)");
                    if (kind.watched) watch(f, {"t"});
                    kind.before(f);
                    failing_vfs::fail_from(nth, code);
                    const std::string refused = refusal_of([&] { kind.work(f); });
                    const bool failed = failing_vfs::mend();
                    if (!failed) {
                        CHECK(refused == "");
                        break;
                    }
                    ++failures;
                    CHECK(f.rows("PRAGMA integrity_check") == "ok");
                    CHECK(f.refusal("UPDATE t SET v = v + 1") == "");
                    CHECK(refusal_of([&] { kind.work(f); }) == "");
                    CHECK(f.refusal("INSERT INTO t VALUES(90 + (SELECT count(*) FROM t), 1)") ==
                          "");
                    if (!is_installed(connection(f.path(), connection::access::read_only, 0)))
                        continue;
                    REQUIRE(keeper_of(f).repair().has_value());
                    feed reads = feed_of(f);
                    replica reader(reads);
                    reader.follow();
                    if (kind.what != "unwatch") CHECK(reader.text("t") == reader.truth("t"));
                }
                CHECK(failures > 2);
            }
        }
    }
}

TEST_SUITE_END();
