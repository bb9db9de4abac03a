#include "server/router.hpp"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <fstream>

#include "tests/core/owner_file.hpp"

using namespace litefeed;
using namespace litefeed::server;
using namespace litefeed::test;

namespace {

/// A loop without sockets, which is asked one request and ends.
class asked_loop {
  public:
    asked_loop(const owner_file& file, token_file* tokens) : pool_(file.path(), {}, nullptr, 1) {
        options_.database = file.path();
        shared_.options = &options_;
        shared_.pool = &pool_;
        shared_.tokens = tokens;
    }
    reply ask(const std::string& header) {
        const auto read = std::get<request_read>(read_request(header));
        reply out;
        loop of(shared_, {.serving = true});
        asio::co_spawn(of.on(), answer_request(&of, &read.request, -1, false),
                       [&](const std::exception_ptr& failed, reply r) {
                           CHECK(failed == nullptr);
                           out = std::move(r);
                           of.stop();
                       });
        of.run();
        return out;
    }

  private:
    server_options options_;
    read_pool pool_;
    shared_parts shared_;
};

std::string get(const std::string& target, const std::string& more = {}) {
    return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n";
}

}  // namespace

TEST_SUITE_BEGIN("server/router");

TEST_CASE("a stream carries the token that it was let in by") {
    const owner_file file;
    const auto path = file.path() + ".tokens";
    std::ofstream(path) << "read aaaaaaaaaaaaaaaa\nread bbbbbbbbbbbbbbbb\n";
    token_file tokens(path);
    const auto known = tokens.look();
    asked_loop server(file, &tokens);
    for (const auto& t : *known) {
        const auto out = server.ask(get("/events", "Authorization: Bearer " + t.text + "\r\n"));
        REQUIRE(std::holds_alternative<stream_opening>(out));
        CHECK(std::get<stream_opening>(out).token_id == t.id);
    }
    CHECK(known->at(0).id != known->at(1).id);
    for (const auto* without : {"", "Authorization: Bearer cccccccccccccccc\r\n"})
        CHECK(std::get<response>(server.ask(get("/events", without))).status == 401);
}

TEST_CASE("where no token is needed a stream carries none") {
    const owner_file file;
    asked_loop server(file, nullptr);
    const auto out = server.ask(get("/events"));
    REQUIRE(std::holds_alternative<stream_opening>(out));
    CHECK(std::get<stream_opening>(out).token_id == 0);
}

TEST_SUITE_END();
