#include "server/host.hpp"

#include <doctest/doctest.h>

#include "server/router.hpp"

using namespace litefeed::server;

TEST_SUITE_BEGIN("server/host");

TEST_CASE("loopback names and addresses are allowed with any port") {
    for (const auto* host : {"localhost", "LOCALHOST:8080", "localhost.", "app.localhost:1",
                             "127.0.0.1", "127.0.0.1:8080", "127.255.0.3", "[::1]", "[::1]:8080",
                             "[0:0::1]", "[0:0:0:0:0:0:0:1]:80"})
        CHECK_MESSAGE(host_allowed(host, {}), host);
}

TEST_CASE("a rebound name is not") {
    for (const auto* host :
         {"evil.example", "evil.example:7070", "localhost.evil.example", "127.0.0.1.evil.example",
          "128.0.0.1", "127.0.0", "127.0.0.1.1", "127.0.0.256", "127.0.0.01", "192.168.1.5",
          "[::2]", "0.0.0.0", "notlocalhost", ""})
        CHECK_FALSE_MESSAGE(host_allowed(host, {}), host);
}

TEST_CASE("a name that was allowed is allowed in any case and with any port") {
    const std::vector<std::string> allowed{"Feed.Example"};
    CHECK(host_allowed("feed.example", allowed));
    CHECK(host_allowed("FEED.example:443", allowed));
    CHECK_FALSE(host_allowed("sub.feed.example", allowed));
}

TEST_CASE("what is no host is none") {
    for (const auto* host : {"a b", "a/b", "user@localhost", "localhost:x", "localhost:70700",
                             "[::1", "[::1]x", ":80", "a\x7f"})
        CHECK_FALSE_MESSAGE(host_name(host), host);
}

TEST_CASE("HTTP/1.1 needs one Host, HTTP/1.0 may leave it out, nobody sends two") {
    request r;
    CHECK(check_request(r, {}, {})->kind == problem_kind::bad_host);
    r.version = 10;
    CHECK_FALSE(check_request(r, {}, {}));
    r.version = 11;
    r.hosts = 1;
    r.host = "localhost";
    CHECK_FALSE(check_request(r, {}, {}));
    r.hosts = 2;
    CHECK(check_request(r, {}, {})->kind == problem_kind::bad_host);
}

TEST_CASE("nobody sends two Authorizations") {
    request r;
    r.hosts = 1;
    r.host = "localhost";
    r.authorizations = 2;
    CHECK(check_request(r, {}, {})->kind == problem_kind::bad_request);
    r.authorizations = 1;
    CHECK_FALSE(check_request(r, {}, {}));
}

TEST_CASE("the authority of an absolute target is checked as the Host is") {
    request r;
    r.hosts = 1;
    r.host = "localhost";
    target t;
    t.authority = "evil.example";
    CHECK(check_request(r, t, {})->kind == problem_kind::host_not_allowed);
    t.authority = "127.0.0.1:7070";
    CHECK_FALSE(check_request(r, t, {}));
}

TEST_CASE("the refusal names the option that would help") {
    request r;
    r.hosts = 1;
    r.host = "evil.example";
    const auto p = check_request(r, {}, {});
    CHECK(p->kind == problem_kind::host_not_allowed);
    CHECK(p->detail.find("--allow-host") != std::string::npos);
}

TEST_SUITE_END();
