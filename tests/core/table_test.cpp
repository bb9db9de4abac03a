#include "core/table.hpp"

#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

inspected_table inspected(const std::string& sql, const std::string& name = "t") {
    const owner_file f(sql);
    const connection db(f.path(), connection::access::read_only, 0);
    return inspect_table(db, read_schema(db), name);
}
table_definition defined(const std::string& sql) {
    inspected_table seen = inspected(sql);
    REQUIRE_MESSAGE(seen.definition.has_value(), seen.refused);
    return std::move(*seen.definition);
}
std::string refused(const std::string& sql, const std::string& name = "t") {
    const inspected_table seen = inspected(sql, name);
    CHECK_FALSE(seen.definition.has_value());
    return seen.refused;
}
/// `id` is an integer key, `rowid!` stands in for one, `a:NOCASE,b` is a declared one.
std::string key(const std::string& sql) {
    const table_definition t = defined(sql);
    std::string out;
    for (const key_column& k : t.key) {
        out +=
            (out.empty() ? "" : ",") + k.name + (k.collation == "BINARY" ? "" : ":" + k.collation);
    }
    CHECK((t.integer_key && t.keyed_by_rowid) == false);
    return (t.integer_key ? "integer " : "") + out + (t.keyed_by_rowid ? "!" : "");
}
/// `a,b:NOCASE,(lower(c)) where p <- a,b,c,d`, with a star when it can be dropped.
std::string indexes(const std::string& sql) {
    std::string out;
    for (const unique_index& i : defined(sql).unique_indexes) {
        std::string members, bases;
        for (const index_member& m : i.members) {
            members += (members.empty() ? "" : ",") +
                       (m.column.empty() ? "(" + m.expression + ")" : m.column);
            if (m.collation != "BINARY") members += ":" + m.collation;
        }
        for (const std::string& d : i.depends_on) bases += (bases.empty() ? "" : ",") + d;
        out += (out.empty() ? "" : "; ") + members +
               (i.predicate.empty() ? "" : " where " + i.predicate);
        out += std::string(i.droppable ? "*" : "") + " <- " + bases;
    }
    return out;
}

}  // namespace

TEST_SUITE_BEGIN("core/table");

TEST_CASE("an INTEGER PRIMARY KEY is the rowid in every form that SQLite takes it for") {
    CHECK(key("CREATE TABLE t(id INTEGER PRIMARY KEY)") == "integer id");
    CHECK(key("CREATE TABLE t(id integer PRIMARY KEY AUTOINCREMENT, v)") == "integer id");
    CHECK(key("CREATE TABLE t(id INTEGER PRIMARY KEY ASC)") == "integer id");
    CHECK(key("CREATE TABLE t(v, id INTEGER, PRIMARY KEY(id))") == "integer id");
    CHECK(key("CREATE TABLE t(v, id INTEGER, PRIMARY KEY(id DESC))") == "integer id");
    CHECK(key("CREATE TABLE t(v, id INTEGER, PRIMARY KEY(id AUTOINCREMENT))") == "integer id");
    CHECK(key("CREATE TABLE t(id INTEGER NOT NULL PRIMARY KEY) STRICT") == "integer id");
}

TEST_CASE("what only looks like it is not the rowid") {
    CHECK(key("CREATE TABLE t(id INTEGER PRIMARY KEY DESC)") == "rowid!");
    CHECK(key("CREATE TABLE t(id INTEGER NOT NULL PRIMARY KEY DESC)") == "id");
    CHECK(key("CREATE TABLE t(id INT PRIMARY KEY)") == "rowid!");
    CHECK(key("CREATE TABLE t(id INT NOT NULL PRIMARY KEY)") == "id");
    CHECK(key("CREATE TABLE t(id BIGINT NOT NULL PRIMARY KEY)") == "id");
    CHECK(key("CREATE TABLE t(id INTEGER PRIMARY KEY) WITHOUT ROWID") == "id");
}

TEST_CASE("a declared key counts when none of its parts may be NULL") {
    CHECK(key("CREATE TABLE t(id TEXT PRIMARY KEY)") == "rowid!");
    CHECK(key("CREATE TABLE t(id TEXT NOT NULL PRIMARY KEY COLLATE NOCASE)") == "id:NOCASE");
    CHECK(key("CREATE TABLE t(a NOT NULL, b, PRIMARY KEY(a, b))") == "rowid!");
    CHECK(key("CREATE TABLE t(a NOT NULL, b NOT NULL, PRIMARY KEY(b, a))") == "b,a");
    CHECK(key("CREATE TABLE t(a, b COLLATE RTRIM, PRIMARY KEY(b, a)) WITHOUT ROWID") ==
          "b:RTRIM,a");
    CHECK(key("CREATE TABLE t(a TEXT NOT NULL, PRIMARY KEY(a COLLATE NOCASE))") == "a:NOCASE");
    CHECK(key("CREATE TABLE t(a TEXT PRIMARY KEY) STRICT") == "a");  // STRICT implies NOT NULL
    CHECK(key("CREATE TABLE t(a UNIQUE NOT NULL)") == "rowid!");
}

TEST_CASE("without a key the rowid stands in under the first name that no column has") {
    CHECK(key("CREATE TABLE t(a)") == "rowid!");
    CHECK(key("CREATE TABLE t(RowID)") == "_rowid_!");
    CHECK(key("CREATE TABLE t(rowid, _rowid_)") == "oid!");
    CHECK(key("CREATE TABLE t(oid, a)") == "rowid!");
    CHECK(contains(refused("CREATE TABLE t(rowid, _rowid_, oid)"), "hide rowid, _rowid_ and oid"));
    CHECK(key("CREATE TABLE t(rowid, _rowid_, oid TEXT NOT NULL PRIMARY KEY)") == "oid");
    CHECK(key("CREATE TABLE t(rowid INTEGER PRIMARY KEY, _rowid_, oid)") == "integer rowid");
}

TEST_CASE(
    "columns are read with type, affinity, default and generation; hidden ones of others never") {
    const table_definition t = defined(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a VARCHAR(9) NOT NULL DEFAULT 'x', b AS (a || 'y'),"
        " c TEXT GENERATED ALWAYS AS (lower(a)) STORED, d ANY)");
    REQUIRE(t.columns.size() == 5);
    CHECK(t.columns[1].type == "VARCHAR(9)");
    CHECK(t.columns[1].kind == affinity::text);
    CHECK(t.columns[1].not_null);
    CHECK(t.columns[1].default_sql == "'x'");
    CHECK(t.columns[2].generated);
    CHECK(t.columns[2].generated_from == "a || 'y'");
    CHECK(t.columns[3].generated_from == "lower(a)");
    CHECK(t.columns[4].kind == affinity::numeric);
    CHECK(defined("CREATE TABLE t(d ANY) STRICT").columns[0].kind == affinity::blob);
    CHECK(t.column("A") == &t.columns[1]);
    CHECK(t.column("nothing") == nullptr);
}

TEST_CASE("unique indexes are those that can make REPLACE remove another row") {
    CHECK(indexes("CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v)") == "u <- u");
    CHECK(indexes("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b COLLATE NOCASE, UNIQUE(b, a))") ==
          "b:NOCASE,a <- b,a");
    CHECK(indexes("CREATE TABLE t(id INTEGER PRIMARY KEY, u); CREATE UNIQUE INDEX i ON t(u COLLATE "
                  "RTRIM DESC)") == "u:RTRIM* <- u");
    CHECK(indexes("CREATE TABLE t(id INTEGER PRIMARY KEY, u); CREATE INDEX i ON t(u)") == "");
    CHECK(indexes("CREATE TABLE t(a TEXT NOT NULL PRIMARY KEY, b)") == "");
    CHECK(indexes("CREATE TABLE t(a TEXT PRIMARY KEY, b)") == "a <- a");
    CHECK(indexes("CREATE TABLE t(a PRIMARY KEY, b UNIQUE) WITHOUT ROWID") == "b <- b");
    CHECK(indexes("CREATE TABLE t(id INTEGER PRIMARY KEY, u, s); CREATE UNIQUE INDEX i ON t(u) "
                  "WHERE s = 'x' AND lower(u) > ''") ==
          "u where s = 'x' AND lower(u) > ''* <- u,s");
    CHECK(indexes("CREATE TABLE t(id INTEGER PRIMARY KEY, u, w); CREATE UNIQUE INDEX i ON t(w, "
                  "lower(u) || \"w\")") == "w,(lower(u) || \"w\")* <- w,u");
    // With the rowid in it an index can collide only where the rowid does.
    CHECK(indexes("CREATE TABLE t(id INTEGER PRIMARY KEY, u); CREATE UNIQUE INDEX i ON t(u, id)") ==
          "");
}

TEST_CASE("an index over generated columns depends on what they are computed from") {
    CHECK(indexes("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, g AS (a || b) UNIQUE)") ==
          "g <- a,b");
    CHECK(indexes("CREATE TABLE t(id INTEGER PRIMARY KEY, a, g AS (h + 1), h AS (a * 2) STORED); "
                  "CREATE UNIQUE INDEX i ON t(g)") == "g* <- a");
    CHECK(indexes("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, g AS (b)); CREATE UNIQUE INDEX i "
                  "ON t(a) WHERE g > 0") == "a where g > 0* <- a,b");
}

TEST_CASE("a table that SQLite takes but cannot read is refused in SQLite's words") {
    CHECK(refused("CREATE TABLE t(a AS (abs(a)), b)") ==
          "SQLite cannot read it here: generated column loop on \"a\"");
    const owner_file f;
    sqlite3_create_function(
        f.get(), "own", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
        [](sqlite3_context*, int, sqlite3_value**) {}, nullptr, nullptr);
    f.sql(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b AS (own(a)));"
        "CREATE TABLE kept(id INTEGER PRIMARY KEY, a, b AS (own(a)) STORED);"
        "INSERT INTO kept VALUES(1, 2)");
    const auto report = keeper_of(f).watch_all({});
    REQUIRE(report.refused.size() == 1);
    CHECK(report.refused[0].first == "t");
    CHECK(report.refused[0].second == "SQLite cannot read it here: unknown function: own()");
    feed reader = feed_of(f);
    CHECK(rows_of(reader, "kept").size() == 1);
}

TEST_CASE("a chain of generated columns, each naming the one before twice, is read in no time") {
    std::string sql = "CREATE TABLE t(id INTEGER PRIMARY KEY, a, g0 AS (a) STORED";
    for (int i = 1; i <= 60; ++i) {
        const std::string before = "g" + std::to_string(i - 1);
        sql += ", g" + std::to_string(i) + " AS (" + before + " || " + before + ") STORED";
    }
    CHECK(indexes(sql + ", UNIQUE(g60))") == "g60 <- a");
}

TEST_CASE(
    "rule 3: NOT NULL with a default in a unique column is watched when the default is constant") {
    for (const char* constant : {"'d'", "7", "-7", "+1.5", "x'00'", "NULL", "TRUE", "\"text\""}) {
        CAPTURE(constant);
        CHECK(indexes(std::string("CREATE TABLE t(id INTEGER PRIMARY KEY, u NOT NULL DEFAULT ") +
                      constant + " UNIQUE)") == "u <- u");
    }
    for (const char* moving :
         {"(random())", "CURRENT_TIMESTAMP", "CURRENT_DATE", "current_time", "(1 + 1)"}) {
        CAPTURE(moving);
        const std::string why =
            refused(std::string("CREATE TABLE t(id INTEGER PRIMARY KEY, u NOT NULL DEFAULT ") +
                    moving + " UNIQUE)");
        CHECK(contains(why, "holds u"));
        CHECK(contains(why, "default that is not a constant"));
    }
    // Where it may be NULL, or is in no unique index, the default does not matter.
    CHECK(indexes("CREATE TABLE t(id INTEGER PRIMARY KEY, u DEFAULT CURRENT_TIMESTAMP UNIQUE)") ==
          "u <- u");
    CHECK(indexes("CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, at NOT NULL DEFAULT "
                  "CURRENT_TIMESTAMP)") == "u <- u");
    CHECK(contains(
        refused("CREATE TABLE t(id INTEGER PRIMARY KEY, u, at NOT NULL DEFAULT CURRENT_TIMESTAMP);"
                "CREATE UNIQUE INDEX i ON t(u) WHERE at > ''"),
        "holds at"));
}

TEST_CASE("rule 3: so it is in the key, where the same NULL becomes the same default") {
    CHECK(key("CREATE TABLE t(a NOT NULL DEFAULT 'x' PRIMARY KEY)") == "a");
}

TEST_CASE("rule 4: an index that computes with the rowid is refused") {
    CHECK(contains(
        refused("CREATE TABLE t(id INTEGER PRIMARY KEY, u); CREATE UNIQUE INDEX i ON t(id + 1)"),
        "computes with the rowid"));
    CHECK(contains(refused("CREATE TABLE t(id INTEGER PRIMARY KEY, u, g AS (id * 2) UNIQUE)"),
                   "computes with the rowid"));
    CHECK(contains(refused("CREATE TABLE t(id INTEGER PRIMARY KEY, u); CREATE UNIQUE INDEX i ON "
                           "t(u) WHERE id > 5"),
                   "computes with the rowid"));
}

TEST_CASE("rule 19: an index of more than a thousand columns is refused") {
    std::string columns = "c0", list = "c0";
    for (int i = 1; i <= 1000; ++i) {
        columns += ",c" + std::to_string(i);
        if (i < 1000) list += ",c" + std::to_string(i);
    }
    CHECK(defined("CREATE TABLE t(id INTEGER PRIMARY KEY, " + columns + ", UNIQUE(" + list + "))")
              .unique_indexes.size() == 1);
    CHECK(contains(
        refused("CREATE TABLE t(id INTEGER PRIMARY KEY, " + columns + ", UNIQUE(" + columns + "))"),
        "more than 1,000"));
}

TEST_CASE("what is no ordinary table is refused by what it is") {
    CHECK(contains(refused("CREATE VIEW t AS SELECT 1"), "a view"));
    CHECK(contains(refused("CREATE VIRTUAL TABLE t USING fts5(a)"), "virtual table"));
    CHECK(contains(refused("CREATE VIRTUAL TABLE t USING fts5(a)", "t_content"), "shadow table"));
    CHECK(
        contains(refused("CREATE TABLE a(x INTEGER PRIMARY KEY AUTOINCREMENT)", "sqlite_sequence"),
                 "SQLite's own"));
    CHECK(contains(refused("CREATE TABLE litefeed_x(x)", "litefeed_x"), "litefeed's own"));
    CHECK(contains(refused("CREATE TABLE LITEFEED_X(x)", "Litefeed_x"), "litefeed's own"));
    CHECK(contains(refused("CREATE TABLE a(x)", "b"), "no such table"));
    CHECK(contains(refused("CREATE TEMP TABLE t(x)"), "no such table"));
}

TEST_CASE("a table is found under any case of its name, and answers with its own") {
    const auto seen = inspected("CREATE TABLE Notes(id INTEGER PRIMARY KEY)", "nOTES");
    REQUIRE(seen.definition.has_value());
    CHECK(seen.definition->name == "Notes");
    CHECK(seen.exists);
}

TEST_CASE("the owner's tables are listed in order of creation, ours and SQLite's left out") {
    const owner_file f(
        "CREATE TABLE b(x INTEGER PRIMARY KEY AUTOINCREMENT); CREATE VIEW v AS SELECT 1; CREATE "
        "TABLE a(x);"
        "CREATE TABLE litefeedx(x); CREATE TABLE litefeed_log(x)");
    const connection db(f.path(), connection::access::read_only, 0);
    CHECK(owner_tables(db) == std::vector<std::string>{"b", "v", "a", "litefeedx"});
}

TEST_CASE(
    "the shape is the columns and the key, not the indexes, the checks or how it is written") {
    const auto shape = [](const std::string& sql) { return shape_digest(defined(sql)); };
    const std::string base = shape("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)");
    CHECK(base.size() == 16);
    CHECK(shape("CREATE TABLE \"t\"( id  INTEGER PRIMARY KEY /* key */, a TEXT CHECK (a > ''), "
                "UNIQUE(a))") == base);
    CHECK(shape("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT); CREATE INDEX i ON t(a)") == base);
    for (const char* other :
         {"id INTEGER PRIMARY KEY, a", "id INTEGER PRIMARY KEY, b TEXT",
          "id INTEGER PRIMARY KEY, a TEXT, c", "a TEXT, id INTEGER PRIMARY KEY",
          "id INTEGER PRIMARY KEY, a TEXT NOT NULL", "id INTEGER PRIMARY KEY, a TEXT DEFAULT 1",
          "id INTEGER, a TEXT", "id INTEGER PRIMARY KEY, a TEXT AS (id)"}) {
        CAPTURE(other);
        CHECK(shape(std::string("CREATE TABLE t(") + other + ")") != base);
    }
    CHECK(shape("CREATE TABLE t(a TEXT AS ('x'), b)") !=
          shape("CREATE TABLE t(a TEXT AS ('y'), b)"));
}

TEST_SUITE_END();
