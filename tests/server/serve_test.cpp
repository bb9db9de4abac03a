#include "server/serve.hpp"

#include <doctest/doctest.h>

#include "server/fingerprint.hpp"

using namespace litefeed;
using namespace litefeed::server;

namespace {

std::vector<table_status> tables() {
    table_status notes;
    notes.name = "notes";
    notes.key = {"id"};
    notes.columns = {{"id", "INTEGER"}, {"title", "TEXT"}, {"a.b", "TEXT"}};
    table_status dotted = notes;
    dotted.name = "my.notes";
    return {notes, dotted};
}

}  // namespace

TEST_SUITE_BEGIN("server/serve");

TEST_CASE("hidden and kept columns are read by table") {
    const auto rules = read_column_rules({"notes.title", "my.notes.title", "notes.a.b"},
                                         {"notes:id,title"}, tables());
    CHECK(rules.hide.at("notes") == std::vector<std::string>{"title", "a.b"});
    CHECK(rules.hide.at("my.notes") == std::vector<std::string>{"title"});
    CHECK(rules.only.at("notes") == std::vector<std::string>{"id", "title"});
}

TEST_CASE("a rule that names nothing is refused: it would protect nothing") {
    for (const auto* hide : {"notes", "notes.", "notes.tittle", "nodes.title", ".title"})
        CHECK_THROWS_AS((void)read_column_rules({hide}, {}, tables()), cannot);
    for (const auto* only : {"notes", "notes:", "notes:id,", "notes:x", "nodes:id"})
        CHECK_THROWS_AS((void)read_column_rules({}, {only}, tables()), cannot);
}

TEST_CASE("a key column cannot be hidden") {
    CHECK_THROWS_WITH_AS((void)read_column_rules({"notes.id"}, {}, tables()),
                         doctest::Contains("key column"), cannot);
}

TEST_CASE("an ETag is known again by its request, whatever stands beside it") {
    const auto self = fingerprint("a"), other = fingerprint("b");
    const auto tag = weak_etag("7.42.1", self);
    CHECK(known_version(tag, self) == "7.42.1");
    CHECK(known_version("\"x\", " + tag + ", W/\"y\"", self) == "7.42.1");
    CHECK(known_version(tag, other).empty());
    CHECK(known_version("*", self).empty());
    CHECK(known_version("-" + self + "\"", self).empty());
}

TEST_SUITE_END();
