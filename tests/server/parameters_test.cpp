#include "server/parameters.hpp"

#include <doctest/doctest.h>

using namespace litefeed::server;

namespace {

outcome<parameters> check(std::vector<std::pair<std::string, std::string>> query) {
    return parameters::check(std::move(query), {"since", "table", "limit", "snapshot", "format"});
}

}  // namespace

TEST_SUITE_BEGIN("server/parameters");

TEST_CASE("an unknown parameter is refused by its name") {
    const auto read = check({{"since", "0"}, {"sinse", "1"}});
    REQUIRE(read.has_error());
    CHECK(read.error().kind == problem_kind::unknown_parameter);
    CHECK(read.error().parameter == "sinse");
}

TEST_CASE("a parameter that comes twice is refused, but for table") {
    const auto read = check({{"since", "0"}, {"since", "0"}});
    REQUIRE(read.has_error());
    CHECK(read.error().kind == problem_kind::repeated_parameter);
    CHECK(read.error().parameter == "since");
    CHECK(check({{"table", "a"}, {"table", "b"}})->all("table") ==
          std::vector<std::string>{"a", "b"});
}

TEST_CASE("underscored names and htmx's cache buster are ignored, even twice") {
    const auto read = check({{"_", "1"}, {"_", "2"}, {"_x", ""}, {"org.htmx.cache-buster", "n"}});
    REQUIRE(read.has_value());
    CHECK(read->find("_") == nullptr);
}

TEST_CASE("numbers are digits only, within their bounds") {
    CHECK(*check({})->number("limit", 1, 100, 7) == 7);
    CHECK(*check({{"limit", "1"}})->number("limit", 1, 100, 7) == 1);
    CHECK(*check({{"limit", "100"}})->number("limit", 1, 100, 7) == 100);
    for (const auto* bad : {"", "0", "101", "-1", "+1", "1.0", "1e2", " 1", "0x7", "7,8", "abc",
                            "99999999999999999999"}) {
        const auto read = check({{"limit", bad}})->number("limit", 1, 100, 7);
        REQUIRE(read.has_error());
        CHECK(read.error().kind == problem_kind::bad_parameter);
        CHECK(read.error().parameter == "limit");
    }
}

TEST_CASE("digits stop at their highest value") {
    CHECK(parse_digits("9223372036854775807", INT64_MAX) == INT64_MAX);
    CHECK_FALSE(parse_digits("9223372036854775808", INT64_MAX));
    CHECK(parse_digits("255", 255) == 255);
    CHECK_FALSE(parse_digits("256", 255));
}

TEST_CASE("a flag is 0 or 1, a choice one of its words") {
    CHECK(*check({{"snapshot", "1"}})->flag("snapshot"));
    CHECK_FALSE(*check({{"snapshot", "0"}})->flag("snapshot"));
    CHECK(check({{"snapshot", "true"}})->flag("snapshot").has_error());
    CHECK(*check({{"format", "ndjson"}})->choice("format", {"json", "ndjson"}) == 1);
    CHECK(*check({})->choice("format", {"json", "ndjson"}) == 0);
    CHECK(check({{"format", "JSON"}})->choice("format", {"json", "ndjson"}).has_error());
}

TEST_SUITE_END();
