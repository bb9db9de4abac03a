#include "server/feed_request.hpp"

#include <doctest/doctest.h>

using namespace litefeed;
using namespace litefeed::server;

namespace {

target at(std::string_view text) {
    auto read = parse_target(text);
    REQUIRE(read.has_value());
    return *read;
}

problem changes_refusal(std::string_view text) {
    const auto read = read_changes({}, at(text));
    REQUIRE(read.has_error());
    return read.error();
}

stream_start start(std::string_view text, std::optional<std::string> header = std::nullopt) {
    request r;
    r.last_event_id = std::move(header);
    const auto read = read_events(r, at(text));
    REQUIRE(read.has_value());
    return read->start;
}

}  // namespace

TEST_SUITE_BEGIN("server/feed_request");

TEST_CASE("/changes without parameters asks for what comes from now on") {
    const auto read = read_changes({}, at("/changes"));
    REQUIRE(read.has_value());
    CHECK(std::holds_alternative<from_now>(read->ask.from));
    CHECK(read->ask.rows_max == 10'000);
    CHECK(read->wait.count() == 0);
    CHECK(read->format == answer_format::json);
    CHECK(read->ask.want.tables.empty());
}

TEST_CASE("a position on /changes that cannot be read is an error that names since") {
    for (const auto* text :
         {"/changes?since=abc", "/changes?since=", "/changes?since=-1", "/changes?since=1.5",
          "/changes?since=1e3", "/changes?since=7x", "/changes?since=9223372036854775808"}) {
        const auto p = changes_refusal(text);
        CHECK(p.kind == problem_kind::malformed_cursor);
        CHECK(p.parameter == "since");
    }
}

TEST_CASE("table and tables are one selection, each name once") {
    const auto read = read_changes({}, at("/changes?table=b&tables=a,b&table=x%2Cy"));
    CHECK(read->ask.want.tables == std::vector<std::string>{"a", "b", "x,y"});
}

TEST_CASE("an empty list of tables is refused, an empty name is a name") {
    CHECK(changes_refusal("/changes?tables=").parameter == "tables");
    CHECK(changes_refusal("/changes?tables=a,").parameter == "tables");
    CHECK(read_changes({}, at("/changes?table="))->ask.want.tables == std::vector<std::string>{""});
}

TEST_CASE("limits of /changes hold on both sides") {
    CHECK(read_changes({}, at("/changes?limit=1"))->ask.rows_max == 1);
    CHECK(read_changes({}, at("/changes?limit=100000"))->ask.rows_max == 100'000);
    CHECK(changes_refusal("/changes?limit=0").parameter == "limit");
    CHECK(changes_refusal("/changes?limit=100001").parameter == "limit");
    CHECK(read_changes({}, at("/changes?wait=50"))->wait == std::chrono::seconds(50));
    CHECK(changes_refusal("/changes?wait=51").parameter == "wait");
    CHECK(read_changes({}, at("/changes?until=9&wait=1"))->until == stamp{9});
}

TEST_CASE("the parameter chooses the format, and Accept only without it") {
    request r;
    r.accept = "application/x-ndjson";
    CHECK(read_changes(r, at("/changes"))->format == answer_format::ndjson);
    CHECK(read_changes(r, at("/changes?format=json"))->format == answer_format::json);
    CHECK(changes_refusal("/changes?format=html").parameter == "format");
}

TEST_CASE("what a later version brings is unknown today") {
    CHECK(changes_refusal("/changes?shapes=1").kind == problem_kind::unknown_parameter);
    CHECK(changes_refusal("/changes?contract=2").kind == problem_kind::unknown_parameter);
}

TEST_CASE("a stream starts at the header, then at what stands for it, then at since, then now") {
    CHECK(start("/events?since=5&lastEventId=6", "7").text == "7");
    CHECK(start("/events?since=5&lastEventId=6").text == "6");
    CHECK(start("/events?since=5&last_event_id=6").text == "6");
    CHECK(start("/events?since=5&Last-Event-ID=6").text == "6");
    CHECK(start("/events?since=5").text == "5");
    CHECK(start("/events").text.empty());
    CHECK(std::holds_alternative<from_now>(start("/events").from));
}

TEST_CASE("an empty position counts as absent") {
    CHECK(start("/events?since=5", "").text == "5");
    CHECK(start("/events?since=5&lastEventId=").text == "5");
    CHECK(std::holds_alternative<from_now>(start("/events?since=").from));
}

TEST_CASE("a position that cannot be read is a reset on a stream, and is not echoed") {
    for (const auto* bad :
         {"abc", "-1", "1.5", "1e3", "7x", "0x7", "7,8", "9223372036854775808", "1\nid: 2"}) {
        const auto s = start("/events?since=3", bad);
        CHECK(std::holds_alternative<from_malformed>(s.from));
        CHECK(s.text == "0-0000000000000000");
    }
}

TEST_CASE("nothing held is a place with a name of its own") {
    CHECK(start("/events?since=0").text == "0");
    CHECK(std::holds_alternative<from_nothing>(start("/events?since=0").from));
}

TEST_CASE("tables whose names are no event names cannot be told by name") {
    const auto read = read_events({}, at("/events?names=table&table=my+table"));
    REQUIRE(read.has_error());
    CHECK(read.error().parameter == "names");
    CHECK(read_events({}, at("/events?names=table&table=notes"))->named);
    CHECK(read_events({}, at("/events?names=none&table=my+table")).has_value());
}

TEST_CASE("names that a page or the stream itself listens to are taken") {
    for (const auto* name :
         {"message", "open", "error", "reset", "cursor", "shape", "bye", "heartbeat", "click",
          "load", "submit", "change", "input", "", "1a", "a b", "a.b", "a\n"})
        CHECK_FALSE_MESSAGE(can_name_event(name), name);
    for (const auto* name : {"notes", "_x", "A-1", "messages"})
        CHECK_MESSAGE(can_name_event(name), name);
}

TEST_CASE("heartbeats are asked for in whole seconds") {
    CHECK_FALSE(read_events({}, at("/events"))->heartbeat);
    CHECK(read_events({}, at("/events?heartbeat=60"))->heartbeat == std::chrono::seconds(60));
    CHECK(read_events({}, at("/events?heartbeat=0")).has_error());
    CHECK(read_events({}, at("/events?heartbeat=61")).has_error());
}

TEST_CASE("/rows takes limit, after and format") {
    const auto read = read_rows({}, at("/rows/t?limit=5&after=x"), "t");
    CHECK(read->ask.rows_max == 5);
    CHECK(read->ask.after == "x");
    CHECK(read_rows({}, at("/rows/t"), "t")->ask.rows_max == 1000);
    CHECK(read_rows({}, at("/rows/t?since=0"), "t").has_error());
    CHECK(read_rows({}, at("/rows/t?after="), "t").has_error());
}

TEST_SUITE_END();
