#include "server/problem.hpp"

#include <array>

#include "core/json.hpp"

namespace litefeed::server {
namespace {

struct kind_entry {
    problem_kind kind;
    int status;
    std::string_view name, title;
};

constexpr std::array kinds{
    kind_entry{problem_kind::bad_request, 400, "bad-request", "The request is not well-formed"},
    kind_entry{problem_kind::bad_host, 400, "bad-host", "The request must have one Host"},
    kind_entry{problem_kind::bad_parameter, 400, "bad-parameter", "A parameter does not parse"},
    kind_entry{problem_kind::unknown_parameter, 400, "unknown-parameter",
               "A parameter is not known here"},
    kind_entry{problem_kind::repeated_parameter, 400, "repeated-parameter",
               "A parameter comes twice"},
    kind_entry{problem_kind::malformed_cursor, 400, "malformed-cursor", "This is no cursor"},
    kind_entry{problem_kind::token_required, 401, "token-required", "A token is needed here"},
    kind_entry{problem_kind::invalid_token, 401, "invalid-token", "The token is not accepted"},
    kind_entry{problem_kind::host_not_allowed, 403, "host-not-allowed", "This Host is not served"},
    kind_entry{problem_kind::not_found, 404, "not-found", "There is nothing here"},
    kind_entry{problem_kind::unknown_table, 404, "unknown-table", "This table is not watched"},
    kind_entry{problem_kind::method_not_allowed, 405, "method-not-allowed",
               "The method is not allowed here"},
    kind_entry{problem_kind::request_timeout, 408, "request-timeout",
               "The request did not come in time"},
    kind_entry{problem_kind::page_gone, 410, "page-gone",
               "These pages are gone: begin with the first"},
    kind_entry{problem_kind::body_not_allowed, 413, "body-not-allowed", "No body is taken here"},
    kind_entry{problem_kind::target_too_long, 414, "target-too-long",
               "The request target is too long"},
    kind_entry{problem_kind::expectation_failed, 417, "expectation-failed",
               "The expectation cannot be met"},
    kind_entry{problem_kind::header_too_large, 431, "header-too-large",
               "The request header is too large"},
    kind_entry{problem_kind::version_not_supported, 505, "version-not-supported",
               "HTTP/1.1 and HTTP/1.0 are spoken here"},
    kind_entry{problem_kind::internal, 500, "internal", "The server is at fault"},
    kind_entry{problem_kind::busy, 503, "busy", "The database is busy"},
    kind_entry{problem_kind::unavailable, 503, "unavailable", "The database cannot be read now"},
    kind_entry{problem_kind::full, 503, "full", "The server is full"},
};

const kind_entry& entry(problem_kind kind) {
    for (const auto& e : kinds)
        if (e.kind == kind) return e;
    return kinds.front();
}

}  // namespace

std::string_view name_of(problem_kind kind) { return entry(kind).name; }

int status_of(problem_kind kind) { return entry(kind).status; }

std::ostream& operator<<(std::ostream& out, problem_kind kind) { return out << name_of(kind); }

std::string to_json(const problem& p) {
    const auto& e = entry(p.kind);
    std::string out = R"({"type":"/problems/)";
    out += e.name;
    out += R"(","title":)";
    append_json_text(e.title, out);
    out += R"(,"status":)" + std::to_string(e.status) + R"(,"detail":)";
    append_json_text(p.detail, out);
    if (p.parameter) {
        out += R"(,"parameter":)";
        append_json_text(*p.parameter, out);
    }
    out += "}\n";
    return out;
}

}  // namespace litefeed::server
