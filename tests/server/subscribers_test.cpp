#include "server/subscribers.hpp"

#include <doctest/doctest.h>

#include <future>
#include <string>

#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::server;
using namespace litefeed::test;

namespace {

/// The other end of a stream, which reads what is there.
class client {
  public:
    std::string read() {
        std::string out;
        char some[4096];
        error_code failed;
        while (const auto n = socket.read_some(asio::buffer(some), failed)) out.append(some, n);
        ended = failed != asio::error::would_block;
        return out;
    }
    bool ended = false;

  private:
    asio::io_context io_;

  public:
    tcp_socket socket{io_};
};

/// A loop's part for streams, driven by hand.
struct streams_of {
    explicit streams_of(const owner_file& file)
        : own(file.path(), options),
          pool(file.path(), options, nullptr, 1),
          from(io.get_executor(), own, pool, nullptr),
          set(from, stats) {
        look();
    }
    sight look() {
        const auto seen = own.call([](feed& f) { return f.look(); });
        REQUIRE(seen.has_value());
        if (seen->ask_again) set.distrust();
        set.ring();
        return *seen;
    }
    void wait_for_pool() {
        std::promise<void> done;
        pool.submit([&](source&) { done.set_value(); });
        done.get_future().wait();
    }
    void join(client& with, const std::string& cursor) {
        tcp_acceptor acceptor(io.get_executor(), {asio::ip::address_v4::loopback(), 0});
        with.socket.connect(acceptor.local_endpoint());
        with.socket.non_blocking(true);
        events_request want;
        want.start = {parse_position(cursor).value(), cursor};
        set.join(acceptor.accept(), want, false, "HTTP/1.1 200 OK\r\n", 0);
    }

    const feed_options options{.serving = true};
    asio::io_context io;
    source own;
    read_pool pool;
    reads from;
    loop_stats stats;
    subscribers set;
};

void copy_into(sqlite3* to, sqlite3* from) {
    auto* copying = sqlite3_backup_init(to, "main", from, "main");
    REQUIRE(copying != nullptr);
    CHECK(sqlite3_backup_step(copying, -1) == SQLITE_DONE);
    CHECK(sqlite3_backup_finish(copying) == SQLITE_OK);
}

std::string cursor_of(const owner_file& file) {
    feed f = feed_of(file);
    return ask(f, from_now{}).cursor();
}

}  // namespace

TEST_SUITE_BEGIN("server/subscribers");

TEST_CASE("a file that is restored while the pool reads is a reset, not silence") {
    const owner_file file("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 0)");
    watch(file, {"t"});
    const auto before = cursor_of(file);
    const owner_file backup;
    copy_into(backup.get(), file.get());
    // More entries than a loop looks at itself.
    for (int i = 0; i < 30; ++i)
        file.sql(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
            "INSERT INTO t(v) SELECT i FROM n; DELETE FROM t WHERE id > 1");

    streams_of server(file);
    client reader;
    server.join(reader, before);
    CHECK(contains(reader.read(), "event: cursor"));
    server.wait_for_pool();
    copy_into(file.get(), backup.get());
    CHECK(server.look().ask_again);
    server.io.poll();
    CHECK(contains(reader.read(), "\"reset\":{\"reason\":\"ahead_of_head\""));
}

TEST_CASE("streams end with the loop, however it ends") {
    const owner_file file("CREATE TABLE t(id INTEGER PRIMARY KEY)");
    watch(file, {"t"});
    client reader;
    {
        streams_of server(file);
        server.join(reader, cursor_of(file));
        server.io.poll();
        CHECK(contains(reader.read(), "event: cursor"));
        CHECK_FALSE(reader.ended);
    }
    reader.read();
    CHECK(reader.ended);
}

TEST_SUITE_END();
