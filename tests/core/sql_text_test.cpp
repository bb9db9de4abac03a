#include "core/sql_text.hpp"

#include <doctest/doctest.h>

#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

std::string sources(std::string_view sql) {
    std::string out;
    for (const sql_token& t : sql_tokens(sql))
        out += (out.empty() ? "" : " ") + std::string(t.source);
    return out;
}

std::string terms(std::string_view sql) {
    std::string out;
    for (const indexed_term& t : read_create_index(sql).terms) out += "[" + t.expression + "]";
    return out;
}

std::string names(std::string_view expression) {
    std::string out;
    for (const std::string& n : names_in(expression)) out += (out.empty() ? "" : ",") + n;
    return out;
}

}  // namespace

TEST_SUITE_BEGIN("core/sql_text");

TEST_CASE("quotes inside a name or a text are doubled, and SQLite reads them back") {
    CHECK(quote_identifier("notes") == "\"notes\"");
    CHECK(quote_identifier("a \"b\"") == "\"a \"\"b\"\"\"");
    CHECK(quote_identifier("") == "\"\"");
    CHECK(quote_text("it's") == "'it''s'");
    const owner_file f;
    for (const std::string name : {"a\"b", "\"", "]", "`", "'", "select", "ä", "a;--", "/*"}) {
        CAPTURE(name);
        f.sql("CREATE TABLE " + quote_identifier(name) + "(x)");
        CHECK(f.integer("SELECT count(*) FROM sqlite_schema WHERE name = " + quote_text(name)) ==
              1);
    }
}

TEST_CASE("names in all four kinds of quotes, texts, blobs and numbers are one token each") {
    using kind = sql_token::kind;
    const auto tokens =
        sql_tokens(R"("a""b" [c"d] `e``f` 'it''s' x'00ff' X'AB' 1.5e+3 .5 0x1F 1e-9 plain$1 ü)");
    const std::vector<std::pair<kind, std::string>> expected{
        {kind::identifier, "a\"b"}, {kind::identifier, "c\"d"},    {kind::identifier, "e`f"},
        {kind::text, "'it''s'"},    {kind::blob, "x'00ff'"},       {kind::blob, "X'AB'"},
        {kind::number, "1.5e+3"},   {kind::number, ".5"},          {kind::number, "0x1F"},
        {kind::number, "1e-9"},     {kind::identifier, "plain$1"}, {kind::identifier, "ü"}};
    REQUIRE(tokens.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(tokens[i].what == expected[i].first);
        CHECK(tokens[i].value == expected[i].second);
    }
}

TEST_CASE("comments and blanks are no tokens; what looks like one inside quotes is") {
    CHECK(sources("a -- b\n c /* d ( */ e") == "a c e");
    CHECK(sources("a/**/b--") == "a b");
    CHECK(sources("a /* never ends") == "a");
    CHECK(sources("'--' \"/*\" [--]") == "'--' \"/*\" [--]");
    CHECK(sources("a-b*c/d") == "a - b * c / d");
    CHECK(sources(" \t\r\n\f ") == "");
    CHECK(sources("") == "");
}

TEST_CASE("a parenthesis counts as inside itself, and one too many does not hurt") {
    const auto tokens = sql_tokens("a(b(c)d))e");
    std::string depths;
    for (const sql_token& t : tokens) depths += std::to_string(t.depth);
    CHECK(depths ==
          "0112221"
          "10"
          "0");
}

TEST_CASE("what never ends is one token to the end") {
    CHECK(sources("'abc") == "'abc");
    CHECK(sources("\"abc") == "\"abc");
    CHECK(sources("[abc") == "[abc");
    CHECK(sources("'") == "'");
    CHECK(sources("x'") == "x'");
    CHECK(sources(std::string_view("a\0b", 3)).size() == 5);
}

TEST_CASE("the members of an index are read without ASC and DESC") {
    CHECK(terms("CREATE UNIQUE INDEX i ON t(a, b DESC, lower(c) ASC)") == "[a][b][lower(c)]");
    CHECK(terms("CREATE INDEX \"i(\" ON [t(x](coalesce(a, b), (c) desc)") ==
          "[coalesce(a, b)][(c)]");
    CHECK(terms("CREATE INDEX i ON t(a /* , */ || ',' -- )\n || b)") ==
          "[a /* , */ || ',' -- )\n || b]");
    CHECK(terms("CREATE INDEX i ON t(substr(a,1,(2)), f(g(h(1,2),3),4))") ==
          "[substr(a,1,(2))][f(g(h(1,2),3),4)]");
    CHECK(terms("CREATE INDEX i ON t(\"desc\" DESC, \"asc\")") == "[\"desc\"][\"asc\"]");
    CHECK(terms("CREATE TABLE without_any") == "");
}

TEST_CASE("a COLLATE stays, since it may belong to the end of the expression only") {
    CHECK(terms("CREATE INDEX i ON t(a COLLATE NOCASE DESC, b || c COLLATE RTRIM)") ==
          "[a COLLATE NOCASE][b || c COLLATE RTRIM]");
}

TEST_CASE("a predicate is what stands behind WHERE, to the end") {
    CHECK(read_create_index("CREATE INDEX i ON t(a) WHERE b IS NOT NULL AND (c > 1)").predicate ==
          "b IS NOT NULL AND (c > 1)");
    CHECK(read_create_index("CREATE INDEX i ON t(a)where(b)").predicate == "(b)");
    CHECK(read_create_index("CREATE INDEX i ON t(a) WHERE b = 'where' -- end").predicate ==
          "b = 'where'");
    CHECK(read_create_index("CREATE INDEX i ON t(a)").predicate == "");
    CHECK(read_create_index("CREATE INDEX \"where\" ON \"where\"(\"where\")").predicate == "");
}

TEST_CASE("a generated column's expression is found by its place") {
    const std::string table =
        "CREATE TABLE \"t(1)\" (a, b TEXT DEFAULT (lower('x,)')) CHECK (b <> 'AS (')"
        ", c GENERATED ALWAYS AS (a || ',' || (b)) STORED, d as(a+1), \"as\" INT, e DECIMAL(10,2) "
        "AS (c)"
        ", CHECK (a > 1))";
    CHECK(generated_expression(table, 0) == "");
    CHECK(generated_expression(table, 1) == "");
    CHECK(generated_expression(table, 2) == "a || ',' || (b)");
    CHECK(generated_expression(table, 3) == "a+1");
    CHECK(generated_expression(table, 4) == "");
    CHECK(generated_expression(table, 5) == "c");
    CHECK(generated_expression(table, 6) == "");
    CHECK(generated_expression(table, 99) == "");
    CHECK(generated_expression("CREATE TABLE t AS SELECT 1", 0) == "");
}

TEST_CASE("names in an expression are its identifiers, functions' names left out") {
    CHECK(names("lower(a) || \"b c\" || 'd' || x'00' || 1e5") == "a,b c");
    CHECK(names("a + 1e-5 + 0x1e+b") == "a,b");
    CHECK(names("CASE WHEN a THEN b END") == "CASE,WHEN,a,THEN,b,END");
    CHECK(names("coalesce(max (a), [b], `c`)") == "a,b,c");
    CHECK(names("") == "");
}

TEST_CASE("names are the same without regard to the case of ASCII letters only") {
    CHECK(same_name("Notes", "nOTES"));
    CHECK(same_name("", ""));
    CHECK_FALSE(same_name("note", "notes"));
    CHECK_FALSE(same_name("Ä", "ä"));
    CHECK_FALSE(same_name("a_", "a-"));
    CHECK_FALSE(same_name("[", "{"));
}

TEST_SUITE_END();
