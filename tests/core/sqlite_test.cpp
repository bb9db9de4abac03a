#include "core/sqlite.hpp"

#include "core/open.hpp"
#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

using mode = connection::access;

TEST_SUITE_BEGIN("core/sqlite");

TEST_CASE("a file that is not there is not made") {
    const owner_file f;
    const std::string path = f.path() + ".none";
    CHECK_THROWS_AS(connection(path, mode::read_only, 0), sqlite_error);
    CHECK_THROWS_AS(connection(path, mode::read_write, 0), sqlite_error);
    CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("what SQLite says travels with its code; a lock is busy") {
    const owner_file f("CREATE TABLE t(x)");
    const connection db(f.path(), mode::read_write, 0);
    try {
        (void)db.prepare("SELECT other FROM t");
        FAIL("prepared");
    } catch (const sqlite_error& e) {
        CHECK(&e.code().category() == &sqlite_category());
        CHECK(std::string(e.what()) == "no such column: other");
    }
    f.sql("BEGIN IMMEDIATE");
    try {
        const transaction t(db, transaction::kind::immediate);
        FAIL("began");
    } catch (const sqlite_error& e) {
        CHECK(e.code() == make_error_code(errc::busy));
    }
}

TEST_CASE("a transaction that is not committed is rolled back, one that is stays") {
    const owner_file f("CREATE TABLE t(x)");
    const connection db(f.path(), mode::read_write, 0);
    {
        const transaction t(db, transaction::kind::immediate);
        db.execute("INSERT INTO t VALUES(1)");
    }
    CHECK(f.integer("SELECT count(*) FROM t") == 0);
    {
        transaction t(db, transaction::kind::immediate);
        db.execute("INSERT INTO t VALUES(1)");
        t.commit();
    }
    CHECK(f.integer("SELECT count(*) FROM t") == 1);
}

TEST_CASE(
    "a statement takes and gives values with their NULs and lengths, and is used again after a "
    "reset") {
    const owner_file f;
    const connection db(f.path(), mode::read_only, 0);
    statement s = db.prepare("SELECT ?1, ?2, ?3, ?4, ?5");
    const std::string nul("a\0b", 3);
    s.bind(1, std::int64_t{-1}).bind(2, 0.5).bind_text(3, nul).bind_blob(4, nul).bind_null(5);
    REQUIRE(s.step());
    CHECK(s.integer(0) == -1);
    CHECK(s.real(1) == 0.5);
    CHECK(s.text(2) == nul);
    CHECK(s.blob(3) == nul);
    CHECK(s.is_null(4));
    CHECK(s.text(4) == "");
    CHECK_FALSE(s.step());
    s.bind_text(3, {}).bind_blob(4, {});
    REQUIRE(s.step());
    CHECK(s.type(2) == SQLITE_TEXT);
    CHECK(s.type(3) == SQLITE_BLOB);
}

TEST_CASE("a use that ends leaves no read transaction behind") {
    const owner_file f(
        "PRAGMA journal_mode = delete; CREATE TABLE t(x); INSERT INTO t VALUES(1),(2)");
    const connection db(f.path(), mode::read_only, 0);
    statement s = db.prepare("SELECT x FROM t");
    {
        use rows(s);
        REQUIRE(rows->step());
        CHECK_FALSE(f.refusal("PRAGMA busy_timeout = 0; INSERT INTO t VALUES(3)").empty());
    }
    CHECK(f.refusal("ROLLBACK; INSERT INTO t VALUES(3)") != "database is locked");
    CHECK(f.refusal("INSERT INTO t VALUES(3)") == "");
}

TEST_CASE("our connections are defensive, and leave the owner's settings alone") {
    const owner_file f("CREATE TABLE t(x)");
    const connection db(f.path(), mode::read_write, 0);
    CHECK_THROWS_AS(db.execute("PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = ''"),
                    sqlite_error);
    CHECK(f.rows("PRAGMA journal_mode") == "wal");
}

TEST_CASE("a command closes as any program does; a server never checkpoints") {
    owner_file f("CREATE TABLE t(x)");
    const auto wal = [&] { return std::filesystem::exists(f.path() + "-wal"); };
    f.close();
    CHECK_FALSE(wal());
    {
        const connection db = open_database(f.path(), mode::read_write, 0);
        db.execute("INSERT INTO t VALUES(1)");
    }
    CHECK_FALSE(wal());
    {
        const connection db = open_database(f.path(), mode::read_write, 0);
        never_checkpoint(db);
        db.execute("INSERT INTO t VALUES(1)");
    }
    CHECK(wal());
    f.open();
    CHECK(f.integer("SELECT count(*) FROM t") == 2);
}

TEST_SUITE_END();
