#include "core/log.hpp"

#include "core/format.hpp"
#include "core/value.hpp"
#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

struct vector_of_digest {
    std::int64_t table_id;
    char op;
    std::int64_t at_ms;
    row_key key;
    std::string as_sql;
    std::uint32_t digest;
};

// Computed by another XXH64, written from its specification in Python, over bytes put together there.
const std::vector<vector_of_digest> vectors{
    {1, 'g', 0, {}, "NULL, NULL, NULL", 0xf5bff3bd},
    {1, 'i', 1700000000000, {std::int64_t{42}}, "42, NULL, NULL", 0x568ea6a6},
    {7, 'u', 1700000000001, {std::string("Grüße"), -1.5}, "'Grüße', -1.5, NULL", 0x3d0e54e9},
    {2,
     'd',
     1700000000002,
     {blob_bytes{std::string("\0\xff", 2)}, -0.0, INT64_MIN},
     "x'00ff', -0.0, -9223372036854775808",
     0x92c7e0ee},
    {3, 't', -1, {std::string()}, "'', NULL, NULL", 0xba90f18b},
};

}  // namespace

TEST_SUITE_BEGIN("core/log");

TEST_CASE("an entry's digest is what is written down, to the byte") {
    for (const auto& v : vectors)
        CHECK(entry_digest(v.table_id, v.op, v.at_ms, encode(v.key)) == v.digest);
}

TEST_CASE("an entry in the file has the digest of what it holds, however wide the log is") {
    owner_file f("CREATE TABLE t(a NOT NULL, b NOT NULL, c NOT NULL, PRIMARY KEY(a, b, c))");
    watch(f, {"t"});
    std::int64_t seq = 100;
    for (const auto& v : vectors) {
        f.sql("INSERT INTO litefeed_log(seq, table_id, op, at_ms, key, key2, key3) VALUES(" +
              std::to_string(++seq) + "," + std::to_string(v.table_id) + ",'" + v.op + "'," +
              std::to_string(v.at_ms) + "," + v.as_sql + ")");
    }
    const auto check_all = [&](int width) {
        const connection db(f.path(), connection::access::read_only, 0);
        log_reader log(db);
        CHECK(log.key_width() == width);
        for (std::size_t i = 0; i < vectors.size(); ++i) {
            CHECK(log.digest_at({101 + static_cast<std::int64_t>(i)}) == vectors[i].digest);
        }
        CHECK_FALSE(log.digest_at({100}).has_value());
        CHECK_FALSE(log.digest_at({0}).has_value());
    };
    check_all(3);
    f.sql(
        "CREATE TABLE w(a NOT NULL, b NOT NULL, c NOT NULL, d NOT NULL, PRIMARY KEY(a, b, c, d))");
    watch(f, {"w"});
    check_all(4);
}

TEST_CASE("a different table, op, time or key is a different digest") {
    const auto base = entry_digest(1, 'i', 5, encode({std::int64_t{1}}));
    CHECK(entry_digest(2, 'i', 5, encode({std::int64_t{1}})) != base);
    CHECK(entry_digest(1, 'u', 5, encode({std::int64_t{1}})) != base);
    CHECK(entry_digest(1, 'i', 6, encode({std::int64_t{1}})) != base);
    CHECK(entry_digest(1, 'i', 5, encode({1.0})) != base);
    CHECK(entry_digest(1, 'i', 5, encode({std::string("1")})) != base);
}

TEST_CASE("the cursor at the floor takes the digest that was kept of it") {
    owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY)");
    watch(f, {"t"});
    f.sql("INSERT INTO t VALUES(1),(2),(3)");
    const connection db(f.path(), connection::access::read_only, 0);
    log_reader log(db);
    meta m = read_meta(db);
    CHECK(log.cursor_at({2}, m) == rest_cursor{{2}, m.short_lineage(), *log.digest_at({2})});
    m.floor = {2};
    m.floor_digest = 0x12345678;
    CHECK(log.cursor_at({2}, m).digest == 0x12345678);
    CHECK(log.cursor_at({3}, m).digest == *log.digest_at({3}));
}

TEST_CASE("a scan tells the entries above one stamp up to another, in order") {
    owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY)");
    watch(f, {"t"});
    f.sql("INSERT INTO t VALUES(10),(11),(12)");
    const connection db(f.path(), connection::access::read_only, 0);
    log_reader log(db);
    std::string seen;
    const auto each = [&](stamp at, std::int64_t table_id, char op, const statement& row, int key) {
        seen += std::to_string(at.n) + op + std::to_string(table_id) + ":" +
                std::to_string(row.integer(key)) + " ";
    };
    log.scan({1}, {3}, each);
    CHECK(seen == "2i1:10 3i1:11 ");
    seen.clear();
    log.scan({4}, {9}, each);
    CHECK(seen == "");
}

TEST_CASE(
    "a walk stands on the entries that are asked for, near or far, and on none that is not there") {
    owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY)");
    watch(f, {"t"});
    for (int id = 2; id <= 30; ++id) f.sql("INSERT INTO t VALUES(" + std::to_string(id) + ")");
    f.sql("DELETE FROM litefeed_log WHERE seq IN (4, 20)");
    const connection db(f.path(), connection::access::read_only, 0);
    log_reader log(db);
    log_reader::walk entries(log);
    const auto key = [&] { return entries.row().integer(log_reader::walk::first_key_column); };
    for (const std::int64_t at : {2, 3, 5, 6, 19, 21, 30}) {
        CAPTURE(at);
        REQUIRE(entries.to({at}));
        CHECK(key() == at);
    }
    CHECK_FALSE(entries.to({31}));

    log_reader::walk again(log);
    CHECK_FALSE(again.to({4}));
    REQUIRE(again.to({5}));
    CHECK(again.row().integer(log_reader::walk::first_key_column) == 5);
    CHECK_FALSE(again.to({20}));
    CHECK(again.to({21}));
}

TEST_SUITE_END();
