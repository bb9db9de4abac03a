#include "server/column_choice.hpp"

#include <doctest/doctest.h>

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

TEST_SUITE_BEGIN("server/column_choice");

TEST_CASE("hidden and kept columns are read by table") {
    const auto rules = read_column_rules(
        {.hide = {"notes.title", "my.notes.title", "notes.a.b"}, .only = {"notes:id,title"}},
        tables());
    CHECK(rules.hide.at("notes") == std::vector<std::string>{"title", "a.b"});
    CHECK(rules.hide.at("my.notes") == std::vector<std::string>{"title"});
    CHECK(rules.only.at("notes") == std::vector<std::string>{"id", "title"});
}

TEST_CASE("a rule that names nothing is refused: it would protect nothing") {
    for (const auto* hide : {"notes", "notes.", "notes.tittle", "nodes.title", ".title"})
        CHECK_THROWS_AS((void)read_column_rules({.hide = {hide}, .only = {}}, tables()), cannot);
    for (const auto* only : {"notes", "notes:", "notes:id,", "notes:x", "nodes:id"})
        CHECK_THROWS_AS((void)read_column_rules({.hide = {}, .only = {only}}, tables()), cannot);
}

TEST_CASE("a key column cannot be hidden") {
    CHECK_THROWS_WITH_AS((void)read_column_rules({.hide = {"notes.id"}, .only = {}}, tables()),
                         doctest::Contains("key column"), cannot);
}

TEST_SUITE_END();
