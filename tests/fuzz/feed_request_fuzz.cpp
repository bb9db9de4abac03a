// The questions of /changes, /rows and /events. What is asked is within the bounds of the wire, and a refusal names a
// parameter; a position on /events is never an error, and is named to the client in words of our own that mean it again.
// Each input is a target, then perhaps a line for Last-Event-ID and one for Accept.
#include "server/feed_request.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <nlohmann/json.hpp>

using namespace litefeed;
using namespace litefeed::server;

namespace {

void check_problem(const problem& p, bool position_allowed) {
    assert(status_of(p.kind) == 400 && p.parameter);
    assert(nlohmann::json::parse(to_json(p)).contains("parameter"));
    if (p.kind == problem_kind::malformed_cursor) assert(position_allowed);
}

void check_selection(const selection& want) {
    assert(std::is_sorted(want.tables.begin(), want.tables.end()));
    assert(std::adjacent_find(want.tables.begin(), want.tables.end()) == want.tables.end());
}

void check_changes(const request& r, const target& t) {
    const auto read = read_changes(r, t);
    if (!read) return check_problem(read.error(), true);
    assert(!std::holds_alternative<from_malformed>(read->ask.from));
    assert(read->ask.rows_max >= 1 && read->ask.rows_max <= 100'000);
    assert(read->wait.count() >= 0 && read->wait.count() <= 50);
    if (read->until) assert(read->until->n >= 0 && *read->until <= stamp_max);
    check_selection(read->ask.want);
}

void check_rows(const request& r, const target& t) {
    const auto read = read_rows(r, t, "t");
    if (!read) return check_problem(read.error(), true);
    assert(read->ask.table == "t");
    assert(read->ask.rows_max >= 1 && read->ask.rows_max <= 100'000);
}

void check_start(const stream_start& start) {
    if (start.text.empty()) {
        assert(std::holds_alternative<from_now>(start.from));
        return;
    }
    const auto again = parse_position(start.text);
    assert(again && start.text.size() <= cursor_text_max);
    if (std::holds_alternative<from_malformed>(start.from))
        assert(std::get<rest_cursor>(*again) == rest_cursor{});
    else
        assert(*again == start.from);
}

void check_events(const request& r, const target& t) {
    const auto read = read_events(r, t);
    if (!read) {
        check_problem(read.error(), false);
        if (read.error().kind != problem_kind::bad_parameter) return;
        constexpr std::array<std::string_view, 5> others{"tables", "snapshot", "format", "names",
                                                         "heartbeat"};
        assert(std::count(others.begin(), others.end(), *read.error().parameter) == 1);
        return;
    }
    check_start(read->start);
    check_selection(read->want);
    if (read->heartbeat) assert(read->heartbeat->count() >= 1 && read->heartbeat->count() <= 60);
    if (!read->named) return;
    for (const auto& table : read->want.tables)
        assert(table.find_first_of(std::string_view("\r\n\0 :", 5)) == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::array<std::optional<std::string>, 3> lines;
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    for (auto& line : lines) {
        const auto end = rest.find('\n');
        line = rest.substr(0, end);
        if (end == std::string_view::npos) break;
        rest.remove_prefix(end + 1);
    }
    const auto read = parse_target(*lines[0]);
    if (!read) return 0;
    request r;
    r.last_event_id = lines[1];
    r.accept = lines[2].value_or("");
    check_changes(r, *read);
    check_rows(r, *read);
    check_events(r, *read);
    return 0;
}
