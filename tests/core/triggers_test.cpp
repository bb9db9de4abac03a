#include "core/triggers.hpp"

#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

// Rows that REPLACE removes, keys that move, and the owner's own triggers, on real files: the numbers
// are those of the rules in core/DESIGN.md, "Capture by triggers".
namespace {

/// A watched table `t`, and a reader who has read it before the owner goes on.
struct watched {
    explicit watched(const std::string& sql, const std::string& name = "t",
                     watch_options options = {})
        : file(sql), table(name) {
        watch(file, {table}, options);
        reads.emplace(feed_of(file));
        reader.emplace(*reads);
        reader->follow();
    }
    /// Runs what the owner does; afterwards the reader holds the table. Returns the new entries.
    std::string after(const std::string& sql) {
        std::string entries = file.logged(sql);
        reader->follow();
        CHECK(reader->text(table) == reader->truth(table));
        CHECK(reader->wrong_hints == 0);
        CHECK(reader->resets.empty());
        return entries;
    }
    owner_file file;
    std::string table;
    std::optional<feed> reads;
    std::optional<replica> reader;
};

std::string many_columns(int n, const std::string& suffix = "", const std::string& prefix = "c") {
    std::string out;
    for (int i = 1; i <= n; ++i) out += (i > 1 ? "," : "") + prefix + std::to_string(i) + suffix;
    return out;
}

}  // namespace

TEST_SUITE_BEGIN("core/triggers");

TEST_CASE("each statement writes one entry a row") {
    watched w("CREATE TABLE t(id INTEGER PRIMARY KEY, v)");
    CHECK(w.after("INSERT INTO t VALUES(1,'a'),(2,'b')") == "i[1] i[2]");
    CHECK(w.after("UPDATE t SET v = 'c'") == "u[1] u[2]");
    CHECK(w.after("DELETE FROM t WHERE id = 1") == "d[1]");
    CHECK(w.after("DELETE FROM t") == "d[2]");
    CHECK(w.after("INSERT INTO t(v) VALUES('x') RETURNING id") == "i[1]");
    CHECK(w.after("BEGIN; INSERT INTO t VALUES(9, 1); ROLLBACK") == "");
}

TEST_CASE("a key that moves is deleted where it was and inserted where it is") {
    watched w("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1,'a'),(2,'b')");
    CHECK(w.after("UPDATE t SET id = 5 WHERE id = 1") == "d[1] i[5]");
    CHECK(w.after("UPDATE t SET id = id + 10") == "d[2] i[12] d[5] i[15]");
    CHECK(w.after("UPDATE t SET id = id") == "u[12] u[15]");
}

TEST_CASE("rule 1: REPLACE over a key that only its collation calls equal is seen") {
    watched w(
        "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, v);"
        "INSERT INTO t VALUES('abc', 1)");
    CHECK(w.after("REPLACE INTO t VALUES('ABC', 2)") == "t['abc'] i['ABC']");
    CHECK(w.file.rows("SELECT * FROM t") == "ABC|2");
    CHECK(w.after("UPDATE t SET id = 'abc'") == "d['ABC'] i['abc']");
}

TEST_CASE("rule 1: in a composite key each column has its own collation") {
    watched w(
        "CREATE TABLE t(a TEXT COLLATE NOCASE NOT NULL, b TEXT NOT NULL COLLATE RTRIM,"
        " v, PRIMARY KEY(a, b)) WITHOUT ROWID; INSERT INTO t VALUES('x','y',1)");
    CHECK(w.after("REPLACE INTO t VALUES('X','y  ',2)") == "t['x','y'] i['X','y  ']");
    CHECK(w.after("INSERT OR REPLACE INTO t VALUES('X','Y',3)") == "i['X','Y']");
    CHECK(w.after("UPDATE OR REPLACE t SET a = 'x', b = 'y ' WHERE v = 3") ==
          "t['X','y  '] d['X','Y'] i['x','y ']");
}

TEST_CASE("rule 1: 1 and 1.0, abc and ABC, '1' and x'31' are different keys to a reader") {
    watched w("CREATE TABLE t(id PRIMARY KEY NOT NULL, v); INSERT INTO t VALUES(1, 'int')");
    CHECK(w.after("UPDATE t SET id = 1.0") == "d[1] i[1.0]");
    CHECK(w.after("REPLACE INTO t VALUES(1, 'again')") == "t[1.0] i[1]");
    CHECK(w.after("INSERT INTO t VALUES('1', 'text'), (x'31', 'blob')") == "i['1'] i[X'31']");
    CHECK(w.after("UPDATE t SET v = id") == "u[1] u['1'] u[X'31']");
    watched n(
        "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, v);"
        "INSERT INTO t VALUES('abc', 1)");
    CHECK(n.after("UPDATE t SET id = 'ABC'") == "d['abc'] i['ABC']");
}

TEST_CASE("rule 1: an index's collation counts, not its column's") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT COLLATE NOCASE, w TEXT);"
        "CREATE UNIQUE INDEX tu ON t(u COLLATE BINARY);"
        "CREATE UNIQUE INDEX tw ON t(w COLLATE NOCASE DESC);"
        "INSERT INTO t VALUES(1,'abc','abc')");
    CHECK(w.after("REPLACE INTO t VALUES(2,'ABC','x')") == "i[2]");
    CHECK(w.after("REPLACE INTO t VALUES(3,'y','ABC')") == "t[1] i[3]");
}

TEST_CASE("rule 2: a bulk update of a plain column writes exactly one entry a row") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, w, v); CREATE UNIQUE INDEX tw ON t(w);"
        "INSERT INTO t VALUES(1,1,1,0),(2,2,2,0),(3,3,3,0)");
    CHECK(w.after("UPDATE t SET v = v + 1") == "u[1] u[2] u[3]");
    // Also when it names the unique columns without moving them.
    CHECK(w.after("UPDATE t SET u = u, w = w, v = 9") == "u[1] u[2] u[3]");
    CHECK(w.after("UPDATE t SET id = id") == "u[1] u[2] u[3]");
}

TEST_CASE("rule 2: an update that collides is seen, for each unique index") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, w, v); CREATE UNIQUE INDEX tw ON t(w);"
        "INSERT INTO t VALUES(1,1,1,0),(2,2,2,0),(3,3,3,0),(4,4,4,0)");
    CHECK(w.after("UPDATE OR REPLACE t SET u = 2 WHERE id = 1") == "t[2] u[1]");
    CHECK(w.after("UPDATE OR REPLACE t SET w = 3 WHERE id = 1") == "t[3] u[1]");
    CHECK(w.after("UPDATE OR REPLACE t SET id = 4 WHERE id = 1") == "t[4] d[1] i[4]");
    CHECK(w.file.rows("SELECT id FROM t") == "4");
}

TEST_CASE("rule 2: a partial index is entered by an update of its predicate's column") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u, done INT);"
        "CREATE UNIQUE INDEX tu ON t(u) WHERE done = 0;"
        "INSERT INTO t VALUES(1,'a',0),(2,'a',1),(3,'b',1)");
    CHECK(w.after("UPDATE OR REPLACE t SET done = 0 WHERE id = 2") == "t[1] u[2]");
    CHECK(w.file.rows("SELECT id FROM t") == "2 3");
    CHECK(w.after("REPLACE INTO t VALUES(5,'b',0)") == "i[5]");
    CHECK(w.after("REPLACE INTO t VALUES(6,'b',0)") == "t[5] i[6]");
}

TEST_CASE(
    "rule 2: a generated column's index is entered by an update of what it is computed from") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, g AS (a || '-' || b) VIRTUAL UNIQUE,"
        " s AS (lower(a)) STORED); CREATE UNIQUE INDEX ts ON t(s);"
        "INSERT INTO t(id,a,b) VALUES(1,'A','x'),(2,'B','y')");
    CHECK(w.after("UPDATE OR REPLACE t SET a = 'a' WHERE id = 2") == "t[1] u[2]");
    CHECK(w.after("INSERT OR REPLACE INTO t(id,a,b) VALUES(3,'a','z')") == "t[2] i[3]");
    CHECK(w.after("INSERT OR REPLACE INTO t(id,a,b) VALUES(4,'c','z')") == "i[4]");
    CHECK(w.after("UPDATE OR REPLACE t SET b = 'z', a = 'd' WHERE id = 3") == "u[3]");
    CHECK(w.after("UPDATE OR REPLACE t SET a = 'C' WHERE id = 3") == "t[4] u[3]");
}

TEST_CASE(
    "rule 2: what a generated column is made of counts, also where the update does not name it") {
    for (const char* kind : {"VIRTUAL", "STORED"}) {
        CAPTURE(kind);
        watched w("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c, g AS (a || '-' || b) " +
                  std::string(kind) +
                  "); CREATE UNIQUE INDEX tg ON t(g);"
                  "INSERT INTO t(id,a,b) VALUES(1,'A','x'),(2,'B','x'),(3,'A','y')");
        CHECK(w.after("UPDATE OR REPLACE t SET a = 'A' WHERE id = 2") == "t[1] u[2]");
        CHECK(w.after("UPDATE OR REPLACE t SET b = 'x' WHERE id = 3") == "t[2] u[3]");
        CHECK(w.after("UPDATE t SET c = 1") == "u[3]");
        watched p("CREATE TABLE t(id INTEGER PRIMARY KEY, u, a, b, c, g AS (a + b) " +
                  std::string(kind) +
                  "); CREATE UNIQUE INDEX tu ON t(u, c) WHERE g > 0;"
                  "INSERT INTO t(id,u,a,b,c) VALUES(1,'A',1,1,1),(2,'A',-9,1,1)");
        CHECK(p.after("UPDATE OR REPLACE t SET a = 1 WHERE id = 2") == "t[1] u[2]");
        CHECK(p.after("UPDATE OR REPLACE t SET b = b + 1") == "u[2]");
    }
}

TEST_CASE("rule 2: a chain of generated columns ends at ordinary ones") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a, g AS (h + 1), h AS (a * 2));"
        "CREATE UNIQUE INDEX tg ON t(g); INSERT INTO t(id, a) VALUES(1, 1),(2, 2)");
    CHECK(w.after("UPDATE OR REPLACE t SET a = 1 WHERE id = 2") == "t[1] u[2]");
    CHECK(w.after("INSERT OR REPLACE INTO t(id, a) VALUES(7, 1)") == "t[2] i[7]");
}

TEST_CASE("rule 2: SET rowid moves the row of an INTEGER PRIMARY KEY") {
    watched w("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1,'a'),(2,'b')");
    CHECK(w.after("UPDATE OR REPLACE t SET rowid = 2 WHERE id = 1") == "t[2] d[1] i[2]");
    CHECK(w.after("UPDATE t SET _rowid_ = 7") == "d[2] i[7]");
}

TEST_CASE("rule 2: an index's own function is not called by an update of another column") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u, v);"
        "CREATE UNIQUE INDEX tu ON t(json_extract(u, '$.k'));"
        "INSERT INTO t VALUES(1, '{\"k\":1}', 0)");
    // json_extract of a text that is no JSON is an error: the guard must not ask for it here.
    CHECK(w.after("UPDATE t SET v = 1") == "u[1]");
    CHECK(w.after("REPLACE INTO t VALUES(2, '{\"k\":1,\"x\":0}', 0)") == "t[1] i[2]");
    CHECK(w.file.refusal("INSERT INTO t VALUES(3, 'no json', 0)") == "malformed JSON");
}

TEST_CASE("a rowid that collides is seen in a table with another key") {
    watched w(
        "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v);"
        "INSERT INTO t(rowid, id, v) VALUES(1,'a',1),(2,'b',2),(3,'c',3)");
    CHECK(w.after("INSERT OR REPLACE INTO t(rowid, id, v) VALUES(1,'z',9)") == "t['a'] i['z']");
    CHECK(w.after("UPDATE OR REPLACE t SET rowid = 2 WHERE id = 'z'") == "t['b'] u['z']");
    CHECK(w.after("UPDATE OR REPLACE t SET oid = 3, id = 'q' WHERE id = 'z'") ==
          "t['c'] d['z'] i['q']");
    // Both collide with one row: one touch.
    CHECK(w.after("INSERT OR REPLACE INTO t(rowid, id, v) VALUES(3,'q',0)") == "t['q'] i['q']");
}

TEST_CASE("a row whose rowid is -1 is no hindrance where SQLite draws the rowid") {
    watched w("CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE); INSERT INTO t VALUES(-1, 'a')");
    w.after("INSERT INTO t(u) VALUES('b')");
    CHECK(w.file.rows("SELECT id FROM t") == "-1 0");
}

TEST_CASE("rule 3: a NULL that OR REPLACE turns into the default collides like the default") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT NOT NULL DEFAULT 'd' UNIQUE, v);"
        "INSERT INTO t VALUES(1,'d',1),(2,'e',2)");
    CHECK(w.after("INSERT OR REPLACE INTO t VALUES(3,NULL,3)") == "t[1] i[3]");
    CHECK(w.after("UPDATE OR REPLACE t SET u = NULL WHERE id = 2") == "t[3] u[2]");
    CHECK(w.file.rows("SELECT id, u FROM t") == "2|d");
}

TEST_CASE("rule 3: also in the key, with a number, and within a partial index") {
    watched w(
        "CREATE TABLE t(a INT NOT NULL DEFAULT -1, b TEXT NOT NULL DEFAULT 'x', v,"
        " PRIMARY KEY(a, b)); INSERT INTO t VALUES(-1,'x',1)");
    CHECK(w.after("INSERT OR REPLACE INTO t VALUES(NULL,NULL,2)") == "t[-1,'x'] i[-1,'x']");
    watched p(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT, s INT NOT NULL DEFAULT 0);"
        "CREATE UNIQUE INDEX tu ON t(u) WHERE s = 0; INSERT INTO t VALUES(1,'a',0)");
    CHECK(p.after("INSERT OR REPLACE INTO t VALUES(2,'a',NULL)") == "t[1] i[2]");
}

TEST_CASE("rule 3: in an expression the default stands in as well") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT NOT NULL DEFAULT 'D');"
        "CREATE UNIQUE INDEX tu ON t(lower(u)); INSERT INTO t VALUES(1,'d')");
    CHECK(w.after("INSERT OR REPLACE INTO t VALUES(2,NULL)") == "t[1] i[2]");
}

TEST_CASE("rule 5: expressions and partial expressions find the row") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u, w, s);"
        "CREATE UNIQUE INDEX tx ON t(lower(u), w + 1);"
        "CREATE UNIQUE INDEX tp ON t(upper(w)) WHERE s IS NOT NULL;"
        "INSERT INTO t VALUES(1,'A',1,NULL),(2,'B',2,'s')");
    CHECK(w.after("REPLACE INTO t VALUES(3,'a',1,NULL)") == "t[1] i[3]");
    CHECK(w.after("REPLACE INTO t VALUES(4,'q','2','s')") == "t[2] i[4]");
    CHECK(w.after("UPDATE OR REPLACE t SET u = 'a', w = 1 WHERE id = 4") == "t[3] u[4]");
    CHECK(w.after("UPDATE OR REPLACE t SET u = NULL WHERE id = 4") == "u[4]");
}

TEST_CASE("rule 5: affinity is the column's, also through an expression") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT, n INT, r REAL);"
        "CREATE UNIQUE INDEX tu ON t(u || ''); CREATE UNIQUE INDEX tn ON t(n);"
        "CREATE UNIQUE INDEX tr ON t(r); CREATE UNIQUE INDEX tm ON t(abs(n));"
        "INSERT INTO t VALUES(1,'5',5,5.0)");
    CHECK(w.after("REPLACE INTO t VALUES(2,5,6,6)") == "t[1] i[2]");
    CHECK(w.after("REPLACE INTO t VALUES(3,'x','6',7)") ==
          "t[2] t[2] i[3]");  // by two indexes that can be dropped
    CHECK(w.after("REPLACE INTO t VALUES(4,'y',8,'7.0')") == "t[3] i[4]");
    CHECK(w.after("REPLACE INTO t VALUES(5,'z','-8',9)") == "t[4] i[5]");
}

TEST_CASE("rule 6: the guard of a dropped index is silent, and nothing else is") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u); CREATE UNIQUE INDEX tu ON t(u);"
        "INSERT INTO t VALUES(1,'a')");
    CHECK(w.file.logged("DROP INDEX tu; INSERT INTO t VALUES(2,'a')") == "i[2]");
    CHECK(w.file.logged("UPDATE t SET u = 'b'") == "u[1] u[2]");
    CHECK(w.file.logged("UPDATE t SET u = 'a'") == "u[1] u[2]");
    CHECK(w.file.logged("INSERT OR REPLACE INTO t VALUES(2,'z')") == "t[2] i[2]");
}

TEST_CASE("rule 6: nor does it look through the table") {
    owner_file f(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u, w, x);"
        "CREATE UNIQUE INDEX tu ON t(u); CREATE UNIQUE INDEX tw ON t(lower(w));"
        "CREATE UNIQUE INDEX tx ON t(lower(x)) WHERE x IS NOT NULL");
    watch(f, {"t"});
    f.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
        " INSERT INTO t SELECT i, i, i, i FROM n");
    const auto steps = [&](const std::string& text) {
        statement s(f.get(), text);
        s.run();
        return sqlite3_stmt_status(s.get(), SQLITE_STMTSTATUS_VM_STEP, 0);
    };
    CHECK(steps("INSERT INTO t VALUES(3001, 3001, 3001, 3001)") < 500);
    f.sql("DROP INDEX tu; DROP INDEX tw; DROP INDEX tx");
    CHECK(steps("INSERT INTO t VALUES(3002, 3002, 3002, 3002)") < 1000);
    CHECK(steps("UPDATE t SET u = 0, w = 0, x = 0 WHERE id = 5") < 1000);
}

TEST_CASE("rule 6: a dropped index of the same name as a table does not wake its guard") {
    owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY, u); CREATE UNIQUE INDEX tu ON t(u)");
    watch(f, {"t"});
    f.sql("DROP INDEX tu; CREATE TABLE tu(x); INSERT INTO t VALUES(1,'a')");
    CHECK(f.logged("INSERT INTO t VALUES(2,'a')") == "i[2]");
}

TEST_CASE("rule 6: an index that moved within the schema is still guarded") {
    owner_file f(
        "CREATE TABLE gone(x); CREATE TABLE t(id INTEGER PRIMARY KEY, u);"
        "CREATE UNIQUE INDEX tu ON t(u); INSERT INTO t VALUES(1,'a')");
    watch(f, {"t"});
    f.sql("DROP TABLE gone; VACUUM");
    CHECK(f.logged("REPLACE INTO t VALUES(2,'a')") == "t[1] i[2]");
}

TEST_CASE("rule 7: OR IGNORE of a row that is there writes one touch, however much collides") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, w UNIQUE, x);"
        "CREATE UNIQUE INDEX tx ON t(x) WHERE x > 0; CREATE UNIQUE INDEX ty ON t(u, w);"
        "INSERT INTO t VALUES(1,1,1,1),(2,2,2,2)");
    CHECK(w.after("INSERT OR IGNORE INTO t VALUES(1,1,1,1),(2,2,2,2)") == "t[1] t[2]");
    CHECK(w.after("INSERT INTO t VALUES(1,1,1,1) ON CONFLICT DO NOTHING") == "t[1]");
    CHECK(w.after("INSERT INTO t VALUES(1,1,1,1) ON CONFLICT(id) DO UPDATE SET x = 7") ==
          "t[1] u[1]");
    // Each row that collides is touched, once.
    CHECK(w.after("INSERT OR IGNORE INTO t VALUES(3,1,2,7)") == "t[1] t[2]");
    CHECK(w.after("INSERT OR REPLACE INTO t VALUES(3,1,2,7)") == "t[1] t[2] i[3]");
}

TEST_CASE("rule 7: NULLs collide with nothing, and hide no other collision") {
    watched w(
        "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, u UNIQUE, w UNIQUE);"
        "INSERT INTO t VALUES('a',NULL,1),('b',NULL,NULL)");
    CHECK(w.after("INSERT OR REPLACE INTO t VALUES('c',NULL,1)") == "t['a'] i['c']");
    CHECK(w.after("INSERT OR REPLACE INTO t VALUES('d',NULL,NULL)") == "i['d']");
    CHECK(w.after("INSERT OR REPLACE INTO t VALUES('b',NULL,1)") == "t['b'] t['c'] i['b']");
}

TEST_CASE("rule 8: names that a trigger has a meaning for are tables like any other") {
    for (const std::string name :
         {"new", "old", "lf_row", "NEW", "select", "a \"b\" c", "x'y", "ü", "a.b", "two words"}) {
        CAPTURE(name);
        std::string q = "\"";
        for (const char c : name) q += c == '"' ? std::string("\"\"") : std::string(1, c);
        q += "\"";
        watched w("CREATE TABLE " + q + "(id INTEGER PRIMARY KEY, u UNIQUE, v); INSERT INTO " + q +
                      " VALUES(1,'a',0),(2,'b',0),(3,'c',0)",
                  name);
        CHECK(w.after("INSERT OR REPLACE INTO " + q + " VALUES(4,'a',0)") == "t[1] i[4]");
        CHECK(w.after("UPDATE OR REPLACE " + q + " SET u = 'b' WHERE id = 4") == "t[2] u[4]");
        CHECK(w.after("UPDATE " + q + " SET v = 1") == "u[3] u[4]");
    }
}

TEST_CASE("rule 8: so are columns") {
    watched w(
        "CREATE TABLE t(\"new\" INTEGER PRIMARY KEY, \"old\" UNIQUE, \"lf_row\", \"a\"\"b\" UNIQUE,"
        " \"key\", \"select\"); CREATE UNIQUE INDEX ti ON t(\"lf_row\" || \"select\");"
        "INSERT INTO t VALUES(1,1,1,1,1,1),(2,2,2,2,2,2)");
    CHECK(w.after("REPLACE INTO t VALUES(3,1,3,2,3,3)") == "t[1] t[2] i[3]");
    CHECK(w.after("REPLACE INTO t VALUES(4,4,3,4,4,3)") == "t[3] i[4]");
}

TEST_CASE("rule 9: a key and an index of twelve columns stand where expressions may be ten deep") {
    const std::string c = many_columns(12), d = many_columns(12, "", "d");
    const auto stands = [&](const std::string& constraint, const std::string& index, int depth) {
        owner_file f("CREATE TABLE t(" + many_columns(12, " NOT NULL") + "," + d +
                     ", PRIMARY KEY(" + c + ")" + constraint + "); " + index);
        watch(f, {"t"});
        f.reopen();
        sqlite3_limit(f.get(), SQLITE_LIMIT_EXPR_DEPTH, depth);
        CHECK(f.refusal("SELECT * FROM t") == "");
        const std::string one = "1,2,3,4,5,6,7,8,9,10,11,12";
        const std::string values = "(" + one + "," + one + ")";
        CHECK(f.logged("INSERT INTO t VALUES" + values) == "i[" + one + "]");
        CHECK(f.logged("REPLACE INTO t VALUES" + values) == "t[" + one + "] i[" + one + "]");
        CHECK(f.logged("UPDATE t SET d12 = 0") == "u[" + one + "]");
        CHECK(f.logged("UPDATE t SET c12 = 0") == "d[" + one + "] i[1,2,3,4,5,6,7,8,9,10,11,0]");
    };
    stands(", UNIQUE(" + d + ")", "", 10);
    // To ask whether an index stands is ten deep by itself.
    stands("",
           "CREATE UNIQUE INDEX td ON t(" + d + "); CREATE UNIQUE INDEX tp ON t(" + d +
               ") WHERE d1 = 7",
           16);
}

TEST_CASE("rule 9: so do twelve unique indexes of one table") {
    owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY, " + many_columns(12, " UNIQUE") + ")");
    watch(f, {"t"});
    f.reopen();
    sqlite3_limit(f.get(), SQLITE_LIMIT_EXPR_DEPTH, 10);
    CHECK(f.refusal("SELECT * FROM t") == "");
    CHECK(f.logged("INSERT INTO t VALUES(1,1,2,3,4,5,6,7,8,9,10,11,12)") == "i[1]");
    CHECK(f.logged("REPLACE INTO t VALUES(2,1,2,3,4,5,6,7,8,9,10,11,12)") == "t[1] i[2]");
}

TEST_CASE("rule 9: so does a table of many columns that is compared column by column") {
    owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY, " + many_columns(12) + ")");
    watch(f, {"t"}, {.skip_unchanged = true});
    f.reopen();
    sqlite3_limit(f.get(), SQLITE_LIMIT_EXPR_DEPTH, 10);
    CHECK(f.refusal("SELECT * FROM t") == "");
    f.sql("INSERT INTO t(id, c1, c12) VALUES(1, 'a', 1)");
    CHECK(f.logged("UPDATE t SET c1 = 'a'") == "");
    CHECK(f.logged("UPDATE t SET c12 = 1.0") == "u[1]");
}

TEST_CASE("rule 10: a touch never stands for an update") {
    watched w("CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v); INSERT INTO t VALUES(1,'a',0)");
    CHECK(w.after("INSERT OR IGNORE INTO t VALUES(1,'a',9); UPDATE t SET v = 5;"
                  "INSERT OR IGNORE INTO t VALUES(1,'a',9)") == "t[1] u[1] t[1]");
    CHECK(w.reader->text("t") == "{\"id\":1} {\"id\":1,\"u\":\"a\",\"v\":5}\n");
}

TEST_CASE("rule 11: an owner's older trigger that stops a row stops our entry with it") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v);"
        "CREATE TRIGGER stop AFTER INSERT ON t WHEN NEW.v = 'ignore' BEGIN SELECT RAISE(IGNORE); "
        "END;"
        "CREATE TRIGGER halt AFTER INSERT ON t WHEN NEW.v = 'fail' BEGIN SELECT RAISE(FAIL, 'no'); "
        "END;"
        "CREATE TRIGGER back AFTER UPDATE ON t WHEN NEW.v = 'ignore' BEGIN SELECT RAISE(IGNORE); "
        "END;"
        "CREATE TRIGGER away AFTER DELETE ON t WHEN OLD.v = 1 BEGIN SELECT RAISE(IGNORE); END;");
    w.after("INSERT INTO t VALUES(1,'ignore')");
    CHECK(w.file.rows("SELECT id FROM t") == "1");
    CHECK(w.file.refusal("INSERT INTO t VALUES(2,'x'),(3,'fail'),(4,'y')") == "no");
    CHECK(w.file.rows("SELECT id FROM t") == "1 2 3");
    w.after("UPDATE t SET v = 'ignore' WHERE id = 2");
    w.after("UPDATE t SET v = 1; DELETE FROM t");
}

TEST_CASE("rule 11: an error under OR FAIL keeps the rows before it, and their entries") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v UNIQUE); CREATE TABLE other(x UNIQUE);"
        "INSERT INTO other VALUES(7);"
        "CREATE TRIGGER dup AFTER INSERT ON t BEGIN INSERT INTO other VALUES(NEW.v); END;");
    CHECK_FALSE(w.file.refusal("INSERT OR FAIL INTO t VALUES(1,1),(2,7),(3,3)").empty());
    w.after("SELECT 1");
    CHECK(w.file.rows("SELECT id FROM t") == "1 2");
}

TEST_CASE("rule 12: a trigger that stamps the row it fires on leaves hints right, older or newer") {
    const std::string stamp_row =
        "CREATE TRIGGER stamped AFTER INSERT ON t BEGIN UPDATE t SET at = 'now'"
        " WHERE id = NEW.id; END;";
    watched older("CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, at);" + stamp_row);
    CHECK(older.after("INSERT INTO t(id) VALUES(1)") == "i[1] u[1]");
    CHECK(older.after("REPLACE INTO t(id) VALUES(1)") == "t[1] i[1] u[1]");
    // A TEMP trigger fires before ours, whatever its age; so would a newer one until it is repaired.
    watched temp("CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, at)");
    temp.file.sql(
        "CREATE TEMP TRIGGER stamped AFTER INSERT ON main.t BEGIN UPDATE t SET at = 'now'"
        " WHERE id = NEW.id; END;");
    CHECK(temp.after("INSERT INTO t(id) VALUES(1)") == "u[1] i[1]");
    CHECK(temp.after("DELETE FROM t; INSERT INTO t(id) VALUES(1)") == "d[1] u[1] i[1]");
}

TEST_CASE("rule 13: a TEMP trigger that ignores the row hides it from the feed") {
    owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY, v)");
    watch(f, {"t"});
    f.sql("CREATE TEMP TRIGGER hide AFTER INSERT ON main.t BEGIN SELECT RAISE(IGNORE); END");
    CHECK(f.logged("INSERT INTO t VALUES(1, 1)") == "");
    CHECK(f.rows("SELECT id FROM t") == "1");
}

TEST_CASE("an owner's BEFORE trigger may delete or move rows under our guards") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v);"
        "CREATE TRIGGER clear BEFORE INSERT ON t WHEN NEW.v = 'clear' BEGIN DELETE FROM t WHERE u "
        "= NEW.u; END;"
        "CREATE TRIGGER move BEFORE INSERT ON t WHEN NEW.v = 'move' BEGIN UPDATE t SET u = u || "
        "'!' WHERE u = NEW.u; END;"
        "INSERT INTO t VALUES(1,'a',0)");
    CHECK(w.after("INSERT INTO t VALUES(2,'a','clear')") == "t[1] d[1] i[2]");
    CHECK(w.after("INSERT INTO t VALUES(3,'a','move')") == "t[2] u[2] i[3]");
}

TEST_CASE("foreign keys that cascade, set null and follow are told") {
    watched w(
        "CREATE TABLE p(id INTEGER PRIMARY KEY);"
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE,"
        " b REFERENCES p ON DELETE SET NULL);"
        "INSERT INTO p VALUES(1),(2),(3); INSERT INTO t VALUES(1,1,NULL),(2,2,1),(3,NULL,3)");
    w.file.sql("PRAGMA foreign_keys = 1");
    CHECK(w.after("DELETE FROM p WHERE id = 1") == "u[2] d[1]");
    CHECK(w.after("UPDATE p SET id = 9 WHERE id = 2") == "u[2]");
    CHECK(w.after("REPLACE INTO p VALUES(3)") == "u[3]");
}

TEST_CASE("with recursive_triggers REPLACE fires delete triggers too, and the reader is right") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE); INSERT INTO t VALUES(1,'a'),(2,'b')");
    w.file.sql("PRAGMA recursive_triggers = 1");
    CHECK(w.after("REPLACE INTO t VALUES(1,'b')") == "t[1] t[2] d[1] d[2] i[1]");
}

TEST_CASE("swapped keys, and rows that take each other's places") {
    watched w(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE); INSERT INTO t "
        "VALUES(1,'a'),(2,'b'),(3,'c')");
    w.after(
        "BEGIN; UPDATE t SET id = -id; UPDATE t SET id = CASE id WHEN -1 THEN 2 WHEN -2 THEN 1 "
        "ELSE 3 END; COMMIT");
    CHECK(w.file.rows("SELECT id, u FROM t") == "1|b 2|a 3|c");
    w.after("UPDATE OR REPLACE t SET id = 2 WHERE id IN (1, 3)");
}

TEST_CASE("a table without a key is told by its rowid, under a name that no column has") {
    watched w("CREATE TABLE t(rowid TEXT, v); INSERT INTO t VALUES('mine', 1)");
    CHECK(w.after("INSERT INTO t VALUES('x', 2)") == "i[2]");
    CHECK(w.reader->text("t") ==
          "{\"_rowid_\":1} {\"rowid\":\"mine\",\"v\":1}\n"
          "{\"_rowid_\":2} {\"rowid\":\"x\",\"v\":2}\n");
    CHECK(w.after("UPDATE OR REPLACE t SET _rowid_ = 2 WHERE v = 1") == "t[2] d[1] i[2]");
}

TEST_CASE("a key that may be NULL is no key: the rowid names the row, the key's index is guarded") {
    watched w(
        "CREATE TABLE t(id TEXT PRIMARY KEY, v); INSERT INTO t VALUES(NULL,1),(NULL,2),('a',3)");
    CHECK(w.after("INSERT INTO t VALUES(NULL, 4)") == "i[4]");
    CHECK(w.after("REPLACE INTO t VALUES('a', 5)") == "t[3] i[5]");
    CHECK(w.after("UPDATE OR REPLACE t SET id = 'a' WHERE v = 1") == "t[5] u[1]");
}

TEST_CASE("without guards a replaced row is not told, and no trigger names a unique column") {
    owner_file f(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u); CREATE UNIQUE INDEX tu ON t(u); INSERT INTO t "
        "VALUES(1,'a')");
    watch(f, {"t"}, {.replace_guards = false});
    CHECK(f.logged("REPLACE INTO t VALUES(2,'a')") == "i[2]");
    CHECK(f.refusal("DROP INDEX tu; ALTER TABLE t DROP COLUMN u") == "");
}

TEST_CASE("unchanged updates are entries, unless they are to be skipped") {
    const std::string table =
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT COLLATE NOCASE, w);"
        "INSERT INTO t VALUES(1,'a',NULL)";
    watched told_all(table);
    CHECK(told_all.after("UPDATE t SET v = v") == "u[1]");
    watched compared(table, "t", {.skip_unchanged = true});
    CHECK(compared.after("UPDATE t SET v = v, w = w") == "");
    CHECK(compared.after("UPDATE t SET v = 'A'") == "u[1]");
    CHECK(compared.after("UPDATE t SET w = 1") == "u[1]");
    CHECK(compared.after("UPDATE t SET w = 1.0") == "u[1]");
    CHECK(compared.after("UPDATE t SET w = NULL") == "u[1]");
    CHECK(compared.after("UPDATE t SET id = 2") == "d[1] i[2]");
}

TEST_CASE(
    "after DROP INDEX only a column that the index alone used cannot be dropped, and the name says "
    "so") {
    owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY, u, v); CREATE UNIQUE INDEX tu ON t(u)");
    watch(f, {"t"});
    CHECK(f.refusal("ALTER TABLE t DROP COLUMN v") == "");
    f.sql("DROP INDEX tu");
    CHECK(contains(f.refusal("ALTER TABLE t DROP COLUMN u"), "_safe_to_drop"));
}

TEST_CASE("the owner's counters are as without us") {
    owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v)");
    watch(f, {"t"});
    f.sql("INSERT INTO t VALUES(1,1,0),(2,2,0)");
    CHECK(sqlite3_changes(f.get()) == 2);
    CHECK(sqlite3_last_insert_rowid(f.get()) == 2);
    f.sql("INSERT OR IGNORE INTO t VALUES(1,1,0)");
    CHECK(sqlite3_changes(f.get()) == 0);
    CHECK(sqlite3_last_insert_rowid(f.get()) == 2);
    CHECK(f.rows("INSERT INTO t(u) VALUES(7) RETURNING id, u") == "3|7");
    CHECK(f.rows("UPDATE t SET v = 1 RETURNING id, v") == "1|1 2|1 3|1");
    CHECK(f.rows("PRAGMA integrity_check") == "ok");
}

TEST_CASE("a stored text that differs only in where an index stands is the same trigger") {
    const std::string a = "WHEN (EXISTS(SELECT 1 FROM sqlite_master WHERE rowid=12 AND name='i'))";
    const std::string b = "WHEN (EXISTS(SELECT 1 FROM sqlite_master WHERE rowid=7 AND name='i'))";
    CHECK(same_trigger(a, b));
    CHECK(same_trigger(a, a));
    CHECK_FALSE(same_trigger(a, b + " "));
    CHECK_FALSE(
        same_trigger(a, "WHEN (EXISTS(SELECT 1 FROM sqlite_master WHERE rowid=7 AND name='j'))"));
    CHECK_FALSE(same_trigger("a" + a, a));
    CHECK_FALSE(same_trigger(a, a.substr(0, 40)));
    CHECK(same_trigger("", ""));
}

TEST_CASE("the log has a column for each part of a key") {
    CHECK(log_key_columns(1) == "key");
    CHECK(log_key_columns(3) == "key,key2,key3");
    CHECK(trigger_prefix(7) == "litefeed_7_");
}

TEST_SUITE_END();
