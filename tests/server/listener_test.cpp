#include "server/listener.hpp"

#include <doctest/doctest.h>

#include "core/errc.hpp"

using namespace litefeed;
using namespace litefeed::server;

TEST_SUITE_BEGIN("server/listener");

TEST_CASE("an address to listen on is a host and a port") {
    CHECK(parse_listen("127.0.0.1:7070") == listen_address{"127.0.0.1", 7070});
    CHECK(parse_listen("localhost:0") == listen_address{"localhost", 0});
    CHECK(parse_listen("[::1]:65535") == listen_address{"::1", 65535});
    CHECK(parse_listen("7071") == listen_address{"127.0.0.1", 7071});
}

TEST_CASE("what is none is refused with an example") {
    for (const auto* text : {"", "localhost", "localhost:", "a:65536", "a:x", ":7070", "::1:7070"})
        CHECK_THROWS_AS((void)parse_listen(text), cannot);
}

TEST_CASE("beyond loopback somebody must have said so") {
    CHECK_THROWS_AS((void)open_listeners("0.0.0.0:0", 1, false), cannot);
    CHECK_NOTHROW((void)open_listeners("0.0.0.0:0", 1, true));
}

TEST_CASE("loops share a port that nobody else can take") {
    const auto first = open_listeners("127.0.0.1:0", 3, false);
    REQUIRE(first.size() == 3);
    const auto& url = first[0][0].url();
    for (const auto& own : first) CHECK(own[0].url() == url);
    const auto where = url.substr(std::string("http://").size());
    CHECK_THROWS_AS((void)open_listeners(where, 1, false), cannot);
    CHECK_THROWS_AS((void)open_listeners(where, 2, false), cannot);
}

TEST_SUITE_END();
