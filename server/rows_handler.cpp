#include "server/fingerprint.hpp"
#include "server/handlers.hpp"
#include "server/render.hpp"

namespace litefeed::server {
namespace {

using read_page = std::function<result<rows_page>(feed&, std::int64_t)>;

/// What an answer depends on beside the file's version: the request, and which columns leave the house.
std::string request_fingerprint(const rows_request& r, const column_choice& columns) {
    std::string text = r.ask.table + '\0' + std::to_string(r.ask.rows_max) + '\0' + r.ask.after +
                       '\0' + (r.format == answer_format::ndjson ? "n" : "j");
    for (const auto* part : {&columns.hide, &columns.only}) {
        text += '\1';
        for (const auto& rule : *part) text += '\0' + rule;
    }
    return fingerprint(text);
}

problem why_not(const error_code& why, loop& of, const std::string& table) {
    if (why == errc::unknown_table)
        return {.kind = problem_kind::unknown_table,
                .detail = table + " is not watched; /tables lists what is."};
    return to_problem(why, of);
}

}  // namespace

task<response> answer_rows(loop* of, const request* asked, target at) {
    std::string table = at.path[1];
    auto read = read_rows(*asked, at, std::move(table));
    if (!read) co_return to_response(read.error());
    rows_request want = std::move(*read);
    const auto self = request_fingerprint(want, of->options().columns);
    if (asked->if_none_match) want.ask.known_version = known_version(*asked->if_none_match, self);
    read_page ask = [&q = want.ask](feed& f, std::int64_t effort_max) {
        auto bounded = q;
        bounded.effort_max = effort_max;
        return f.rows(bounded);
    };
    result<rows_page> got = co_await of->reading().ask<rows_page>(ask);
    if (!got) {
        const problem why = why_not(got.error(), *of, want.ask.table);
        co_return to_response(why);
    }
    response out;
    out.field("ETag", weak_etag(got->version, self));
    out.field("Cache-Control", "private, no-cache");
    out.field("Vary", "Accept");
    if (got->unchanged) {
        out.status = 304;
        co_return out;
    }
    out.field("Litefeed-Head", std::to_string(got->head.n));
    out.field("Litefeed-Cursor", got->cursor);
    if (got->next) out.field("Litefeed-Next", *got->next);
    // The table's own name; one that the log knows but that is not there now has only the name that was asked for.
    const auto& name = got->rows.tables.empty() ? want.ask.table : got->rows.tables.front();
    if (want.format == answer_format::ndjson) {
        out.content_type = "application/x-ndjson";
        append_rows_lines(out.body, *got, name);
    } else {
        out.content_type = "application/json";
        append_rows(out.body, *got, name);
        out.body += '\n';
    }
    co_return out;
}

}  // namespace litefeed::server
