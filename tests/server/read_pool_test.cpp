#include "server/read_pool.hpp"

#include <doctest/doctest.h>

#include <future>

#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::server;
using namespace litefeed::test;

namespace {

const auto now = std::chrono::steady_clock::now;
using std::chrono::seconds;

/// A pool of one thread, and a log that takes a while to read.
struct long_read {
    long_read() {
        watch(file, {"t"});
        file.sql(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) "
            "INSERT INTO litefeed_log(table_id, op, at_ms, key) SELECT 1, 'u', 0, i FROM n");
    }
    std::future<result<answer>> ask() {
        auto told = std::make_shared<std::promise<result<answer>>>();
        auto out = told->get_future();
        pool.submit([this, told](source& from) {
            begun.set_value();
            told->set_value(from.call([](feed& f) { return f.changes(question_from(stamp{1})); }));
        });
        return out;
    }

    owner_file file{"CREATE TABLE t(id INTEGER PRIMARY KEY)"};
    std::promise<void> begun;
    read_pool pool{file.path(), {.serving = true}, nullptr, 1};
};

}  // namespace

TEST_SUITE_BEGIN("server/read_pool");

TEST_CASE("what is read when the time is over is busy, and the end does not wait for it") {
    long_read with;
    auto told = with.ask();
    with.begun.get_future().wait();
    with.pool.stop(now());
    REQUIRE(told.wait_for(seconds(0)) == std::future_status::ready);
    CHECK(told.get().error() == make_error_code(errc::busy));
    CHECK(with.pool.stopped());
}

TEST_CASE("what is asked before the end is answered while there is time, and the end comes then") {
    long_read with;
    auto told = with.ask();
    const auto began = now();
    with.pool.stop(began + seconds(60));
    CHECK(now() - began < seconds(30));
    REQUIRE(told.wait_for(seconds(0)) == std::future_status::ready);
    CHECK(told.get().has_value());
}

TEST_SUITE_END();
