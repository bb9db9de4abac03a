#include "server/target.hpp"

#include <doctest/doctest.h>

using namespace litefeed::server;

namespace {

using pairs = std::vector<std::pair<std::string, std::string>>;

problem_kind refusal(std::string_view text) {
    const auto read = parse_target(text);
    REQUIRE(read.has_error());
    return read.error().kind;
}

}  // namespace

TEST_SUITE_BEGIN("server/target");

TEST_CASE("the path is split before it is decoded, so an escaped slash stays inside its segment") {
    CHECK(parse_target("/rows/a%2Fb")->path == std::vector<std::string>{"rows", "a/b"});
    CHECK(parse_target("/")->path == std::vector<std::string>{""});
    CHECK(parse_target("//changes")->path == std::vector<std::string>{"", "changes"});
    CHECK(parse_target("/rows/%2e%2e%2f")->path == std::vector<std::string>{"rows", "../"});
}

TEST_CASE("plus is a space in the query and itself in the path") {
    const auto t = parse_target("/rows/a+b?table=a+b&tables=a%2Bb,%C3%A4");
    CHECK(t->path.back() == "a+b");
    CHECK(t->query == pairs{{"table", "a b"}, {"tables", "a+b,\xc3\xa4"}});
}

TEST_CASE("escapes are decoded once") {
    CHECK(parse_target("/changes?table=%2541")->query == pairs{{"table", "%41"}});
    CHECK(parse_target("/changes?table=a%3Db%26c")->query == pairs{{"table", "a=b&c"}});
}

TEST_CASE("any byte may come out of an escape") {
    CHECK(parse_target("/rows/%00%ff")->path.back() == std::string("\0\xff", 2));
}

TEST_CASE("an escape that is not two hex digits is refused, wherever it stands") {
    for (const auto* text : {"/%", "/%4", "/%GG", "/%NETHOOD%/", "/a?%=1", "/a?b=%4", "/a?b=%zz"})
        CHECK(refusal(text) == problem_kind::bad_request);
}

TEST_CASE("empty pieces of the query are no parameters, an empty value is one") {
    CHECK(parse_target("/changes?")->query.empty());
    CHECK(parse_target("/changes?&&")->query.empty());
    CHECK(parse_target("/changes?since")->query == pairs{{"since", ""}});
    CHECK(parse_target("/changes?since=&a=b=c")->query == pairs{{"since", ""}, {"a", "b=c"}});
}

TEST_CASE("an absolute target names its authority and then its path") {
    const auto t = parse_target("HTTP://localhost:7070/changes?since=0");
    CHECK(t->authority == "localhost:7070");
    CHECK(t->path == std::vector<std::string>{"changes"});
    CHECK(t->query == pairs{{"since", "0"}});
    CHECK(parse_target("http://localhost")->path == std::vector<std::string>{""});
    CHECK(parse_target("http://localhost?a=1")->query == pairs{{"a", "1"}});
}

TEST_CASE("the asterisk stands alone; a relative target and a fragment are refused") {
    CHECK(parse_target("*")->asterisk);
    CHECK(refusal("changes") == problem_kind::bad_request);
    CHECK(refusal("ftp://x/") == problem_kind::bad_request);
    CHECK(refusal("/a#b") == problem_kind::bad_request);
    CHECK(refusal("") == problem_kind::bad_request);
}

TEST_CASE("what was encoded decodes to itself") {
    std::string every;
    for (int c = 0; c < 256; ++c) every += static_cast<char>(c);
    CHECK(percent_decode(percent_encode(every), true) == every);
    CHECK(percent_decode(percent_encode(every), false) == every);
}

TEST_SUITE_END();
