#include "core/run.hpp"

#include <random>

#include "core/log.hpp"
#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::test;

namespace {

/// `t` with rows 1 to 3 and `s` with row 1, both watched.
struct two_tables {
    owner_file file{
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1,'a'),(2,'b'),(3,'c');"
        "CREATE TABLE s(id INTEGER PRIMARY KEY); INSERT INTO s VALUES(1)"};
    feed reads = [this] {
        watch(file, {"t", "s"});
        return feed_of(file);
    }();
    [[nodiscard]] position now() { return ask(reads, from_now{}).next; }
};

/// Compaction up to `floor`, as its entry's digest is kept.
void raise_floor(const owner_file& f, std::int64_t floor) {
    std::uint32_t digest = 0;
    {
        const connection db(f.path(), connection::access::read_only, 0);
        digest = log_reader(db).digest_at({floor}).value();
    }
    f.sql("BEGIN; DELETE FROM litefeed_log WHERE seq <= " + std::to_string(floor) +
          "; UPDATE litefeed_meta SET floor = " + std::to_string(floor) +
          ", floor_digest = " + std::to_string(digest) + "; COMMIT");
}

/// What the file holds now, to be put back over it later.
class backup {
  public:
    explicit backup(const owner_file& of) : of_(of) {
        // NOMUTEX: a copy there and one back take two connections' mutexes in both orders, one thread or not.
        sqlite3_open_v2(":memory:", &copy_,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
        move(copy_, of.get());
    }
    ~backup() { sqlite3_close_v2(copy_); }
    backup(const backup&) = delete;
    backup& operator=(const backup&) = delete;
    void restore() { move(of_.get(), copy_); }

  private:
    static void move(sqlite3* to, sqlite3* from) {
        sqlite3_backup* b = sqlite3_backup_init(to, "main", from, "main");
        REQUIRE(b != nullptr);
        CHECK(sqlite3_backup_step(b, -1) == SQLITE_DONE);
        sqlite3_backup_finish(b);
    }
    const owner_file& of_;
    sqlite3* copy_ = nullptr;
};

std::string since(two_tables& two, const position& from, asking how = {}) {
    const answer a = ask(two.reads, from, how);
    return reset_of(a) + (a.reset && !a.changes.changes.empty() ? " " : "") + told(a);
}

rest_cursor at_rest(const position& p) { return std::get<rest_cursor>(p); }

}  // namespace

TEST_SUITE_BEGIN("core/run");

TEST_CASE("who was away for long is told in several runs, each with a place to go on from") {
    owner_file f(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v); CREATE TABLE s(id INTEGER PRIMARY KEY)");
    watch(f, {"t", "s"});
    feed reads = feed_of(f);
    const position begun = ask(reads, from_now{}).next;
    f.sql(
        "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) INSERT INTO t "
        "SELECT i, 0 FROM n; UPDATE t SET v = 1 WHERE id <= 200000; DELETE FROM t WHERE id > "
        "299990");
    std::map<std::string, std::string> copy;
    position at = begun;
    int runs = 0;
    for (bool more = true; more;) {
        const answer a = ask(reads, at, {.rows_max = 100'000});
        CHECK(!a.reset);
        for (const change& c : a.changes.changes) {
            const std::string key(a.changes.text(c.key));
            if (c.op == change_op::remove)
                copy.erase(key);
            else
                copy[key] = a.changes.text(c.row);
        }
        at = a.next;
        more = a.more;
        runs += std::holds_alternative<rest_cursor>(at) ? 1 : 0;
        REQUIRE(runs < 10);
    }
    CHECK(runs == 3);
    CHECK(copy.size() == 299'990);
    CHECK(copy.at(R"({"id":7})") == R"({"id":7,"v":1})");
    CHECK(copy.at(R"({"id":299990})") == R"({"id":299990,"v":0})");
    // A table that began anew on the way is told once, however far that is.
    f.sql("DROP TABLE s; CREATE TABLE s(id INTEGER PRIMARY KEY); INSERT INTO s VALUES(5)");
    REQUIRE(keeper::open(f.path(), false).repair().has_value());
    int resets = 0;
    at = begun;
    for (bool more = true; more;) {
        const answer a = ask(reads, at, {.rows_max = 100'000, .snapshot = true});
        resets += a.reset ? 1 : 0;
        at = a.next;
        more = a.more;
    }
    CHECK(resets == 1);
}

TEST_CASE(
    "an entry that somebody took out of the log starts over who would miss it, and nobody else") {
    two_tables f;
    const position before = f.now();
    f.file.sql("UPDATE t SET v = 1 WHERE id = 1; UPDATE t SET v = 1 WHERE id = 2");
    const position after = f.now();
    const std::int64_t gone = f.file.head().n - 1;
    f.file.sql("DELETE FROM litefeed_log WHERE seq = " + std::to_string(gone));
    f.file.sql("UPDATE t SET v = 2 WHERE id = 3");
    CHECK(reset_of(ask(f.reads, before)) == "below_floor: t s");
    CHECK(told(ask(f.reads, before, {.snapshot = true})) ==
          "t truncate, t read 1, t read 2, t read 3, s truncate, s read 1");
    CHECK(told(ask(f.reads, after)) == "update 3");
    CHECK(reset_of(ask(f.reads, before, {.tables = {"s"}})) == "below_floor: s");
}

TEST_CASE("a gap that is met behind pages that are told already starts over on a page of its own") {
    two_tables f;
    const position before = f.now();
    f.file.sql("UPDATE t SET v = 1; UPDATE t SET v = 2");
    answer page = ask(f.reads, before, {.rows_max = 1});
    CHECK(told(page) == "update 1");
    f.file.sql("DELETE FROM litefeed_log WHERE seq = " + std::to_string(f.file.head().n));
    f.file.sql("INSERT INTO t VALUES(9, 9)");  // takes the number of the one that is gone
    CHECK(reset_of(ask(f.reads, page.next, {.rows_max = 9})) == "restored: t s");
    f.file.sql("DELETE FROM litefeed_log WHERE seq = " + std::to_string(f.file.head().n - 1));
    CHECK(reset_of(ask(f.reads, page.next, {.rows_max = 9})) == "restored: t s");
}

TEST_CASE("now is the head, with nothing to tell and nothing more") {
    two_tables two;
    const answer a = ask(two.reads, from_now{});
    CHECK(a.changes.changes.empty());
    CHECK_FALSE(a.more);
    CHECK(a.head == two.file.head());
    CHECK(at_rest(a.next).at == a.head);
    CHECK(again(a) == a.next);
}

TEST_CASE("what changed above a cursor is told once a row, in stamp order, as it is now") {
    two_tables two;
    const position before = two.now();
    two.file.sql(
        "UPDATE t SET v = 'x' WHERE id = 2; INSERT INTO t VALUES(9, 'n'); UPDATE t SET v = 'y' "
        "WHERE id = 2; DELETE FROM t WHERE id = 1");
    const answer a = ask(two.reads, before);
    CHECK(told(a) == "insert 9, update 2, delete 1");
    CHECK(row_of(a.changes, 1) == "{\"id\":2,\"v\":\"y\"}");
    CHECK(row_of(a.changes, 2) == "");
    CHECK(a.changes.changes[1].at == stamp{a.head.n - 1});
    CHECK(a.changes.changes[2].at == a.head);
    CHECK(told(ask(two.reads, a.next)) == "");
}

TEST_CASE("the place moves even when nothing of the selection changed") {
    two_tables two;
    const position before = two.now();
    two.file.sql("INSERT INTO s VALUES(2)");
    const answer a = ask(two.reads, before, {.tables = {"t"}});
    CHECK(a.changes.changes.empty());
    CHECK(at_rest(a.next).at == two.file.head());
    CHECK_FALSE(a.more);
}

TEST_CASE("a selection takes names in any case, and refuses what the log does not know") {
    two_tables two;
    const position before = two.now();
    two.file.sql("INSERT INTO s VALUES(2); INSERT INTO t VALUES(4, 4)");
    CHECK(told(ask(two.reads, before, {.tables = {"T"}})) == "insert 4");
    CHECK(told(ask(two.reads, before, {.tables = {"s", "T", "s"}})) == "s insert 2, t insert 4");
    question q;
    q.from = before;
    q.want.tables = {"t", "nothing"};
    CHECK(two.reads.changes(q).error() == make_error_code(errc::unknown_table));
    CHECK(two.reads.unknown(q.want).value() == std::optional<std::string>("nothing"));
    CHECK(two.reads.unknown({{"S"}}).value() == std::nullopt);
}

TEST_CASE(
    "a row that was inserted and deleted is told as gone; one that was only touched is not told") {
    two_tables two;
    const position before = two.now();
    two.file.sql(
        "INSERT INTO t VALUES(9, 9); DELETE FROM t WHERE id = 9; INSERT OR IGNORE INTO t VALUES(1, "
        "'no')");
    CHECK(told(ask(two.reads, before)) == "delete 9");
}

TEST_CASE("a first read is every row in key order, table by table, and rests at the head") {
    two_tables two;
    const answer a = ask(two.reads, from_nothing{});
    CHECK(told(a) == "t read 1, t read 2, t read 3, s read 1");
    CHECK(a.changes.changes[0].at == stamp{0});
    CHECK(at_rest(a.next).at == two.file.head());
    CHECK_FALSE(a.reset.has_value());
    CHECK_FALSE(a.more);
}

TEST_CASE("limit cuts a run into pages of that size, whatever it is") {
    two_tables two;
    const position before = two.now();
    two.file.sql("INSERT INTO t VALUES(4,4),(5,5),(6,6),(7,7); DELETE FROM t WHERE id < 3");
    for (int limit = 1; limit <= 8; ++limit) {
        CAPTURE(limit);
        for (const position& from : {before, position{from_nothing{}}}) {
            std::string all;
            position at = from;
            for (bool more = true; more;) {
                const answer a = ask(two.reads, at, {.rows_max = limit, .tables = {"t"}});
                CHECK(static_cast<int>(a.changes.changes.size()) <= limit);
                CHECK((a.more == std::holds_alternative<page_cursor>(a.next)));
                all += (all.empty() || a.changes.changes.empty() ? "" : ", ") + told(a);
                more = a.more;
                at = again(a);
            }
            CHECK(all == told(ask(two.reads, from, {.tables = {"t"}})));
            CHECK(at == ask(two.reads, from, {.tables = {"t"}}).next);
        }
    }
}

TEST_CASE("an answer ends early once its rows hold as many bytes as are wanted, and never empty") {
    two_tables two;
    two.file.sql("UPDATE t SET v = printf('%.1000c', 'x')");
    question q;
    q.from = from_nothing{};
    q.bytes_max = 1;
    const auto a = two.reads.changes(q);
    REQUIRE(a.has_value());
    CHECK(told(*a) == "read 1");
    CHECK(a->more);
    q.bytes_max = 1500;
    CHECK(told(two.reads.changes(q).value()) == "read 1, read 2");
}

TEST_CASE(
    "rule 23: a row told on page 1 and deleted before page 2 is told as gone in the next run") {
    two_tables two;
    const position before = two.now();
    two.file.sql("INSERT INTO t VALUES(10,0),(11,0),(12,0)");
    answer a = ask(two.reads, before, {.rows_max = 1});
    CHECK(told(a) == "insert 10");
    two.file.sql("DELETE FROM t WHERE id IN (10, 11)");
    a = ask(two.reads, again(a), {.rows_max = 1});
    CHECK(told(a) == "delete 11");  // it was there in the run's view, and is gone
    a = ask(two.reads, again(a), {.rows_max = 1});
    CHECK(told(a) == "insert 12");
    CHECK(a.more);  // at rest at the ceiling, but not at the head
    CHECK(at_rest(a.next).at == stamp{at_rest(before).at.n + 3});
    a = ask(two.reads, again(a));
    CHECK(told(a) == "delete 10, delete 11");
    CHECK_FALSE(a.more);
}

TEST_CASE("rule 23: a row told as new and updated before the next page comes as an update then") {
    two_tables two;
    const position before = two.now();
    two.file.sql("INSERT INTO t VALUES(10,0),(11,0)");
    answer a = ask(two.reads, before, {.rows_max = 1});
    CHECK(told(a) == "insert 10");
    two.file.sql("UPDATE t SET v = 1 WHERE id >= 10");
    a = ask(two.reads, again(a), {.rows_max = 1});
    CHECK(told(a) == "insert 11");
    CHECK(row_of(a.changes, 0) == "{\"id\":11,\"v\":1}");
    a = ask(two.reads, again(a));
    CHECK(told(a) == "update 10, update 11");
}

TEST_CASE("rule 23: the run ends although commits come between all of its pages") {
    two_tables two;
    const position before = two.now();
    two.file.sql("INSERT INTO t VALUES(10,0),(11,0),(12,0),(13,0)");
    const stamp ceiling = two.file.head();
    answer a = ask(two.reads, before, {.rows_max = 1});
    int pages = 1;
    for (; std::holds_alternative<page_cursor>(a.next); ++pages) {
        two.file.sql("UPDATE t SET v = v + 1 WHERE id >= 10");
        a = ask(two.reads, again(a), {.rows_max = 1});
        REQUIRE(pages < 10);
    }
    CHECK(pages == 4);
    CHECK(at_rest(a.next).at == ceiling);
    CHECK(a.more);
}

TEST_CASE("rule 23: what changed while a first read was paged comes again after it") {
    two_tables two;
    answer a = ask(two.reads, from_nothing{}, {.rows_max = 1, .tables = {"t"}});
    const stamp ceiling = a.head;
    CHECK(told(a) == "read 1");
    two.file.sql(
        "DELETE FROM t WHERE id = 1; INSERT INTO t VALUES(0, 'new'); UPDATE t SET v = 'u' WHERE id "
        "= 3; INSERT INTO t VALUES(9, 'end')");
    std::string rest;
    while (std::holds_alternative<page_cursor>(a.next)) {
        a = ask(two.reads, again(a), {.rows_max = 1, .tables = {"t"}});
        rest += told(a) + " ";
    }
    CHECK(rest == "read 2 read 3 read 9 ");
    CHECK(at_rest(a.next).at == ceiling);
    CHECK(told(ask(two.reads, again(a), {.tables = {"t"}})) ==
          "delete 1, insert 0, update 3, insert 9");
}

TEST_CASE("at random: pages of any size with a commit between every two lead to the table") {
    std::random_device source;
    const auto seed = source();
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](int n) { return std::to_string(random() % static_cast<unsigned>(n)); };
    owner_file f(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v);"
        "CREATE TABLE s(a TEXT NOT NULL COLLATE NOCASE, b INT NOT NULL, v, PRIMARY KEY(a, b)) "
        "WITHOUT ROWID");
    watch(f, {"t", "s"});
    feed reads = feed_of(f);
    std::vector<std::unique_ptr<replica>> readers;
    for (const int limit : {1, 2, 3, 7, 1000})
        readers.push_back(std::make_unique<replica>(reads, asking{.rows_max = limit}));
    const auto write = [&] {
        const std::string letter(1, "abAB"[random() % 4]);
        switch (random() % 8) {
            case 0:
                f.sql("INSERT OR IGNORE INTO t VALUES(" + pick(20) + "," + pick(20) + ",1)");
                break;
            case 1:
                f.sql("REPLACE INTO t VALUES(" + pick(20) + "," + pick(20) + ",2)");
                break;
            case 2:
                f.sql("UPDATE OR REPLACE t SET u = " + pick(20) +
                      ", v = v + 1 WHERE id = " + pick(20));
                break;
            case 3:
                f.sql("UPDATE OR IGNORE t SET id = " + pick(20) + " WHERE id = " + pick(20));
                break;
            case 4:
                f.sql("DELETE FROM t WHERE id = " + pick(20));
                break;
            case 5:
                f.sql("REPLACE INTO s VALUES('" + letter + "'," + pick(4) + ", random())");
                break;
            case 6:
                f.sql("UPDATE OR REPLACE s SET a = '" + letter + "' WHERE b = " + pick(4));
                break;
            default:
                f.sql("DELETE FROM s WHERE a = '" + letter + "' AND b = " + pick(4));
        }
    };
    for (auto& r : readers) {
        r->between_pages = [&, budget = 400]() mutable {
            if (--budget > 0) write();
        };
    }
    for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < 10; ++i) write();
        for (auto& r : readers) {
            r->follow();
            for (const char* table : {"t", "s"}) {
                if (r->text(table) != r->truth(table))
                    FAIL_CHECK(table << ": " << r->text(table) << "is not\n" << r->truth(table));
            }
        }
    }
    for (auto& r : readers) CHECK(r->resets.empty());
    // Who reads without pages is never told wrongly. Between pages a row is read as it is now, so what comes after the
    // ceiling can be told before its time, and the next run's hint is then about a row that is held already.
    CHECK(readers.back()->wrong_hints == 0);
}

TEST_CASE("reset below_floor: one below the floor is reset, the floor itself goes on") {
    two_tables two;
    const position below = two.now();
    two.file.sql("INSERT INTO t VALUES(4,4)");
    const position floor = two.now();
    two.file.sql("INSERT INTO t VALUES(5,5)");
    raise_floor(two.file, at_rest(floor).at.n);
    const answer a = ask(two.reads, below);
    CHECK(reset_of(a) == "below_floor: t s");
    CHECK(a.reset->floor == at_rest(floor).at);
    CHECK(told(a) == "");
    CHECK_FALSE(a.more);
    CHECK(at_rest(a.next).at == two.file.head());
    CHECK(since(two, floor) == "insert 5");
    CHECK(since(two, stamp{at_rest(below).at}) == "below_floor: t s");
    CHECK(since(two, stamp{at_rest(floor).at}) == "insert 5");
    CHECK(since(two, below, {.tables = {"s"}}) == "below_floor: s");
}

TEST_CASE("reset ahead_of_head: the head is a place, one above it is not") {
    two_tables two;
    const rest_cursor head = at_rest(two.now());
    rest_cursor above = head;
    above.at.n += 1;
    CHECK(since(two, head) == "");
    CHECK(since(two, above) == "ahead_of_head: t s");
    CHECK(since(two, stamp{head.at.n}) == "");
    CHECK(since(two, stamp{head.at.n + 1}) == "ahead_of_head: t s");
    CHECK(since(two, stamp_max) == "ahead_of_head: t s");
}

TEST_CASE("reset restored: another lineage, or another entry at the stamp") {
    two_tables two;
    two.file.sql("INSERT INTO t VALUES(4,4)");
    rest_cursor c = at_rest(two.now());
    CHECK(since(two, c) == "");
    c.digest ^= 1;
    CHECK(since(two, c) == "restored: t s");
    c.digest ^= 1;
    c.lineage ^= 0x80000000;
    CHECK(since(two, c) == "restored: t s");
    // At the floor it is the floor's digest that counts.
    two.file.sql("INSERT INTO t VALUES(5,5)");
    c.lineage ^= 0x80000000;
    raise_floor(two.file, c.at.n);
    CHECK(since(two, c) == "insert 5");
    c.digest ^= 1;
    CHECK(since(two, c) == "restored: t s");
}

TEST_CASE(
    "reset restored: a file put back from a backup and written on is told by the entry's digest") {
    two_tables two;
    backup before(two.file);
    two.file.sql("INSERT INTO t VALUES(4,4),(5,5)");
    const position lost = two.now();
    before.restore();
    CHECK(since(two, lost) == "ahead_of_head: t s");
    two.file.sql("INSERT INTO t VALUES(5,5),(4,4)");  // the same number of entries
    CHECK(since(two, lost) == "restored: t s");
}

TEST_CASE("a place that cannot be read is reset as malformed, and 0 is no place at all") {
    two_tables two;
    CHECK(since(two, from_malformed{}) == "malformed: t s");
    CHECK(since(two, from_malformed{}, {.snapshot = true, .tables = {"s"}}) ==
          "malformed: s truncate, read 1");
    CHECK(since(two, from_nothing{}, {.tables = {"s"}}) == "read 1");
}

TEST_CASE(
    "reset enabled: only the table that was not watched yet; the others' changes stand beside it") {
    two_tables two;
    two.file.sql("CREATE TABLE n(id INTEGER PRIMARY KEY); INSERT INTO n VALUES(7),(8)");
    const position before = two.now();
    two.file.sql("INSERT INTO t VALUES(4,4)");
    watch(two.file, {"n"});
    two.file.sql("INSERT INTO n VALUES(9)");
    CHECK(since(two, before) == "enabled: n insert 4");
    CHECK(since(two, before, {.tables = {"t"}}) == "insert 4");
    CHECK(since(two, before, {.snapshot = true}) ==
          "enabled: n n truncate, n read 7, n read 8, n read 9, t insert 4");
    CHECK(since(two, two.now()) == "");
    // The generation's own entry is the edge.
    const std::int64_t begins =
        two.file.integer("SELECT generation_seq FROM litefeed_tables WHERE name = 'n'");
    CHECK(since(two, stamp{begins - 1}) == "enabled: n");
    CHECK(since(two, stamp{begins}) == "insert 9");
}

TEST_CASE(
    "with snapshot=1 what is reset comes as rows in the same run, page by page, the reset in its "
    "first answer only") {
    two_tables two;
    two.file.sql("INSERT INTO t VALUES(4,4)");
    const position below = stamp{1};
    raise_floor(two.file, 2);
    std::string all;
    int resets = 0;
    position at = below;
    for (bool more = true; more;) {
        const answer a = ask(two.reads, at, {.rows_max = 1, .snapshot = true});
        resets += a.reset.has_value() ? 1 : 0;
        CHECK(a.changes.changes.size() <= 2);  // a truncate may stand before the row
        for (const change& c : a.changes.changes) {
            all += a.changes.tables[c.table] + " " + std::string(to_word(c.op)) +
                   (c.key.size > 0 ? " " + key_values(a.changes.text(c.key)) : "") + ", ";
        }
        more = a.more;
        at = again(a);
    }
    CHECK(all == "t truncate, t read 1, t read 2, t read 3, t read 4, s truncate, s read 1, ");
    CHECK(resets == 1);
}

TEST_CASE("an empty table that starts over is still cleared") {
    owner_file f("CREATE TABLE t(id INTEGER PRIMARY KEY)");
    watch(f, {"t"});
    feed reads = feed_of(f);
    CHECK(told(ask(reads, from_malformed{}, {.snapshot = true})) == "truncate");
    CHECK(told(ask(reads, from_nothing{})) == "");
}

TEST_CASE(
    "a page cursor is checked against its base, its ceiling and the highest head that was read") {
    two_tables two;
    const position base = two.now();
    two.file.sql("INSERT INTO t VALUES(10,0),(11,0),(12,0)");
    const answer first = ask(two.reads, base, {.rows_max = 1});
    const page_cursor page = std::get<page_cursor>(first.next);
    CHECK(page.base == at_rest(base));
    CHECK(page.ceiling == page.highest);
    CHECK(since(two, page, {.rows_max = 1}) == "insert 11");
    for (int part = 0; part < 3; ++part) {
        CAPTURE(part);
        page_cursor changed = page;
        rest_cursor& c = part == 0 ? *changed.base : part == 1 ? changed.ceiling : changed.highest;
        c.digest ^= 1;
        CHECK(since(two, changed) == "restored: t s");
    }
    page_cursor above = page;
    above.highest.at.n += 1;
    CHECK(since(two, above) == "ahead_of_head: t s");
}

TEST_CASE(
    "rule 24: a file put back between two pages is told, also when base and ceiling are still "
    "there") {
    two_tables two;
    const position base = two.now();
    two.file.sql("INSERT INTO t VALUES(10,0),(11,0),(12,0)");
    answer a = ask(two.reads, base, {.rows_max = 1});
    backup early(two.file);
    two.file.sql("UPDATE t SET v = 'later' WHERE id = 11");
    a = ask(two.reads, again(a), {.rows_max = 1});
    CHECK(row_of(a.changes, 0) == "{\"id\":11,\"v\":\"later\"}");
    early.restore();
    CHECK(reset_of(ask(two.reads, again(a), {.rows_max = 1})) == "ahead_of_head: t s");
    // Written on to the same number of entries.
    two.file.sql("UPDATE t SET v = 'other' WHERE id = 1");
    CHECK(reset_of(ask(two.reads, again(a), {.rows_max = 1})) == "restored: t s");
}

TEST_CASE("a floor that rises over a run's base ends the run, over a first read's begin as well") {
    two_tables two;
    const position base = two.now();
    two.file.sql("INSERT INTO t VALUES(10,0),(11,0),(12,0),(13,0)");
    const answer delta_page = ask(two.reads, base, {.rows_max = 1});
    const answer read_page = ask(two.reads, from_nothing{}, {.rows_max = 1});
    two.file.sql("INSERT INTO t VALUES(20,0)");
    raise_floor(two.file, at_rest(base).at.n);
    CHECK(since(two, again(delta_page), {.rows_max = 1}) == "insert 11");
    raise_floor(two.file, at_rest(base).at.n + 1);
    CHECK(since(two, again(delta_page), {.rows_max = 1}) == "below_floor: t s");
    CHECK(since(two, again(read_page), {.rows_max = 1}) == "read 2");
    raise_floor(two.file, two.file.head().n - 1);  // the first read's ceiling itself
    CHECK(since(two, again(read_page), {.rows_max = 1}) == "read 2");
    two.file.sql("INSERT INTO t VALUES(21,0)");
    raise_floor(two.file, two.file.head().n - 1);
    CHECK(since(two, again(read_page), {.rows_max = 1}) == "below_floor: t s");
}

TEST_CASE("a table that begins anew in mid-run starts over when the run has come to rest") {
    two_tables two;
    const position base = two.now();
    two.file.sql("INSERT INTO t VALUES(10,0),(11,0); INSERT INTO s VALUES(2)");
    replica reader(two.reads, {.rows_max = 1});
    reader.at = base;
    bool once = true;
    reader.between_pages = [&] {
        if (!std::exchange(once, false)) return;
        two.file.sql("ALTER TABLE t ADD COLUMN w DEFAULT 7");
        REQUIRE(keeper_of(two.file).repair().has_value());
    };
    reader.follow();
    CHECK(reader.text("t") == reader.truth("t"));
    REQUIRE_FALSE(reader.resets.empty());
    CHECK(reader.resets.back() == "schema_changed: t");
}

TEST_CASE("a key that changes in the middle of a first read starts the table over") {
    owner_file f(
        "CREATE TABLE t(a TEXT NOT NULL PRIMARY KEY, b INT NOT NULL); INSERT INTO t "
        "VALUES('x',1),('y',2),('z',3)");
    watch(f, {"t"});
    feed reads = feed_of(f);
    replica reader(reads, {.rows_max = 1});
    int page = 0;
    reader.between_pages = [&] {
        if (++page != 1) return;
        f.sql(
            "BEGIN; CREATE TABLE n(a TEXT NOT NULL, b INT NOT NULL, PRIMARY KEY(b, a)); INSERT "
            "INTO n SELECT * FROM t; DROP TABLE t;"
            "ALTER TABLE n RENAME TO t; COMMIT");
        REQUIRE(keeper_of(f).repair().has_value());
    };
    reader.follow();
    CHECK(reader.text("t") == reader.truth("t"));
}

TEST_CASE("a first read goes on behind its row for every kind of key, whatever the page size") {
    const std::string x(300, 'x');
    const std::vector<std::pair<std::string, std::string>> kinds{
        {"integer",
         "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t "
         "VALUES(-9223372036854775808,1),(0,2),(9223372036854775807,3),(7,4)"},
        {"no key", "CREATE TABLE t(v); INSERT INTO t VALUES(1),(2),(3),(4)"},
        {"every class",
         "CREATE TABLE t(id PRIMARY KEY NOT NULL); INSERT INTO t "
         "VALUES(1),(1.5),('1'),(x'31'),(''),(x''),(-9e999),(9e999),(-0.0)"},
        {"nocase",
         "CREATE TABLE t(id TEXT NOT NULL COLLATE NOCASE PRIMARY KEY); INSERT INTO t "
         "VALUES('a'),('B'),('c'),('D'),('é'),('É')"},
        {"rtrim",
         "CREATE TABLE t(id TEXT NOT NULL COLLATE RTRIM PRIMARY KEY); INSERT INTO t VALUES('a  "
         "'),('b'),('c ')"},
        {"desc",
         "CREATE TABLE t(a NOT NULL, b NOT NULL, PRIMARY KEY(a DESC, b)) WITHOUT ROWID; INSERT "
         "INTO t VALUES(1,1),(1,2),(2,1),(2,2)"},
        {"long text", "CREATE TABLE t(id TEXT NOT NULL PRIMARY KEY); INSERT INTO t VALUES('" + x +
                          "a'),('" + x + "b'),('" + x + "'),('" + x + "c" + x + "1'),('" + x + "c" +
                          x + "2'),('z')"},
        {"long text, nocase",
         "CREATE TABLE t(id TEXT NOT NULL COLLATE NOCASE PRIMARY KEY); INSERT INTO t VALUES('" + x +
             "a'),('X" + x + "b'),('x" + x + "C'),('" + x + "')"},
        {"long blob", "CREATE TABLE t(id BLOB NOT NULL PRIMARY KEY); INSERT INTO t SELECT CAST('" +
                          x + "' || value AS BLOB) FROM json_each('[1,2,3,22]')"},
        {"long composite",
         "CREATE TABLE t(a TEXT NOT NULL, b BLOB NOT NULL, c INT NOT NULL, PRIMARY KEY(a, b, c)); "
         "INSERT INTO t SELECT '" +
             x + "', CAST('" + x +
             "' AS BLOB), value FROM json_each('[1,2,3,4,5]'); INSERT INTO t "
             "VALUES('a','b',1),('z','b',1)"},
        {"long second part",
         "CREATE TABLE t(a INT NOT NULL, b TEXT NOT NULL, PRIMARY KEY(a, b)) WITHOUT ROWID; INSERT "
         "INTO t SELECT value % 2, '" +
             x + "' || value FROM json_each('[1,2,3,4,5]')"},
        {"long and not ASCII",
         "CREATE TABLE t(id TEXT NOT NULL PRIMARY KEY); INSERT INTO t SELECT replace('" + x +
             "', 'x', 'ü€😀') || value FROM json_each('[1,2,3,4]')"},
        {"long, UTF-16",
         "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(id TEXT NOT NULL PRIMARY KEY); INSERT INTO "
         "t SELECT replace('" +
             x +
             "', 'x', 'aü€😀') || value FROM json_each('[1,2,3,4]'); INSERT INTO t VALUES('b'),('" +
             x + "')"},
    };
    for (const auto& [what, sql] : kinds) {
        CAPTURE(what);
        owner_file f(sql);
        watch(f, {"t"});
        feed reads = feed_of(f);
        const auto whole = rows_of(reads, "t");
        CHECK(static_cast<std::int64_t>(whole.size()) == f.integer("SELECT count(*) FROM t"));
        for (const int limit : {1, 2, 3}) {
            CAPTURE(limit);
            CHECK((rows_of(reads, "t", limit) == whole));
            std::size_t told_rows = 0;
            position at = from_nothing{};
            for (bool more = true; more;) {
                const answer a = ask(reads, at, {.rows_max = limit});
                told_rows += a.changes.changes.size();
                CHECK(a.cursor().size() <= cursor_text_max);
                more = a.more;
                at = again(a);
            }
            CHECK(told_rows == whole.size());
        }
    }
}

/// Five rows whose keys share 300 characters, the number at the end tells them apart.
constexpr const char* five_long_keys =
    "CREATE TABLE t(id TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID; INSERT INTO t SELECT "
    "printf('%.300c', 'x') || value FROM json_each('[1,2,3,4,5]')";

/// Which of them are told.
std::string numbers_of(const delta& d) {
    std::string out;
    for (const change& c : d.changes) {
        const std::string_view key = d.text(c.key);
        out += key.at(key.size() - 3);
    }
    return out;
}

TEST_CASE("a first read goes on behind a long key whose row is gone") {
    owner_file f(five_long_keys);
    watch(f, {"t"});
    feed reads = feed_of(f);
    answer a = ask(reads, from_nothing{}, {.rows_max = 2});
    CHECK(numbers_of(a.changes) == "12");
    rows_question rows = all_rows("t", 2);
    rows.after = reads.rows(rows).value().next.value();
    f.sql(
        "INSERT INTO t VALUES('a'); DELETE FROM t WHERE id GLOB '*[12]'; DELETE FROM t WHERE id = "
        "'a'");
    CHECK(numbers_of(reads.rows(rows).value().rows) == "34");
    a = ask(reads, again(a), {.rows_max = 1});
    CHECK(numbers_of(a.changes) == "3");
    f.sql("UPDATE t SET id = substr(id, 1, 300) || '9' WHERE id GLOB '*3'");
    a = ask(reads, again(a));
    CHECK(numbers_of(a.changes) == "459");
}

TEST_CASE(
    "a first read behind a long key that the log has forgotten too begins at its prefix, and loses "
    "nothing") {
    owner_file f(five_long_keys);
    watch(f, {"t"});
    feed reads = feed_of(f);
    const answer a = ask(reads, from_nothing{}, {.rows_max = 2});
    f.sql("DELETE FROM t WHERE id GLOB '*2'; DELETE FROM litefeed_log WHERE op = 'd'");
    CHECK(numbers_of(ask(reads, again(a)).changes) == "1345");
}

TEST_CASE(
    "a read that would look at more than is allowed is too long, a bound that suffices is none") {
    two_tables two;
    const position before = two.now();
    two.file.sql("UPDATE t SET v = 1; UPDATE t SET v = 2");  // six entries of three rows
    question q;
    q.from = before;
    q.want.tables = {"t"};
    q.effort_max = 5;
    CHECK(two.reads.changes(q).error() == make_error_code(errc::too_long));
    q.effort_max = 6;
    CHECK(two.reads.changes(q).has_value());
    q.from = from_nothing{};
    q.effort_max = 2;
    CHECK(two.reads.changes(q).error() == make_error_code(errc::too_long));
    q.effort_max = 3;
    CHECK(two.reads.changes(q).has_value());
    rows_question r;
    r.table = "t";
    r.effort_max = 2;
    CHECK(two.reads.rows(r).error() == make_error_code(errc::too_long));
    r.effort_max = 3;
    CHECK(two.reads.rows(r).has_value());
}

TEST_CASE("two feeds answer one place with the same bytes") {
    two_tables two;
    feed other = feed_of(two.file);
    const position before = two.now();
    two.file.sql("UPDATE t SET v = id; INSERT INTO s VALUES(5)");
    for (const position& from : {before, position{from_nothing{}}, position{from_malformed{}}}) {
        position a = from, b = from;
        for (int i = 0; i < 4; ++i) {
            const answer x = ask(two.reads, a, {.rows_max = 1}), y = ask(other, b, {.rows_max = 1});
            CHECK(x.cursor() == y.cursor());
            CHECK(x.changes.bytes == y.changes.bytes);
            CHECK(told(x) == told(y));
            a = again(x);
            b = again(y);
        }
    }
}

TEST_CASE("rows come in key order, with the first page's cursor on all of them") {
    two_tables two;
    rows_question q;
    q.table = "T";
    q.rows_max = 2;
    const rows_page first = two.reads.rows(q).value();
    CHECK(told(first.rows) == "read 1, read 2");
    CHECK(first.cursor == ask(two.reads, from_now{}).cursor());
    REQUIRE(first.next.has_value());
    two.file.sql("INSERT INTO t VALUES(9, 9); DELETE FROM t WHERE id = 1");
    q.after = *first.next;
    const rows_page second = two.reads.rows(q).value();
    CHECK(told(second.rows) == "read 3, read 9");
    CHECK(second.cursor == first.cursor);
    CHECK(second.head == two.file.head());
    if (second.next) {
        q.after = *second.next;
        CHECK(told(two.reads.rows(q).value().rows) == "");
    }
    // Going on from that cursor tells what the pages could not.
    CHECK(told(ask(two.reads, parse_position(first.cursor).value())) == "insert 9, delete 1");
}

TEST_CASE(
    "a page of rows is gone when the file was put back or the table began anew, and a cursor is no "
    "page") {
    two_tables two;
    rows_question q;
    q.table = "t";
    q.rows_max = 1;
    backup before(two.file);
    two.file.sql("INSERT INTO t VALUES(4,4)");
    q.after = two.reads.rows(q).value().next.value();
    CHECK(two.reads.rows(q).has_value());
    rows_question other = q;
    other.table = "s";
    CHECK(two.reads.rows(other).error() == make_error_code(errc::malformed_cursor));
    other.table = "nothing";
    CHECK(two.reads.rows(other).error() == make_error_code(errc::unknown_table));
    for (const std::string& bad :
         {std::string("x"), std::string("5"), ask(two.reads, from_now{}).cursor(),
          ask(two.reads, stamp{1}, {.rows_max = 1}).cursor()}) {
        rows_question r = q;
        r.after = bad;
        CHECK(two.reads.rows(r).error() == make_error_code(errc::malformed_cursor));
    }
    before.restore();
    CHECK(two.reads.rows(q).error() == make_error_code(errc::page_gone));
    q.after = two.reads.rows(all_rows("t", 1)).value().next.value();
    two.file.sql("ALTER TABLE t ADD COLUMN w");
    REQUIRE(keeper_of(two.file).repair().has_value());
    CHECK(two.reads.rows(q).error() == make_error_code(errc::page_gone));
}

TEST_CASE("rows of a version that is known are not read") {
    two_tables two;
    rows_question q;
    q.table = "t";
    const rows_page page = two.reads.rows(q).value();
    CHECK(page.version == two.reads.version().value());
    CHECK(page.version.find_first_not_of("0123456789abcdef.") == std::string::npos);
    q.known_version = page.version;
    CHECK(two.reads.rows(q).value().unchanged);
    CHECK(two.reads.rows(q).value().rows.changes.empty());
    two.file.sql("UPDATE s SET id = 3");
    CHECK_FALSE(two.reads.rows(q).value().unchanged);
    CHECK(two.reads.rows(q).value().rows.changes.size() == 3);
}

TEST_SUITE_END();
