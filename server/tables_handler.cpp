#include "server/fingerprint.hpp"
#include "server/handlers.hpp"
#include "server/status_json.hpp"

namespace litefeed::server {
namespace {

struct seen_tables {
    std::string version;
    tables_status now;  ///< not read when the version is the known one
};

using read_tables = std::function<result<seen_tables>(feed&, std::int64_t)>;

/// The version first: tables read after it are at least as new, so a stale pair can only lead to one more request.
result<seen_tables> see(feed& f, const std::string& known, std::int64_t effort_max) {
    auto version = f.version();
    if (!version) return version.error();
    seen_tables out;
    out.version = std::move(*version);
    if (out.version == known) return out;
    auto now = f.tables({.counts = true, .effort_max = effort_max});
    if (!now) return now.error();
    out.now = std::move(*now);
    return out;
}

}  // namespace

task<response> answer_tables(loop* of, const request* asked, target at) {
    auto known = parameters::check(std::move(at.query), {"format"});
    if (!known) co_return to_response(known.error());
    const auto format = known->choice("format", {"json"});
    if (!format) co_return to_response(format.error());
    const auto self = fingerprint("tables");
    std::string version;
    if (asked->if_none_match) version = known_version(*asked->if_none_match, self);
    read_tables ask = [&version](feed& f, std::int64_t effort_max) {
        return see(f, version, effort_max);
    };
    result<seen_tables> got = co_await of->reading().ask<seen_tables>(ask);
    if (!got) {
        const problem why = to_problem(got.error(), *of);
        co_return to_response(why);
    }
    response out;
    out.field("ETag", weak_etag(got->version, self));
    out.field("Cache-Control", "private, no-cache");
    out.field("Vary", "Accept");
    if (!version.empty() && version == got->version) {
        out.status = 304;
        co_return out;
    }
    out.content_type = "application/json";
    out.field("Litefeed-Head", std::to_string(got->now.head.n));
    out.body = tables_json(got->now);
    co_return out;
}

}  // namespace litefeed::server
