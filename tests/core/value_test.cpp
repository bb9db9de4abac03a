#include "core/value.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

const std::vector<row_key> keys{
    {},
    {std::int64_t{0}},
    {std::numeric_limits<std::int64_t>::min()},
    {std::numeric_limits<std::int64_t>::max()},
    {1.0},
    {std::numeric_limits<double>::infinity()},
    {std::string()},
    {std::string("a\0b", 3)},
    {blob_bytes{}},
    {blob_bytes{"\xff"}},
    {std::string("a"), std::int64_t{-1}, 2.5, blob_bytes{"b"}},
    {std::monostate{}, std::int64_t{1}},
    {std::string(500, 'x'), std::string(500, 'y')},
};

row_key decoded(std::string_view bytes, bool& cut) {
    row_key out;
    REQUIRE(decode(bytes, out, cut));
    return out;
}

}  // namespace

TEST_SUITE_BEGIN("core/value");

TEST_CASE("a key comes back from its bytes, and different keys have different bytes") {
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        bool cut = true;
        CHECK((decoded(encode(keys[i]), cut) == keys[i]));
        CHECK_FALSE(cut);
        CHECK(seen.emplace(encode(keys[i]), i).second);
    }
}

TEST_CASE("the bytes of each class are as they are written down") {
    CHECK(encode({std::int64_t{258}}) == std::string("\x01\x02\x01\0\0\0\0\0\0", 9));
    CHECK(encode({std::int64_t{-1}}) == "\x01\xff\xff\xff\xff\xff\xff\xff\xff");
    CHECK(encode({1.0}) == std::string("\x02\0\0\0\0\0\0\xf0\x3f", 9));
    CHECK(encode({std::string("ab")}) == std::string("\x03\x02\0\0\0\0\0\0\0ab", 11));
    CHECK(encode({blob_bytes{"c"}}) == std::string("\x04\x01\0\0\0\0\0\0\0c", 10));
    CHECK(encode({std::monostate{}, std::int64_t{0}}) == std::string("\0\x01\0\0\0\0\0\0\0\0", 10));
}

TEST_CASE("1, 1.0, '1' and x'31' are four keys; -0.0 and 0.0 are one") {
    const std::vector<row_key> ones{
        {std::int64_t{1}}, {1.0}, {std::string("1")}, {blob_bytes{"1"}}};
    for (const row_key& a : ones) {
        for (const row_key& b : ones) CHECK((encode(a) == encode(b)) == (&a == &b));
    }
    CHECK(encode({-0.0}) == encode({0.0}));
}

TEST_CASE("NULLs at the end are left out, those before a value are not") {
    CHECK(encode({std::int64_t{1}, std::monostate{}}) == encode({std::int64_t{1}}));
    CHECK(encode({std::monostate{}}) == "");
    CHECK(encode({std::monostate{}, std::int64_t{1}}) != encode({std::int64_t{1}}));
}

TEST_CASE("the columns of a row give the bytes of the key that they hold") {
    const owner_file f;
    statement row(f.get(), "SELECT 'other', 7, 1.5, 'ü', x'00ff', -0.0, NULL, NULL");
    REQUIRE(row.step());
    std::string bytes = "before";
    encode_columns(row, 1, 7, bytes);
    CHECK(bytes == "before" + encode({std::int64_t{7}, 1.5, std::string("ü"),
                                      blob_bytes{std::string("\0\xff", 2)}, 0.0}));
    row_key key;
    for (int i = 1; i < 6; ++i) key.push_back(column_value(row, i));
    CHECK(encode(key) == bytes.substr(6));
    CHECK((column_value(row, 6) == value{std::monostate{}}));
}

TEST_CASE("what was bound comes back with its class") {
    const owner_file f;
    statement row(f.get(), "SELECT ?1, typeof(?1)");
    const std::vector<std::pair<value, std::string>> values{
        {std::monostate{}, "null"},       {std::int64_t{5}, "integer"}, {0.5, "real"},
        {std::string("a\0b", 3), "text"}, {std::string(), "text"},      {blob_bytes{}, "blob"},
        {blob_bytes{"x"}, "blob"}};
    for (const auto& [v, name] : values) {
        row.reset();
        bind_value(row, 1, v);
        REQUIRE(row.step());
        CHECK((column_value(row, 0) == v));
        CHECK(row.text(1) == name);
    }
}

TEST_CASE("a key that was cut anywhere gives what was whole of it, and says that it was cut") {
    const row_key whole{std::int64_t{1}, std::string("hello"), blob_bytes{"world"}, 2.0};
    const std::string bytes = encode(whole);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        CAPTURE(size);
        bool cut = false;
        const row_key part = decoded(bytes.substr(0, size), cut);
        const bool between = size == 0 || size == 9 || size == 23 || size == 37;
        CHECK(cut != between);
        for (std::size_t i = 0; i < part.size(); ++i) {
            if (i + 1 < part.size() || !cut) CHECK((part[i] == whole[i]));
        }
    }
    bool cut = false;
    CHECK((decoded(bytes.substr(0, 20), cut) == row_key{std::int64_t{1}, std::string("he")}));
    CHECK(cut);
}

TEST_CASE("bytes that are no key are refused") {
    row_key key;
    bool cut = false;
    CHECK_FALSE(
        decode("\x05"
               "12345678",
               key, cut));
    CHECK_FALSE(decode("\xff", key, cut));
    CHECK_FALSE(decode(encode({std::int64_t{1}}) + "\x09", key, cut));
    // Reals that no key holds: NaN, and 0.0 with a sign.
    CHECK_FALSE(decode("\x02\xff\xff\xff\xff\xff\xff\xff\xff", key, cut));
    CHECK_FALSE(decode(std::string_view("\x02\0\0\0\0\0\0\0\x80", 9), key, cut));
    // A length beyond all bounds is a text that was cut, never a large allocation.
    CHECK(
        decode("\x03\xff\xff\xff\xff\xff\xff\xff\xff"
               "ab",
               key, cut));
    CHECK(cut);
    CHECK((key == row_key{std::string("ab")}));
}

TEST_CASE("declared types have the affinity that SQLite gives them") {
    const std::vector<std::pair<const char*, affinity>> types{{"", affinity::blob},
                                                              {"BLOB", affinity::blob},
                                                              {"INT", affinity::integer},
                                                              {"bigint", affinity::integer},
                                                              {"CHARINT", affinity::integer},
                                                              {"VARCHAR(10)", affinity::text},
                                                              {"CLOB", affinity::text},
                                                              {"text", affinity::text},
                                                              {"REAL", affinity::real},
                                                              {"DOUBLE PRECISION", affinity::real},
                                                              {"FLOAT", affinity::real},
                                                              {"FLOATING POINT", affinity::integer},
                                                              {"DECIMAL(10,5)", affinity::numeric},
                                                              {"BOOLEAN", affinity::numeric},
                                                              {"STRING", affinity::numeric},
                                                              {"ANY", affinity::numeric}};
    for (const auto& [type, expected] : types) {
        CAPTURE(type);
        CHECK(affinity_of(type, false) == expected);
        const owner_file f(std::string("CREATE TABLE t(x ") + type +
                           "); INSERT INTO t VALUES('12')");
        const std::string stored = f.rows("SELECT typeof(x) FROM t");
        const bool as_text = expected == affinity::text || expected == affinity::blob;
        CHECK(stored == (as_text ? "text" : expected == affinity::real ? "real" : "integer"));
    }
    CHECK(affinity_of("ANY", true) == affinity::blob);
}

TEST_SUITE_END();
