#include "core/capture.hpp"

#include "core/schema.hpp"
#include "core/schema_drift.hpp"
#include "core/sql_text.hpp"
#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

struct kind_of_table {
    std::string what;
    std::string sql;  // creates `t`, and its indexes
    std::string row;  // VALUES that collide with nothing, ? for a number of the row
};

// One of each way in which REPLACE can find a row.
std::vector<kind_of_table> kinds_of_table() {
    std::string wide, wide_key;
    for (int i = 1; i <= 12; ++i) {
        wide += "c" + std::to_string(i) + " INT NOT NULL,";
        wide_key += (i > 1 ? ",c" : "c") + std::to_string(i);
    }
    return {
        {"integer key", "CREATE TABLE t(id INTEGER PRIMARY KEY, v)", "?,?"},
        {"integer key at the end", "CREATE TABLE t(a, id INTEGER, PRIMARY KEY(id DESC))", "?,?"},
        {"text key", "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v)", "?,?"},
        {"nocase key", "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, v)", "?,?"},
        {"key without affinity", "CREATE TABLE t(id PRIMARY KEY NOT NULL, v)", "?,?"},
        {"composite key",
         "CREATE TABLE t(a TEXT NOT NULL, b INT NOT NULL, v, PRIMARY KEY(a, b DESC))", "?,?,?"},
        {"composite key beside an index on a part of it",
         "CREATE TABLE t(a TEXT NOT NULL, b INT NOT NULL, v, PRIMARY KEY(a, b)); CREATE INDEX ta "
         "ON t(a);"
         "CREATE INDEX tb ON t(b)",
         "?,?,?"},
        {"without rowid",
         "CREATE TABLE t(a TEXT NOT NULL COLLATE NOCASE, b INT, v UNIQUE, PRIMARY KEY(a, b)) "
         "WITHOUT ROWID",
         "?,?,?"},
        {"strict",
         "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, n INT UNIQUE, a ANY UNIQUE) STRICT",
         "'k'||?,?,?"},
        {"no key", "CREATE TABLE t(a UNIQUE, b)", "?,?"},
        {"a key that may be NULL", "CREATE TABLE t(id TEXT PRIMARY KEY, b)", "?,?"},
        {"two autoindexes",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, w TEXT COLLATE NOCASE UNIQUE, UNIQUE(u, "
         "w))",
         "?,?,?"},
        {"an index of CREATE INDEX",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT, v); CREATE UNIQUE INDEX tu ON t(u DESC)",
         "?,?,?"},
        {"nocase index",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT); CREATE UNIQUE INDEX tu ON t(u COLLATE "
         "NOCASE)",
         "?,?"},
        {"numbers",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, r REAL UNIQUE, n NUMERIC UNIQUE, b BLOB UNIQUE)",
         "?,?,?,?"},
        {"default",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT NOT NULL DEFAULT 'd' UNIQUE, n INT NOT "
         "NULL DEFAULT 0, UNIQUE(n, u))",
         "?,?,?"},
        {"partial: equal",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u, s); CREATE UNIQUE INDEX tu ON t(u) WHERE s = "
         "'open'",
         "?,?,'open'"},
        {"partial: not null",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u, s); CREATE UNIQUE INDEX tu ON t(u) WHERE s IS "
         "NOT NULL",
         "?,?,1"},
        {"partial: on its own column",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u); CREATE UNIQUE INDEX tu ON t(u) WHERE u > 0 "
         "AND u < 100",
         "?,?"},
        {"partial: or",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u, s, d); CREATE UNIQUE INDEX tu ON t(u, s) WHERE "
         "s = 1 OR d IS NULL",
         "?,?,1,NULL"},
        {"partial: default",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u, s INT NOT NULL DEFAULT 0); CREATE UNIQUE INDEX "
         "tu ON t(u) WHERE s = 0",
         "?,?,0"},
        {"expression",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT); CREATE UNIQUE INDEX tu ON t(lower(u))",
         "?,?"},
        {"expressions and columns",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT, w INT); CREATE UNIQUE INDEX tu ON "
         "t(lower(u), w, abs(w) DESC)",
         "?,?,?"},
        {"expression over JSON",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT); CREATE UNIQUE INDEX tu ON "
         "t(json_extract(u, '$.k'))",
         "?,json_object('k', ?)"},
        {"expression that is a column",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT); CREATE UNIQUE INDEX tu ON t(+u)", "?,?"},
        {"expression under a collation",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT, w TEXT); CREATE UNIQUE INDEX tu ON "
         "t(lower(u) COLLATE NOCASE DESC, (u || w) COLLATE RTRIM)",
         "?,?,?"},
        {"expression with a collation",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT, w TEXT); CREATE UNIQUE INDEX tu ON t(u || "
         "w COLLATE NOCASE)",
         "?,?,?"},
        {"partial expression",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT, s INT); CREATE UNIQUE INDEX tu ON "
         "t(lower(u)) WHERE s > 0",
         "?,?,1"},
        {"CASE",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, u, s); CREATE UNIQUE INDEX tu ON t(CASE WHEN s "
         "THEN u END)",
         "?,?,1"},
        {"generated, virtual",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, g TEXT AS (lower(a)) UNIQUE)", "?,?"},
        {"generated, stored",
         "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, a TEXT, g AS (lower(a)) STORED); CREATE "
         "UNIQUE INDEX tg ON t(g)",
         "?,?"},
        {"generated, partial",
         "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, a TEXT, g AS (lower(a))); CREATE UNIQUE "
         "INDEX tg ON t(g) WHERE a IS NOT NULL",
         "?,?"},
        {"wide key", "CREATE TABLE t(" + wide + " v, PRIMARY KEY(" + wide_key + "))",
         "?,?,?,?,?,?,?,?,?,?,?,?,?"},
        {"wide key without rowid",
         "CREATE TABLE t(" + wide + " v, PRIMARY KEY(" + wide_key + ")) WITHOUT ROWID",
         "?,?,?,?,?,?,?,?,?,?,?,?,?"},
        {"wide index",
         "CREATE TABLE t(" + wide + " v); CREATE UNIQUE INDEX tw ON t(" + wide_key + ")",
         "?,?,?,?,?,?,?,?,?,?,?,?,?"},
        {"all at once",
         "CREATE TABLE t(id TEXT NOT NULL COLLATE NOCASE PRIMARY KEY, u UNIQUE, w, x TEXT, g AS (x "
         "|| 'g') UNIQUE);"
         "CREATE UNIQUE INDEX t1 ON t(w) WHERE u > 0; CREATE UNIQUE INDEX t2 ON t(lower(x)); "
         "CREATE UNIQUE INDEX t3 ON t(u, w);"
         "CREATE INDEX t4 ON t(w); CREATE INDEX t5 ON t(x, u)",
         "?,?,?,?"},
    };
}

std::string values(const kind_of_table& kind, int number) {
    std::string out;
    for (const char c : kind.row) out += c == '?' ? std::to_string(number) : std::string(1, c);
    return "(" + out + ")";
}

std::string insertable(const owner_file& f) {
    return f.rows(
        "SELECT group_concat('\"' || name || '\"') FROM (SELECT name FROM "
        "pragma_table_xinfo('t') WHERE hidden = 0 ORDER BY cid)");
}

void insert(const owner_file& f, const kind_of_table& kind, int from, int to) {
    const std::string columns = insertable(f);
    for (int i = from; i <= to; ++i)
        f.sql("INSERT INTO t(" + columns + ") VALUES" + values(kind, i));
}

/// The plan of `text`, that of the triggers which it fires included, as far as it touches a guard's row.
std::vector<std::string> guard_plan(const owner_file& f, const std::string& text) {
    sqlite3_db_config(f.get(), SQLITE_DBCONFIG_TRIGGER_EQP, 1, nullptr);
    statement plan(f.get(), "EXPLAIN QUERY PLAN " + text);
    std::vector<std::string> out;
    while (plan.step()) {
        if (contains(plan.text(3), "lf_row")) out.emplace_back(plan.text(3));
    }
    sqlite3_db_config(f.get(), SQLITE_DBCONFIG_TRIGGER_EQP, 0, nullptr);
    return out;
}

void check_that_guards_look_up(const owner_file& f) {
    const std::string columns = insertable(f);
    std::string update = "UPDATE t SET ";
    statement names(f.get(), "SELECT name FROM pragma_table_xinfo('t') WHERE hidden = 0");
    for (bool first = true; names.step(); first = false) {
        update += (first ? "\"" : ", \"") + std::string(names.text(0)) + "\" = 1";
    }
    for (const std::string& text :
         {"INSERT INTO t(" + columns + ") SELECT " + columns + " FROM t", update}) {
        const auto plan = guard_plan(f, text);
        CHECK_MESSAGE(!plan.empty(), text);
        for (const std::string& step : plan) {
            CHECK_MESSAGE(step.substr(0, 14) == "SEARCH lf_row ", step);
            CHECK_MESSAGE(!contains(step, "AUTOMATIC"), step);
        }
    }
}

capture_state judged(const owner_file& f) {
    const connection db(f.path(), connection::access::read_only, 0);
    const schema at = read_schema(db);
    return judge_capture(db, at, read_tables(db).at(0),
                         unseen_between(read_verified_schema(db), at));
}

}  // namespace

TEST_SUITE_BEGIN("core/capture");

TEST_CASE("rule 5: no guard of any kind of table scans it, whatever ANALYZE has seen") {
    for (const kind_of_table& kind : kinds_of_table()) {
        CAPTURE(kind.what);
        owner_file f(kind.sql);
        watch(f, {"t"});
        check_that_guards_look_up(f);
        for (const int rows : {0, 1, 2, 300}) {
            CAPTURE(rows);
            insert(f, kind, static_cast<int>(f.integer("SELECT count(*) FROM t")) + 1, rows);
            f.sql("ANALYZE");
            check_that_guards_look_up(f);
            f.reopen();
            check_that_guards_look_up(f);
        }
        // Whoever else writes: statistics of a table that is all alike, made by hand.
        f.sql("UPDATE sqlite_stat1 SET stat = '1 1 1 1 1 1 1 1 1 1 1 1 1 1' WHERE tbl = 't'");
        f.reopen();
        check_that_guards_look_up(f);
    }
}

TEST_CASE("rule 5: a guard finds exactly the rows that REPLACE removes, in any kind of table") {
    for (const kind_of_table& kind : kinds_of_table()) {
        CAPTURE(kind.what);
        owner_file f(kind.sql);
        watch(f, {"t"});
        insert(f, kind, 1, 3);
        const std::string columns = insertable(f);
        CHECK(
            f.logged("INSERT OR IGNORE INTO t(" + columns + ") VALUES" + values(kind, 4)).front() ==
            'i');
        const std::string ignored =
            f.logged("INSERT OR IGNORE INTO t(" + columns + ") VALUES" + values(kind, 2));
        CHECK(ignored.substr(0, 2) == "t[");
        CHECK(!contains(ignored, " "));
        const std::string replaced =
            f.logged("INSERT OR REPLACE INTO t(" + columns + ") VALUES" + values(kind, 2));
        CHECK(replaced.substr(0, ignored.size() + 3) == ignored + " i[");
        CHECK(f.integer("SELECT count(*) FROM t") == 4);
    }
}

TEST_CASE("the text of every trigger is what SQLite stores, and what a rename makes of it") {
    for (const kind_of_table& kind : kinds_of_table()) {
        CAPTURE(kind.what);
        owner_file f(kind.sql);
        watch(f, {"t"});
        const auto same_as_generated = [&](const std::string& table) {
            CAPTURE(table);
            const connection db(f.path(), connection::access::read_only, 0);
            const auto seen = inspect_table(db, read_schema(db), table);
            REQUIRE_MESSAGE(seen.definition.has_value(), seen.refused);
            const auto wanted = capture_triggers(*seen.definition, 1, {});
            CHECK(static_cast<std::int64_t>(wanted.size()) ==
                  db.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'"));
            for (const trigger& t : wanted) {
                CHECK(db.text("SELECT sql FROM sqlite_schema WHERE name = '" + t.name + "'") ==
                      t.sql);
            }
        };
        same_as_generated("t");
        f.sql("ALTER TABLE t RENAME TO \"other \"\" name\"");
        same_as_generated("other \" name");
        f.sql("ALTER TABLE \"other \"\" name\" RENAME TO new");
        same_as_generated("new");
        // What an expression computes with keeps its old name within the guard; that works, and a column's new
        // name is a new generation anyway.
        if (contains(kind.what, "expression") || kind.what == "CASE" || kind.what == "all at once")
            continue;
        const std::string column =
            f.rows("SELECT name FROM pragma_table_xinfo('new') ORDER BY cid LIMIT 1");
        f.sql("ALTER TABLE new RENAME COLUMN \"" + column + "\" TO \"a new \"\" name\"");
        same_as_generated("new");
        const std::string last = f.rows(
            "SELECT name FROM pragma_table_xinfo('new') WHERE hidden = 0 ORDER BY cid DESC LIMIT "
            "1");
        f.sql("ALTER TABLE new RENAME COLUMN \"" + last + "\" TO plain");
        same_as_generated("new");
    }
}

TEST_CASE("a table whose guards would scan is named with the probe") {
    owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY, u); CREATE UNIQUE INDEX tu ON t(1)");
    const std::string why = cannot_of([&] { watch(f, {"t"}); });
    CHECK(contains(why, "cannot watch t: "));
    CHECK(contains(why, "would scan the whole table"));
    // The one way out.
    watch(f, {"t"}, {.replace_guards = false});
}

TEST_CASE("capture as it was made is whole, also after the file is opened anew") {
    for (const kind_of_table& kind : kinds_of_table()) {
        CAPTURE(kind.what);
        owner_file f(kind.sql);
        watch(f, {"t"});
        CHECK(judged(f).why == "");
        CHECK(judged(f).what == capture_state::verdict::whole);
    }
}

TEST_CASE("what is missing or different is judged by what it hides") {
    using verdict = capture_state::verdict;
    const auto after = [](const std::string& change) {
        owner_file f(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, u, v); CREATE UNIQUE INDEX tu ON t(u);"
            "CREATE TRIGGER mine AFTER INSERT ON t BEGIN SELECT 1; END");
        watch(f, {"t"});
        f.sql(change);
        return judged(f).what;
    };
    CHECK(after("SELECT 1") == verdict::whole);
    CHECK(after("CREATE INDEX tv ON t(v); CREATE VIEW w AS SELECT * FROM t; ANALYZE; DROP TRIGGER "
                "mine") == verdict::whole);
    CHECK(after("CREATE TABLE s(x); CREATE TRIGGER s1 AFTER INSERT ON s BEGIN SELECT 1; END") ==
          verdict::whole);
    CHECK(after("CREATE TEMP TRIGGER newer AFTER INSERT ON t BEGIN SELECT 1; END") ==
          verdict::whole);
    CHECK(after("DROP TRIGGER litefeed_1_insert") == verdict::broken);
    CHECK(after("DROP TRIGGER litefeed_1_update") == verdict::broken);
    CHECK(after("DROP TRIGGER litefeed_1_update_key") == verdict::broken);
    CHECK(after("DROP TRIGGER litefeed_1_delete") == verdict::broken);
    CHECK(after("DROP TRIGGER litefeed_1_insert; CREATE TRIGGER litefeed_1_insert AFTER INSERT ON "
                "t BEGIN SELECT 1; END") == verdict::broken);
    CHECK(after("CREATE TRIGGER newer AFTER INSERT ON t BEGIN SELECT 1; END") == verdict::broken);
    CHECK(after("DROP TRIGGER litefeed_1_guard_rowid") == verdict::guards_differ);
    CHECK(after("CREATE UNIQUE INDEX tv ON t(v)") == verdict::guards_differ);
    CHECK(after("DROP INDEX tu") == verdict::guards_differ);
    CHECK(after("DROP INDEX tu; CREATE UNIQUE INDEX tu ON t(v)") == verdict::guards_differ);
    CHECK(after("ALTER TABLE t ADD COLUMN w") == verdict::reshaped);
    CHECK(after("ALTER TABLE t RENAME COLUMN v TO w") == verdict::reshaped);
    CHECK(after("ALTER TABLE t DROP COLUMN v") == verdict::reshaped);
    CHECK(after("ALTER TABLE t RENAME TO s") == verdict::renamed);
    CHECK(after("DROP TABLE t") == verdict::gone);
    CHECK(after("DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, u, v)") == verdict::broken);
    CHECK(after("DROP TABLE t; CREATE VIEW t AS SELECT 1") == verdict::gone);
}

TEST_SUITE_END();
