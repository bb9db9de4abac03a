#include "core/schema_drift.hpp"

#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

schema schema_of(const owner_file& f) {
    return read_schema(connection(f.path(), connection::access::read_only, 0));
}
std::int64_t unexplained(const std::string& change) {
    const owner_file f(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, c); CREATE INDEX tc ON t(c); CREATE VIEW "
        "w AS SELECT 1;"
        "CREATE TRIGGER tt AFTER INSERT ON t BEGIN SELECT 1; END; CREATE TABLE o(x, y)");
    const schema before = schema_of(f);
    f.sql(change);
    return unseen_between(before, schema_of(f)).steps;
}

}  // namespace

TEST_SUITE_BEGIN("core/schema_drift");

TEST_CASE("what can be seen explains what it costs") {
    for (const char* change :
         {"SELECT 1",
          "INSERT INTO t(c) VALUES(1)",
          "CREATE TABLE n(x UNIQUE, y UNIQUE)",
          "DROP TABLE t",
          "DROP TABLE o",
          "DROP INDEX tc",
          "DROP VIEW w",
          "DROP TRIGGER tt",
          "CREATE UNIQUE INDEX i ON o(x); CREATE VIEW v AS SELECT 1",
          "ALTER TABLE o ADD COLUMN z",
          "ALTER TABLE o ADD COLUMN z; ALTER TABLE o ADD COLUMN a",
          "ALTER TABLE o RENAME COLUMN x TO z",
          "ALTER TABLE o DROP COLUMN y",
          "ALTER TABLE o RENAME TO p",
          "ANALYZE",
          "REINDEX",
          "CREATE TEMP TABLE x(y)",
          "DROP TRIGGER tt; CREATE TRIGGER tt AFTER INSERT ON t BEGIN SELECT 2; END",
          "ALTER TABLE t RENAME COLUMN c TO d",
          "CREATE VIRTUAL TABLE f USING fts5(a)",
          "DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, c)"}) {
        CAPTURE(change);
        CHECK(unexplained(change) == 0);
    }
}

TEST_CASE("rule 14: what leaves nothing but the number behind is not explained") {
    for (const char* change :
         {"VACUUM", "CREATE UNIQUE INDEX i ON t(c); DROP INDEX i",
          "CREATE TABLE x(y); DROP TABLE x",
          "ALTER TABLE o DROP COLUMN y; ALTER TABLE o ADD COLUMN y",
          "ALTER TABLE o RENAME TO p; ALTER TABLE p RENAME TO o",
          "ALTER TABLE t RENAME TO n; VACUUM", "VACUUM; DROP TABLE t",
          "ALTER TABLE o ADD COLUMN z DECIMAL(10,2) DEFAULT (max(1,2,3)); VACUUM",
          "ALTER TABLE t RENAME COLUMN c TO d; VACUUM", "DROP TRIGGER tt; VACUUM",
          "DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, c); VACUUM"}) {
        CAPTURE(change);
        CHECK(unexplained(change) > 0);
    }
}

TEST_CASE(
    "one VACUUM, or a rebuild by the book, leaves less unexplained than edits that cancel out") {
    const std::string rebuild =
        "CREATE TABLE new_t(id INTEGER PRIMARY KEY, u UNIQUE, c, d); DROP TABLE t; ALTER TABLE "
        "new_t "
        "RENAME TO t; CREATE INDEX tc ON t(c); CREATE TRIGGER tt AFTER INSERT ON t BEGIN SELECT 1; "
        "END";
    for (const std::string& change :
         {std::string("VACUUM"), rebuild,
          std::string("DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, c); CREATE "
                      "INDEX tc ON t(c)")}) {
        CAPTURE(change);
        CHECK(unexplained(change) < steps_that_cancel_out);
    }
    const std::string edits = "; ALTER TABLE o DROP COLUMN y; ALTER TABLE o ADD COLUMN y";
    for (const std::string& change :
         {std::string("CREATE UNIQUE INDEX i ON t(c); DROP INDEX i"), "SELECT 1" + edits,
          rebuild + edits, "VACUUM" + edits, "ANALYZE" + edits, "DROP TABLE t" + edits,
          "CREATE TABLE n(x)" + edits, "ALTER TABLE t RENAME TO n" + edits}) {
        CAPTURE(change);
        CHECK(unexplained(change) >= steps_that_cancel_out);
    }
}

TEST_CASE("a number that went backwards is another file") {
    schema before, after;
    before.version = 7;
    after.version = 6;
    CHECK(unseen_between(before, after).steps > 0);
    after.version = 7;
    CHECK(unseen_between(before, after).steps == 0);
    after.version = 8;
    CHECK(unseen_between(before, after).steps > 0);
}

TEST_CASE(
    "the schema is read in the order in which it was made, and found without regard to case") {
    const owner_file f(
        "CREATE TABLE b(x); CREATE TABLE a(x UNIQUE); CREATE TRIGGER z AFTER INSERT ON b BEGIN "
        "SELECT 1; END");
    const schema s = schema_of(f);
    REQUIRE(s.entries.size() == 4);
    CHECK(s.entries[0].name == "b");
    CHECK(s.entries[2].sql == "");
    CHECK(s.entries[3].table == "b");
    CHECK(s.find("table", "A") == &s.entries[1]);
    CHECK(s.find("view", "a") == nullptr);
}

TEST_SUITE_END();
