#include "core/json.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <random>

#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

std::string json(const value& v, affinity declared = affinity::blob) {
    std::string out;
    append_json(v, declared, out);
    return out;
}
/// Of what an SQL expression computes.
std::string selected(const std::string& expression, affinity declared = affinity::blob) {
    const owner_file f;
    statement row(f.get(), "SELECT " + expression);
    REQUIRE(row.step());
    std::string out;
    append_json(row, 0, declared, out);
    return out;
}
std::string text(std::string_view t) {
    std::string out;
    append_json_text(t, out);
    return out;
}

constexpr std::int64_t exact = (std::int64_t{1} << 53) - 1;

}  // namespace

TEST_SUITE_BEGIN("core/json");

TEST_CASE("NULL is null") {
    CHECK(json(std::monostate{}) == "null");
    CHECK(selected("NULL") == "null");
}

TEST_CASE("an integer is a number as long as JavaScript holds it exactly") {
    for (const auto a :
         {affinity::blob, affinity::text, affinity::numeric, affinity::integer, affinity::real}) {
        CHECK(json(std::int64_t{0}, a) == "0");
        CHECK(json(exact, a) == "9007199254740991");
        CHECK(json(-exact, a) == "-9007199254740991");
    }
}

TEST_CASE("beyond that it is a bare string where no such text can be, and an object elsewhere") {
    for (const auto a : {affinity::integer, affinity::numeric}) {
        CHECK(json(exact + 1, a) == "\"9007199254740992\"");
        CHECK(json(-exact - 1, a) == "\"-9007199254740992\"");
        CHECK(json(std::numeric_limits<std::int64_t>::min(), a) == "\"-9223372036854775808\"");
    }
    for (const auto a : {affinity::blob, affinity::text, affinity::real}) {
        CHECK(json(exact + 1, a) == "{\"integer\":\"9007199254740992\"}");
        CHECK(json(std::numeric_limits<std::int64_t>::max(), a) ==
              "{\"integer\":\"9223372036854775807\"}");
    }
    CHECK(selected("9007199254740993", affinity::blob) == "{\"integer\":\"9007199254740993\"}");
    CHECK(selected("9007199254740993", affinity::integer) == "\"9007199254740993\"");
}

TEST_CASE("a real always shows that it is one: a point or an exponent") {
    CHECK(json(1.0) == "1.0");
    CHECK(json(0.1) == "0.1");
    CHECK(json(-2.5) == "-2.5");
    CHECK(json(1e300) == "1e+300");
    CHECK(json(5e-324) == "5e-324");
    CHECK(json(123456789012345680.0).find_first_of(".e") != std::string::npos);
    CHECK(selected("1e0", affinity::integer) == "1.0");
}

TEST_CASE("a real is the shortest text that reads back the same") {
    std::mt19937_64 random(7);
    std::vector<double> all{1.0 / 3, 0.30000000000000004, 1.7976931348623157e308,
                            2.2250738585072014e-308, 4.9e-324};
    while (all.size() < 20000) {
        const std::uint64_t bits = random();
        double d = 0;
        std::memcpy(&d, &bits, sizeof d);
        if (d == d && d - d == 0) all.push_back(d);
    }
    for (const double d : all) {
        const std::string t = json(d);
        const double back = std::strtod(t.c_str(), nullptr);
        if (std::memcmp(&back, &d, sizeof d) != 0) FAIL_CHECK(t);
        if (!nlohmann::json::accept(t)) FAIL_CHECK(t);
        if (t.size() > 25) FAIL_CHECK(t);
    }
    CHECK(json(0.30000000000000004) == "0.30000000000000004");
    CHECK(json(0.3) == "0.3");
}

TEST_CASE("-0.0 keeps its sign in a row and loses it in a key") {
    CHECK(selected("-0.0") == "-0.0");
    CHECK(selected("0.0") == "0.0");
    CHECK(json(-0.0) == "0.0");
}

TEST_CASE("what is infinite is an object") {
    CHECK(json(std::numeric_limits<double>::infinity()) == "{\"real\":\"Infinity\"}");
    CHECK(selected("-9e999") == "{\"real\":\"-Infinity\"}");
    CHECK(selected("9e999 - 9e999") == "null");
}

TEST_CASE("a text is a string, with what JSON must escape escaped") {
    CHECK(json(std::string()) == "\"\"");
    CHECK(json(std::string("a\"b\\c/\x7f")) == "\"a\\\"b\\\\c/\x7f\"");
    CHECK(json(std::string("\n\r\t\b\f\x01\x1f")) == R"("\n\r\t\u0008\u000c\u0001\u001f")");
    CHECK(json(std::string("a\0b", 3)) == R"("a\u0000b")");
    CHECK(selected("'a' || char(0) || 'b'") == R"("a\u0000b")");
    CHECK(json(std::string("\xe2\x80\xa8<script>")) == "\"\xe2\x80\xa8<script>\"");
    for (int c = 0; c < 128; ++c) {
        const std::string one(1, static_cast<char>(c));
        CHECK(nlohmann::json::parse(json(one)).get<std::string>() == one);
    }
}

TEST_CASE("UTF-8 is taken to its edges and not beyond them") {
    for (const std::string_view good :
         {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
          "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
        CHECK(is_utf8(good));
        CHECK(json(std::string(good)) == "\"" + std::string(good) + "\"");
    }
    for (const std::string_view bad :
         {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x7f", "\xe0\x9f\xbf", "\xe0\xa0",
          "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80", "\xf4\x90\x80\x80",
          "\xf5\x80\x80\x80", "\xff"}) {
        CHECK_FALSE(is_utf8(bad));
        CHECK(json(std::string(bad)).substr(0, 14) ==
              "{\"text_hex\":\"" + json(blob_bytes{std::string(bad)}).substr(13, 1));
        CHECK(nlohmann::json::accept(text(bad)));
    }
    CHECK(is_utf8(""));
}

TEST_CASE("a text that is not UTF-8 is told in hex, whole") {
    CHECK(json(std::string("a\xff"
                           "b")) == R"({"text_hex":"61ff62"})");
    CHECK(selected("CAST(x'61ff62' AS TEXT)") == R"({"text_hex":"61ff62"})");
    std::string out = "before";
    append_json(value{std::string("long enough\n\xff")}, affinity::text, out);
    CHECK(out == R"(before{"text_hex":"6c6f6e6720656e6f7567680aff"})");
}

TEST_CASE("a blob is told in hex") {
    CHECK(json(blob_bytes{std::string("\0\xff", 2)}) == R"({"blob_hex":"00ff"})");
    CHECK(json(blob_bytes{}) == R"({"blob_hex":""})");
    CHECK(selected("x'00ff'") == R"({"blob_hex":"00ff"})");
}

TEST_CASE("a name that is not UTF-8 is still a string") {
    CHECK(text("a\xff"
               "b") ==
          "\"a\xef\xbf\xbd"
          "b\"");
    for (const std::string_view bad : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
        CHECK(text(bad).find("\xef\xbf\xbd") != std::string::npos);
    CHECK(text("\xe2\x82") == "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    CHECK(text("ü\"") == "\"ü\\\"\"");
}

TEST_CASE("values that differ in SQLite never read the same under one column") {
    const std::vector<std::string> sql{"NULL",
                                       "1",
                                       "1.0",
                                       "'1'",
                                       "x'31'",
                                       "9007199254740993",
                                       "'9007199254740993'",
                                       "9e999",
                                       "'Infinity'",
                                       "'null'",
                                       "''",
                                       "x''",
                                       "CAST(x'ff' AS TEXT)",
                                       "x'ff'",
                                       "'{\"real\":\"Infinity\"}'"};
    for (const char* type : {"", "TEXT", "INTEGER", "NUMERIC", "REAL", "BLOB"}) {
        CAPTURE(type);
        const owner_file f(std::string("CREATE TABLE t(x ") + type + ")");
        for (const std::string& s : sql) f.sql("INSERT INTO t VALUES(" + s + ")");
        statement rows(f.get(), "SELECT x, typeof(x) || quote(x) FROM t");
        std::map<std::string, std::string> seen;
        while (rows.step()) {
            std::string out;
            append_json(rows, 0, affinity_of(type, false), out);
            CHECK(nlohmann::json::accept(out));
            CHECK(seen.emplace(out, rows.text(1)).first->second == rows.text(1));
        }
    }
}

TEST_SUITE_END();
