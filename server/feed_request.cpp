#include "server/feed_request.hpp"

#include <algorithm>
#include <array>

#include "server/response.hpp"

namespace litefeed::server {
namespace {

/// A place that no file continues, so asking from it is a reset: what a malformed position is announced as.
constexpr std::string_view nowhere = "0-0000000000000000";

problem malformed_cursor(std::string_view name) {
    return {.kind = problem_kind::malformed_cursor,
            .detail = "now, 0, a stamp, or a cursor as an answer gave it.",
            .parameter = std::string(name)};
}

outcome<selection> read_selection(const parameters& from) {
    selection want;
    want.tables = from.all("table");
    if (const auto* list = from.find("tables")) {
        for (std::string_view rest = *list;;) {
            const auto comma = rest.find(',');
            if (rest.substr(0, comma).empty())
                return bad_parameter("tables", "Names, with one comma between two of them.");
            want.tables.emplace_back(rest.substr(0, comma));
            if (comma == std::string_view::npos) break;
            rest.remove_prefix(comma + 1);
        }
    }
    std::sort(want.tables.begin(), want.tables.end());
    want.tables.erase(std::unique(want.tables.begin(), want.tables.end()), want.tables.end());
    return want;
}

outcome<answer_format> read_format(const request& r, const parameters& from) {
    auto chosen = from.choice("format", {"json", "ndjson"});
    if (!chosen) return chosen.error();
    if (*chosen == 1) return answer_format::ndjson;
    if (from.find("format") == nullptr && accepts(r.accept, "application/x-ndjson"))
        return answer_format::ndjson;
    return answer_format::json;
}

}  // namespace

bool can_name_event(std::string_view table) {
    constexpr std::array<std::string_view, 13> taken{
        "message",   "open",  "error", "reset",  "cursor", "shape", "bye",
        "heartbeat", "click", "load",  "submit", "change", "input"};
    const auto letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    if (table.empty() || !letter(table.front())) return false;
    if (!std::all_of(table.begin(), table.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; }))
        return false;
    return std::find(taken.begin(), taken.end(), table) == taken.end();
}

outcome<changes_request> read_changes(const request& r, const target& t) {
    auto known = parameters::check(
        t.query, {"since", "table", "tables", "limit", "wait", "until", "snapshot", "format"});
    if (!known) return known.error();
    const parameters& from = *known;
    changes_request out;
    out.ask.from = from_now{};
    if (const auto* since = from.find("since")) {
        auto at = parse_position(*since);
        if (!at) return malformed_cursor("since");
        out.ask.from = std::move(*at);
    }
    auto want = read_selection(from);
    if (!want) return want.error();
    out.ask.want = std::move(*want);
    const auto limit = from.number("limit", 1, 100'000, 10'000);
    if (!limit) return limit.error();
    out.ask.rows_max = static_cast<int>(*limit);
    const auto wait = from.number("wait", 0, 50, 0);
    if (!wait) return wait.error();
    out.wait = std::chrono::seconds(*wait);
    if (from.find("until") != nullptr) {
        const auto until = from.number("until", 0, stamp_max.n, 0);
        if (!until) return until.error();
        out.until = stamp{*until};
    }
    const auto snapshot = from.flag("snapshot");
    if (!snapshot) return snapshot.error();
    out.ask.snapshot = *snapshot;
    const auto format = read_format(r, from);
    if (!format) return format.error();
    out.format = *format;
    return out;
}

outcome<rows_request> read_rows(const request& r, const target& t, std::string table) {
    auto known = parameters::check(t.query, {"limit", "after", "format"});
    if (!known) return known.error();
    rows_request out;
    out.ask.table = std::move(table);
    const auto limit = known->number("limit", 1, 100'000, 1000);
    if (!limit) return limit.error();
    out.ask.rows_max = static_cast<int>(*limit);
    if (const auto* after = known->find("after")) {
        if (after->empty()) return malformed_cursor("after");
        out.ask.after = *after;
    }
    const auto format = read_format(r, *known);
    if (!format) return format.error();
    out.format = *format;
    return out;
}

stream_start choose_start(const request& r, const parameters& from) {
    const std::string* chosen = nullptr;
    if (r.last_event_id && !r.last_event_id->empty()) chosen = &*r.last_event_id;
    for (const auto name :
         {"lastEventId", "lastEventID", "last_event_id", "Last-Event-ID", "since"}) {
        if (chosen != nullptr) break;
        const auto* value = from.find(name);
        if (value != nullptr && !value->empty()) chosen = value;
    }
    if (chosen == nullptr) return {};
    auto at = parse_position(*chosen);
    if (!at) return {.from = from_malformed{}, .text = std::string(nowhere)};
    if (std::holds_alternative<from_now>(*at)) return {};
    stream_start out{.from = std::move(*at), .text = {}};
    // Said again in our own words, so that nothing a client sent is echoed into a header or a frame.
    if (const auto* bare = std::get_if<stamp>(&out.from))
        out.text = std::to_string(bare->n);
    else if (const auto* rest = std::get_if<rest_cursor>(&out.from))
        out.text = to_text(*rest);
    else if (const auto* page = std::get_if<page_cursor>(&out.from))
        out.text = to_text(*page);
    else if (std::holds_alternative<from_nothing>(out.from))
        out.text = "0";
    else
        out.text = nowhere;
    return out;
}

outcome<events_request> read_events(const request& r, const target& t) {
    auto known = parameters::check(
        t.query, {"since", "table", "tables", "snapshot", "format", "names", "heartbeat",
                  "lastEventId", "lastEventID", "last_event_id", "Last-Event-ID"});
    if (!known) return known.error();
    const parameters& from = *known;
    events_request out;
    out.start = choose_start(r, from);
    auto want = read_selection(from);
    if (!want) return want.error();
    out.want = std::move(*want);
    const auto snapshot = from.flag("snapshot");
    if (!snapshot) return snapshot.error();
    out.snapshot = *snapshot;
    const auto format = from.choice("format", {"json"});
    if (!format) return format.error();
    const auto names = from.choice("names", {"none", "table"});
    if (!names) return names.error();
    out.named = *names == 1;
    if (from.find("heartbeat") != nullptr) {
        const auto seconds = from.number("heartbeat", 1, 60, 0);
        if (!seconds) return seconds.error();
        out.heartbeat = std::chrono::seconds(*seconds);
    }
    if (out.named)
        for (const auto& table : out.want.tables)
            if (!can_name_event(table))
                return bad_parameter("names",
                                     "A selected table's name cannot be the name of an event.");
    return out;
}

}  // namespace litefeed::server
