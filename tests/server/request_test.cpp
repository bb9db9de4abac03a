#include "server/request.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace litefeed::server;

namespace {

request_read whole(std::string_view bytes) {
    const auto step = read_request(bytes);
    REQUIRE(std::holds_alternative<request_read>(step));
    return std::get<request_read>(step);
}

problem_kind refusal(std::string_view bytes) {
    const auto step = read_request(bytes);
    REQUIRE(std::holds_alternative<problem>(step));
    return std::get<problem>(step).kind;
}

}  // namespace

TEST_SUITE_BEGIN("server/request");

TEST_CASE("a header is read whole or not at all, and what follows is left") {
    const std::string text =
        "GET /changes?since=0 HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 41\r\n\r\n";
    for (std::size_t n = 0; n < text.size(); ++n)
        CHECK(std::holds_alternative<need_more>(read_request(text.substr(0, n))));
    const auto read = whole(text + "GET / HTTP/1.1\r\n");
    CHECK(read.bytes == text.size());
    CHECK(read.request.method == method::get);
    CHECK(read.request.target == "/changes?since=0");
    CHECK(read.request.host == "x");
    CHECK(read.request.last_event_id == "41");
    CHECK(read.request.keep_alive);
    CHECK_FALSE(read.request.has_body);
}

TEST_CASE("names of fields are read in any case, values without the blanks around them") {
    CHECK(
        whole("GET / HTTP/1.1\r\nhost: x\r\nLAST-event-id:  7-a \r\n\r\n").request.last_event_id ==
        "7-a");
    CHECK(whole("GET / HTTP/1.1\r\nhost: x\r\nLast-Event-ID:\r\n\r\n").request.last_event_id == "");
    CHECK_FALSE(whole("GET / HTTP/1.1\r\nhost: x\r\n\r\n").request.last_event_id);
}

TEST_CASE("Hosts are counted") {
    CHECK(whole("GET / HTTP/1.1\r\n\r\n").request.hosts == 0);
    CHECK(whole("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").request.hosts == 2);
}

TEST_CASE("HTTP/1.0 closes unless it asks otherwise; HTTP/1.1 the other way round") {
    CHECK_FALSE(whole("GET / HTTP/1.0\r\n\r\n").request.keep_alive);
    CHECK(whole("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").request.keep_alive);
    CHECK_FALSE(whole("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").request.keep_alive);
}

TEST_CASE("a body is seen in the header") {
    CHECK(whole("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc").request.has_body);
    CHECK(
        whole("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").request.has_body);
    CHECK(whole("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, \tChunked \r\n\r\n").request.has_body);
    CHECK(whole("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
              .request.has_body);
    CHECK_FALSE(whole("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").request.has_body);
}

TEST_CASE("what two readers could read differently is refused") {
    for (const auto* text : {
             "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1x\r\n\r\n",
             "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\xa1\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked chunked\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: x\r\n\r\n",
             "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\n y\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n\tTransfer-Encoding: chunked\r\n\r\n",
             "GET / HTTP/1.1\r\n Host: x\r\n\r\n",
             "GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
             "GET /\r\nHost: x\r\n\r\n",
             "GET / HTTP/1.1\nHost: x\n\n",
             "\x16\x03\x01\x02",
         })
        CHECK_MESSAGE(refusal(text) == problem_kind::bad_request, text);
}

TEST_CASE("another version is told so") {
    CHECK(refusal("GET / HTTP/2.0\r\n\r\n") == problem_kind::version_not_supported);
}

TEST_CASE("limits are told before the header ends") {
    const request_limits limits{};
    const std::string target(limits.target_bytes_max + 64, 'a');
    CHECK(refusal("GET /" + target) == problem_kind::target_too_long);
    const std::string one_more(limits.target_bytes_max, 'a');
    CHECK(refusal("GET /" + one_more + " HTTP/1.1\r\nHost: x\r\n\r\n") ==
          problem_kind::target_too_long);
    const std::string field(limits.header_bytes_max, 'a');
    CHECK(refusal("GET / HTTP/1.1\r\nX: " + field) == problem_kind::header_too_large);
    const std::string fits(limits.target_bytes_max - 1, 'a');
    CHECK(whole("GET /" + fits + " HTTP/1.1\r\nHost: x\r\n\r\n").request.target.size() ==
          fits.size() + 1);
}

TEST_CASE("however the bytes are cut, the outcome is the same") {
    const request_limits limits{.target_bytes_max = 32, .header_bytes_max = 128};
    const std::string end = "\r\n\r\n";
    for (const std::string& text : {"GET /" + std::string(60, 'a') + "\x01 HTTP/1.1" + end,
                                    "\x01" + std::string(60, 'a') + end,
                                    "GET / HTTP/1.1\r\nX: " + std::string(150, 'a') + "\n\n" + end,
                                    "GET / HTTP/1.1\r\nX: a\n\n" + std::string(150, 'a') + end}) {
        CAPTURE(text);
        const auto whole = std::get<problem>(read_request(text, limits)).kind;
        for (std::size_t n = 0; n < text.size(); ++n) {
            const auto step = read_request(text.substr(0, n), limits);
            if (const auto* p = std::get_if<problem>(&step)) CHECK(p->kind == whole);
        }
    }
}

TEST_CASE("an empty line before the request is skipped and counted") {
    CHECK(whole("\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n").bytes == 29);
}

TEST_SUITE_END();
