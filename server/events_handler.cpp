#include "server/handlers.hpp"

namespace litefeed::server {
namespace {

/// A stream that says at once why it cannot be: a status but 200 would be for good, an empty one asked again at once.
response parting_stream(std::string_view reason) {
    response out;
    out.content_type = "text/event-stream";
    out.field("Cache-Control", "no-store, no-transform");
    out.field("X-Accel-Buffering", "no");
    out.body = ": litefeed 1\nretry: 15000\nevent: bye\ndata: {\"reason\":\"" +
               std::string(reason) + "\"}\n\n";
    out.close = true;
    return out;
}

}  // namespace

task<reply> answer_events(loop* of, const request* asked, target at, bool surplus) {
    auto read = read_events(*asked, at);
    if (!read) co_return to_response(read.error());
    events_request want = std::move(*read);
    if (surplus) co_return parting_stream("full");
    // The others were told already, and nobody would tell this one.
    if (of->stopping()) co_return parting_stream("shutdown");
    // Only what no waiting cures ends the stream before it begins; a busy or absent file holds it.
    auto& own = of->reading().own();
    if (!want.want.tables.empty()) {
        const auto unknown = own.call([&](feed& f) { return f.unknown(want.want); });
        if (unknown && *unknown)
            co_return to_response(
                {.kind = problem_kind::unknown_table,
                 .detail =
                     **unknown + " is no table that this file's log knows; /tables lists what is.",
                 .parameter = "table"});
    } else if (want.named) {
        const auto tables = own.call([](feed& f) { return f.tables(); });
        if (tables)
            for (const auto& t : tables->tables)
                if (!can_name_event(t.name))
                    co_return to_response(
                        bad_parameter("names", t.name + " cannot be the name of an event."));
    }
    co_return stream_opening{.want = std::move(want)};
}

std::string stream_head(const request& r, loop& of, bool chunked) {
    std::string out = "HTTP/1.1 200 OK\r\nDate: " + of.date() +
                      "\r\nContent-Type: text/event-stream\r\n"
                      "Cache-Control: no-store, no-transform\r\n"
                      "X-Accel-Buffering: no\r\n"
                      "X-Content-Type-Options: nosniff\r\n"
                      "Connection: close\r\n";
    if (chunked) out += "Transfer-Encoding: chunked\r\n";
    out += cors_fields(r, of.options().cors_origins);
    return out;
}

}  // namespace litefeed::server
