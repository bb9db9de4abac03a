#include "server/response.hpp"

#include <doctest/doctest.h>

using namespace litefeed::server;

namespace {

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE_BEGIN("server/response");

TEST_CASE("the connection field says what will happen") {
    response r;
    request to;
    to.keep_alive = true;
    CHECK_FALSE(has(head_of(r, to, "now"), "Connection"));
    to.version = 10;
    CHECK(has(head_of(r, to, "now"), "Connection: keep-alive\r\n"));
    to.keep_alive = false;
    CHECK(has(head_of(r, to, "now"), "Connection: close\r\n"));
    to.keep_alive = true;
    r.close = true;
    CHECK(has(head_of(r, to, "now"), "Connection: close\r\n"));
}

TEST_CASE("304 has no length, everything else has one") {
    response r;
    r.body = "abc";
    CHECK(has(head_of(r, {}, "now"), "Content-Length: 3\r\n"));
    r.status = 304;
    CHECK_FALSE(has(head_of(r, {}, "now"), "Content-Length"));
}

TEST_CASE("a problem that passes says when to come again") {
    const auto r = to_response(
        {.kind = problem_kind::busy, .detail = "x", .retry_after = std::chrono::seconds(1)});
    CHECK(r.status == 503);
    CHECK(r.content_type == "application/problem+json");
    CHECK(has(r.fields, "Retry-After: 1\r\n"));
}

TEST_CASE("a problem names the parameter, whatever the client called it") {
    const auto body = to_json(
        {.kind = problem_kind::unknown_parameter, .detail = "No.", .parameter = "a\"\r\n\xff"});
    CHECK(has(body, R"("type":"/problems/unknown-parameter")"));
    CHECK(has(body, R"("status":400)"));
    CHECK(has(body, "\"parameter\":\"a\\\"\\r\\n\xef\xbf\xbd\""));
}

TEST_CASE("an allowed origin is named exactly, others get nothing but Vary") {
    request r;
    r.method = method::get;
    r.origin = "https://a.example";
    const std::vector<std::string> origins{"https://a.example"};
    CHECK(has(cors_fields(r, origins), "Access-Control-Allow-Origin: https://a.example\r\n"));
    CHECK(has(cors_fields(r, origins), "Access-Control-Allow-Credentials: true\r\n"));
    CHECK(has(cors_fields(r, origins), "Vary: Origin\r\n"));
    r.origin = "https://b.example";
    CHECK(cors_fields(r, origins) == "Vary: Origin\r\n");
    CHECK(cors_fields(r, {}).empty());
}

TEST_CASE("a preflight echoes the names it asked for, unless they are no names") {
    request r;
    r.method = method::options;
    r.origin = "https://a.example";
    r.asked_method = "GET";
    r.asked_headers = "last-event-id,cache-control";
    const std::vector<std::string> origins{"https://a.example"};
    CHECK(has(cors_fields(r, origins),
              "Access-Control-Allow-Headers: last-event-id,cache-control\r\n"));
    CHECK(has(cors_fields(r, origins), "Access-Control-Max-Age: 600\r\n"));
    r.asked_headers = "a: b";
    CHECK_FALSE(has(cors_fields(r, origins), "Allow-Headers"));
}

TEST_CASE("Accept is read by its own media type and quality") {
    constexpr auto type = "application/x-ndjson";
    CHECK(accepts("application/x-ndjson", type));
    CHECK(accepts("text/html, Application/X-NDJSON;q=0.5", type));
    CHECK_FALSE(accepts("application/x-ndjson;q=0", type));
    CHECK_FALSE(accepts("application/x-ndjson; q=0.000", type));
    CHECK_FALSE(accepts("*/*", type));
    CHECK_FALSE(accepts("", type));
}

TEST_SUITE_END();
