#include "server/access.hpp"

#include <doctest/doctest.h>

using namespace litefeed::server;

namespace {

const std::string secret = "0123456789abcdef+/==";

token_list tokens() { return *parse_tokens("read " + secret); }

request asking(const std::string& fields) {
    const auto step = read_request("GET / HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n");
    REQUIRE(std::holds_alternative<request_read>(step));
    return std::get<request_read>(step).request;
}

std::optional<response> visit(const request& asked, std::string_view where) {
    return answer_visit(asked, *parse_target(where), tokens());
}

}  // namespace

TEST_SUITE_BEGIN("server/access");

TEST_CASE("the scheme is Bearer in any case, and what follows is the token") {
    CHECK(bearer_token("Bearer abc") == "abc");
    CHECK(bearer_token("bEARER  abc== ") == "abc==");
    CHECK(bearer_token("Bearer") == "");
    CHECK(bearer_token("Bearer a b") == "a b");
    for (const auto* other : {"", "Basic abc", "Bearerabc", "abc", " Bearer abc"})
        CHECK_FALSE_MESSAGE(bearer_token(other), other);
}

TEST_CASE("the first cookie of our name counts, as frameworks write it") {
    CHECK(cookie_token("litefeed_token=abc") == "abc");
    CHECK(cookie_token("a=b; litefeed_token=abc=; c") == "abc=");
    CHECK(cookie_token("litefeed_token=\"abc/=\"") == "abc/=");
    CHECK(cookie_token("litefeed_token=abc%2F%3D") == "abc/=");
    CHECK(cookie_token("litefeed_token=a; litefeed_token=b") == "a");
    CHECK(cookie_token("litefeed_token=%zz") == "");
    CHECK(cookie_token("litefeed_token=") == "");
    for (const auto* other : {"", ";", "a=b", "litefeed_token", "Litefeed_Token=a",
                              "x_litefeed_token=a", "a=litefeed_token=b"})
        CHECK_FALSE_MESSAGE(cookie_token(other), other);
}

TEST_CASE(
    "Authorization counts before the cookie, wherever it stands; another scheme is not ours") {
    CHECK(asking("Cookie: litefeed_token=c\r\nAuthorization: Bearer a\r\n").token == "a");
    CHECK(asking("Authorization: Bearer a\r\nCookie: litefeed_token=c\r\n").token == "a");
    CHECK(asking("Authorization: Basic a\r\nCookie: litefeed_token=c\r\n").token == "c");
    CHECK(asking("Cookie: a=b\r\nCookie: litefeed_token=c\r\n").token == "c");
    CHECK_FALSE(asking("Cookie: a=b\r\n").token);
    CHECK(asking("Authorization: x\r\nAuthorization: y\r\n").authorizations == 2);
}

TEST_CASE("who brings none is told that one is needed, who brings a wrong one that it is wrong") {
    const auto list = tokens();
    CHECK(holder_of(asking(""), list).error().kind == problem_kind::token_required);
    CHECK(holder_of(asking("Authorization: Basic " + secret + "\r\n"), list).error().kind ==
          problem_kind::token_required);
    for (const auto* given : {"Bearer", "Bearer x",
                              "Bearer 0123456789abcdef+/=="
                              "="})
        CHECK(
            holder_of(asking("Authorization: " + std::string(given) + "\r\n"), list).error().kind ==
            problem_kind::invalid_token);
    CHECK(*holder_of(asking("Authorization: Bearer " + secret + "\r\n"), list) == &list[0]);
}

TEST_CASE("401 says how to ask") {
    const auto header = [](problem_kind kind) { return to_response({.kind = kind, .detail = ""}); };
    const auto required = header(problem_kind::token_required);
    CHECK(required.status == 401);
    CHECK(required.fields.find("WWW-Authenticate: Bearer\r\n") != std::string::npos);
    CHECK(header(problem_kind::invalid_token)
              .fields.find("WWW-Authenticate: Bearer error=\"invalid_token\"\r\n") !=
          std::string::npos);
}

TEST_CASE("one visit to / turns the token into the cookie") {
    const auto plain = visit(asking(""), "/?token=0123456789abcdef%2B/==");
    REQUIRE(plain);
    CHECK(plain->status == 303);
    CHECK(plain->fields.find("Location: /\r\n") != std::string::npos);
    CHECK(plain->fields.find("Set-Cookie: litefeed_token=" + secret +
                             "; Path=/; HttpOnly; SameSite=Strict\r\n") != std::string::npos);
    CHECK(plain->body.empty());
    for (const auto* https : {"https", "HTTPS"}) {
        const auto secure = visit(asking("X-Forwarded-Proto: " + std::string(https) + "\r\n"),
                                  "/?token=0123456789abcdef%2B/==");
        CHECK(secure->fields.find("SameSite=Strict; Secure\r\n") != std::string::npos);
    }
    CHECK(visit(asking("X-Forwarded-Proto: http\r\n"), "/?token=0123456789abcdef%2B/==")
              ->fields.find("Secure") == std::string::npos);
}

TEST_CASE("a link on another site ends in a page that goes on by itself") {
    const auto link =
        visit(asking("Sec-Fetch-Site: cross-site\r\n"), "/?token=0123456789abcdef%2B/==");
    CHECK(link->status == 200);
    CHECK(link->fields.find("Refresh: 0; url=/\r\n") != std::string::npos);
    CHECK(link->fields.find("Set-Cookie: litefeed_token=") != std::string::npos);
    for (const auto* own : {"same-origin", "same-site", "none"})
        CHECK(visit(asking("Sec-Fetch-Site: " + std::string(own) + "\r\n"),
                    "/?token=0123456789abcdef%2B/==")
                  ->status == 303);
}

TEST_CASE("a wrong token makes no cookie") {
    for (const auto* where :
         {"/?token=", "/?token=wrong", "/?token=x&token=0123456789abcdef%2B/=="}) {
        const auto answer = visit(asking(""), where);
        REQUIRE(answer);
        CHECK(answer->status == 401);
        CHECK(answer->fields.find("Set-Cookie") == std::string::npos);
    }
}

TEST_CASE("no other URL is a visit") {
    for (const auto* where : {"/", "/?x=1", "/changes?token=0123456789abcdef%2B/==",
                              "/page.js?token=0123456789abcdef%2B/==", "//?token=a", "*"})
        CHECK_FALSE_MESSAGE(visit(asking(""), where), where);
    auto post = asking("");
    post.method = method::other;
    CHECK_FALSE(visit(post, "/?token=0123456789abcdef%2B/=="));
}

TEST_SUITE_END();
