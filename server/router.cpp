#include "server/router.hpp"

#include "server/access.hpp"
#include "server/handlers.hpp"
#include "server/web_files.hpp"

namespace litefeed::server {
namespace {

enum class resource { none, page, changes, rows, events, tables, status, healthz, readyz, asset };

resource find(const target& t) {
    const auto& p = t.path;
    if (p.size() == 2 && p[0] == "rows") return resource::rows;
    if (p.size() != 1) return resource::none;
    if (p[0].empty()) return resource::page;
    if (p[0] == "changes") return resource::changes;
    if (p[0] == "events") return resource::events;
    if (p[0] == "tables") return resource::tables;
    if (p[0] == "status") return resource::status;
    if (p[0] == "healthz") return resource::healthz;
    if (p[0] == "readyz") return resource::readyz;
    if (p[0] != "index.html" && web_file(p[0])) return resource::asset;
    return resource::none;
}

constexpr std::string_view allowed = "GET, HEAD, OPTIONS";

response not_allowed() {
    auto out = to_response({.kind = problem_kind::method_not_allowed,
                            .detail = "GET, HEAD and OPTIONS are answered here."});
    out.field("Allow", allowed);
    return out;
}

response no_body() {
    return to_response({.kind = problem_kind::body_not_allowed, .detail = "Ask without a body."});
}

response options_answer() {
    // 200, not 204: that status never leaves this server (an EventSource that meets it stops for good).
    response out;
    out.field("Allow", allowed);
    out.field("Cache-Control", "no-store");
    return out;
}

response web_answer(const target& t) {
    if (auto known = parameters::check(t.query, {}); !known) return to_response(known.error());
    const auto asset = web_file(t.path[0].empty() ? "index.html" : t.path[0]);
    if (!asset)
        return to_response({.kind = problem_kind::not_found, .detail = "This build has no page."});
    response out;
    out.content_type = asset->content_type;
    out.body = asset->body;
    out.field("Cache-Control", "no-cache");
    out.field("Content-Security-Policy",
              "default-src 'self'; frame-ancestors 'none'; base-uri 'none'");
    return out;
}

response alive(const target& t) {
    if (auto known = parameters::check(t.query, {}); !known) return to_response(known.error());
    response out;
    out.content_type = "application/json";
    out.body = "{\"alive\":true}\n";
    out.field("Cache-Control", "no-store");
    return out;
}

}  // namespace

task<reply> answer_request(loop* of, const request* asked, int socket, bool surplus) {
    auto read = parse_target(asked->target);
    const target nothing;
    if (auto refused = check_request(*asked, read ? *read : nothing, of->options().allow_hosts)) {
        response out = to_response(*refused);
        out.close =
            refused->kind == problem_kind::bad_host || refused->kind == problem_kind::bad_request;
        co_return out;
    }
    const auto what = read && !read->asterisk ? find(*read) : resource::none;
    // A browser sends no token with a preflight, and whoever looks after the process needs none.
    const bool open = asked->method == method::options || what == resource::healthz;
    std::uint32_t token_id = 0;
    if (const auto* tokens = of->tokens(); tokens != nullptr && !open) {
        auto visit = answer_visit(*asked, read ? *read : nothing, *tokens);
        if (!visit) {
            const auto holder = holder_of(*asked, *tokens);
            if (holder)
                token_id = (*holder)->id;
            else
                visit = to_response(holder.error());
        }
        if (visit) {
            visit->close = surplus;
            co_return std::move(*visit);
        }
    }
    if (!read) co_return to_response(read.error());
    target at = std::move(*read);
    if (asked->method == method::options && at.asterisk) co_return options_answer();
    if (what == resource::none)
        co_return to_response({.kind = problem_kind::not_found,
                               .detail = "Try /, /changes, /rows/{table}, /events, /tables or "
                                         "/status."});
    if (asked->method == method::other || asked->has_body) {
        if (asked->method == method::other) co_return not_allowed();
        co_return no_body();
    }
    if (asked->method == method::options) co_return options_answer();
    if (surplus && what != resource::events && what != resource::healthz) {
        response out = to_response({.kind = problem_kind::full,
                                    .detail = "Too many connections are open.",
                                    .retry_after = std::chrono::seconds(5)});
        out.close = true;
        co_return out;
    }
    switch (what) {
        case resource::page:
        case resource::asset:
            co_return web_answer(at);
        case resource::healthz:
            co_return alive(at);
        case resource::events: {
            reply out = co_await answer_events(of, asked, std::move(at), surplus);
            if (auto* stream = std::get_if<stream_opening>(&out)) stream->token_id = token_id;
            co_return out;
        }
        default:
            break;
    }
    response out;
    if (what == resource::changes)
        out = co_await answer_changes(of, asked, std::move(at), socket);
    else if (what == resource::rows)
        out = co_await answer_rows(of, asked, std::move(at));
    else if (what == resource::tables)
        out = co_await answer_tables(of, asked, std::move(at));
    else if (what == resource::status)
        out = co_await answer_status(of, asked, std::move(at));
    else
        out = co_await answer_ready(of, asked, std::move(at));
    co_return out;
}

problem to_problem(const error_code& why, loop& of) {
    if (why == errc::drifted) {
        const auto* writer = of.shared().writer;
        const auto words = writer != nullptr ? writer->trouble() : std::string();
        return {.kind = problem_kind::busy,
                .detail = words.empty() ? "Capture is being put in order; ask again." : words,
                .retry_after = std::chrono::seconds(1)};
    }
    if (why == errc::damaged)
        return {.kind = problem_kind::unavailable,
                .detail = "The database cannot be read: " + why.message(),
                .retry_after = std::chrono::seconds(5)};
    if (why == errc::busy)
        return {.kind = problem_kind::busy,
                .detail = "Another connection holds the database; ask again.",
                .retry_after = std::chrono::seconds(1)};
    if (why == errc::newer_format)
        return {.kind = problem_kind::unavailable,
                .detail = "A later litefeed wrote this file: upgrade the server.",
                .retry_after = std::chrono::seconds(60)};
    if (why == errc::malformed_cursor)
        return {.kind = problem_kind::malformed_cursor,
                .detail = "A cursor as an answer gave it.",
                .parameter = "after"};
    if (why == errc::page_gone)
        return {.kind = problem_kind::page_gone,
                .detail =
                    "The file was restored, or the table began anew or is gone: begin with the "
                    "first page."};
    if (why.category() == sqlite_category()) {
        const auto& words = of.reading().own().trouble();
        return {.kind = problem_kind::unavailable,
                .detail = "The database cannot be read: " + (words.empty() ? why.message() : words),
                .retry_after = std::chrono::seconds(2)};
    }
    return {.kind = problem_kind::internal, .detail = why.message()};
}

}  // namespace litefeed::server
