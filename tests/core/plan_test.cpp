#include "core/plan.hpp"

#include <sstream>

#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

/// A log made by hand: `i1 u2 t1 x` are entries of table 1 with these keys, from stamp 1 on; `B:i1` is table 2's.
struct hand_made_log {
    explicit hand_made_log(const std::string& entries)
        : file(
              "CREATE TABLE litefeed_log(seq INTEGER PRIMARY KEY, table_id, op, at_ms, key, key2);"
              "CREATE TABLE litefeed_marks(seq INTEGER PRIMARY KEY, digests)") {
        std::istringstream in(entries);
        std::string e;
        while (in >> e) {
            const bool second = e.substr(0, 2) == "B:";
            if (second) e.erase(0, 2);
            const std::string key = e.size() > 1 ? e.substr(1) : "NULL";
            file.sql("INSERT INTO litefeed_log(table_id, op, at_ms, key) VALUES(" +
                     std::string(second ? "2" : "1") + ",'" + e[0] + "', 0, " + key + ")");
        }
    }
    /// Each planned change: the stamp and what is said of it: `h`eld or `n`ew, `t`ouched only, `x` for a table's end.
    std::string plan(std::int64_t base = 0, std::int64_t ceiling = 1000,
                     const std::vector<std::int64_t>& tables = {1, 2}) const {
        const connection db(file.path(), connection::access::read_only, 0);
        log_reader log(db);
        std::string out;
        const delta_plan made = delta_plan::make(log, {base}, {ceiling}, tables, 0);
        for (const planned_change& c : made.changes()) {
            out += (out.empty() ? "" : " ") + std::to_string(c.at.n);
            out += c.truncates ? "x" : c.only_touched ? "t" : c.held ? "h" : "n";
        }
        return out;
    }
    owner_file file;
};

std::string plan(const std::string& entries, std::int64_t base = 0, std::int64_t ceiling = 1000) {
    return hand_made_log(entries).plan(base, ceiling);
}

}  // namespace

TEST_SUITE_BEGIN("core/plan");

TEST_CASE("a row is new when its first entry that is no update is an insert") {
    CHECK(plan("i1") == "1n");
    CHECK(plan("u1") == "1h");
    CHECK(plan("d1") == "1h");
    CHECK(plan("i1 u1") == "2n");
    CHECK(plan("u1 i1") == "2n");
    CHECK(plan("u1 u1 i1 u1") == "4n");
    CHECK(plan("i1 d1") == "2n");
    CHECK(plan("d1 i1") == "2h");
    CHECK(plan("u1 d1 i1") == "3h");
    CHECK(plan("i1 d1 i1") == "3n");
}

TEST_CASE("a touch proves that the row was there, and is never its last entry") {
    CHECK(plan("t1 i1") == "2h");
    CHECK(plan("t1 u1") == "2h");
    CHECK(plan("u1 t1 i1") == "3h");
    CHECK(plan("i1 t1") == "1n");
    CHECK(plan("u1 t1") == "1h");
    CHECK(plan("t1 u1 t1") == "2h");
    CHECK(plan("t1 d1 t1") == "2h");
}

TEST_CASE("a row that was only touched stands at its last touch") {
    CHECK(plan("t1") == "1t");
    CHECK(plan("t1 i2 t1") == "2n 3t");
}

TEST_CASE("each row appears once, in the order of last entries") {
    CHECK(plan("i1 i2 u1 i3 d2") == "3n 4n 5n");
    CHECK(plan("d1 i2 d3 i1") == "2n 3h 4h");
}

TEST_CASE("only what lies above the base and up to the ceiling counts") {
    CHECK(plan("i1 u1 u1", 1) == "3h");
    CHECK(plan("i1 u1 u1", 1, 2) == "2h");
    CHECK(plan("i1 u1 d1", 0, 1) == "1n");
    CHECK(plan("i1 u1 u1", 3) == "");
    CHECK(plan("i1 u1 u1", 2, 2) == "");
}

TEST_CASE("keys of another class or another table are other rows") {
    CHECK(plan("i1 i1.0 i'1' ix'31'") == "1n 2n 3n 4n");
    CHECK(plan("i1 B:u1") == "1n 2h");
    CHECK(plan("i'abc' i'ABC'") == "1n 2n");
    CHECK(hand_made_log("i1 B:u1").plan(0, 1000, {2}) == "2h");
    CHECK(hand_made_log("i1 B:u1").plan(0, 1000, {}) == "");
}

TEST_CASE("where the table ended its rows are not told any more, and others are") {
    CHECK(plan("i1 u2 x") == "3x");
    CHECK(plan("x i1") == "1x");
    CHECK(plan("i1 x B:i1 x") == "3n 4x");
    CHECK(plan("x", 1) == "");
}

TEST_CASE("the beginning of a generation is no row") { CHECK(plan("g i1 g") == "2n"); }

TEST_CASE("a plan that would read more than is allowed is given up") {
    const hand_made_log log("i1 i2 i3");
    const connection db(log.file.path(), connection::access::read_only, 0);
    log_reader reader(db);
    CHECK(delta_plan::make(reader, {0}, {9}, {1}, 3).changes().size() == 3);
    CHECK_THROWS_AS((void)delta_plan::make(reader, {0}, {9}, {1}, 2), boost::system::system_error);
}

TEST_CASE("the cache keeps the plans used last, and only under their very key") {
    plan_cache cache;
    const auto key = [](std::int64_t base) { return plan_cache::key{1, 2, {base}, {100}, {1}}; };
    const auto empty = std::make_shared<const delta_plan>();
    CHECK(cache.find(key(1)) == nullptr);
    for (int i = 1; i <= 8; ++i) cache.put(key(i), empty);
    CHECK(cache.find(key(1)) == empty);
    cache.put(key(9), empty);
    CHECK(cache.find(key(1)) == empty);
    CHECK(cache.find(key(2)) == nullptr);
    CHECK(cache.find(key(9)) == empty);
    for (auto other : {plan_cache::key{2, 2, {9}, {100}, {1}},
                       {1, 3, {9}, {100}, {1}},
                       {1, 2, {9}, {101}, {1}},
                       {1, 2, {9}, {100}, {2}}}) {
        CHECK(cache.find(other) == nullptr);
    }
}

TEST_SUITE_END();
