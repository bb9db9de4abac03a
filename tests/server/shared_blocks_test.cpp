#include "server/shared_blocks.hpp"

#include <doctest/doctest.h>

using namespace litefeed;
using namespace litefeed::server;

namespace {

using std::chrono::milliseconds;

const rest_cursor at_40{{40}, 0x9f3a1c07, 1}, at_42{{42}, 0x9f3a1c07, 2};

place_ptr place_at(const rest_cursor& at) {
    return std::make_shared<const place>(place{.at = at, .text = to_text(at), .told = {}});
}

/// An answer that leads to 42; `row`: with one change.
answer to_42(bool row) {
    answer a;
    a.head = {42};
    a.next = at_42;
    if (!row) return a;
    a.changes.tables = {"notes"};
    a.changes.bytes = R"({"id":1})";
    a.changes.changes.push_back({0, change_op::update, {42}, {0, 8}, {0, 8}, 0});
    return a;
}

const std::string cursor_event = "event: cursor\nid: " + to_text(at_42) +
                                 "\ndata: {\"head\":42,\"cursor\":\"" + to_text(at_42) + "\"}\n\n";

shared_blocks plain() { return shared_blocks({.want = {}, .chunked = false}); }

}  // namespace

TEST_SUITE_BEGIN("server/shared_blocks");

TEST_CASE("a block leads from a place to the next, and names it last") {
    const auto b = plain().render(place_at(at_40), to_42(true), 7);
    CHECK(b->bytes ==
          "data: {\"head\":42,\"cursor\":\"" + to_text(at_42) +
              "\",\"more\":false,\"changes\":[{\"table\":\"notes\",\"op\":\"update\",\"stamp\":42,"
              "\"key\":{\"id\":1},\"row\":{\"id\":1}}]}\nid: " +
              to_text(at_42) + "\n\n");
    CHECK(b->then->text == to_text(at_42));
    CHECK(b->then->told == stamp{42});
    CHECK(b->then->settled);
}

TEST_CASE("a place is settled in the history that was asked, and only at the end of a run") {
    CHECK(plain().render(place_at(at_40), to_42(true), 7)->then->epoch == 7);
    auto page = to_42(true);
    page.more = true;
    CHECK_FALSE(plain().render(place_at(at_40), page, 7)->then->settled);
}

TEST_CASE("where nothing is to be told the client hears only that its place moved") {
    const auto blocks = plain();
    CHECK(blocks.render(place_at(at_40), to_42(false), 1)->bytes == cursor_event);
    const auto same = blocks.render(place_at(at_42), to_42(false), 1);
    CHECK(same->bytes.empty());
    CHECK(same->then->settled);
    const auto unknown = std::make_shared<const place>();
    CHECK(blocks.render(unknown, to_42(false), 1)->bytes.empty());
}

TEST_CASE("what was rendered is shared by all at that place, until the next look") {
    auto blocks = plain();
    const auto here = place_at(at_40);
    CHECK(blocks.find(here) == nullptr);
    const auto b = blocks.render(here, to_42(true), 1);
    blocks.keep(here, b);
    CHECK(blocks.find(here) == b);
    CHECK(blocks.find(place_at(at_40)) == b);
    CHECK(blocks.find(place_at(at_42)) == nullptr);
    const auto mark = blocks.bookmark(at_42, 1);
    CHECK(blocks.bookmark(at_42, 1) == mark);
    blocks.forget();
    CHECK(blocks.find(here) == nullptr);
    CHECK(blocks.bookmark(at_42, 2) != mark);
}

TEST_CASE("what is kept has a bound") {
    auto blocks = plain();
    const auto first = place_at({{1}, 1, 1});
    blocks.keep(first, std::make_shared<const block>(block{"first", nullptr}));
    const auto large = std::make_shared<const block>(block{std::string(1024 * 1024, 'x'), nullptr});
    for (std::int64_t i = 2; i < 6; ++i) blocks.keep(place_at({{i}, 1, 1}), large);
    CHECK(blocks.find(first) != nullptr);
    blocks.keep(place_at({{6}, 1, 1}), large);
    CHECK(blocks.find(first) == nullptr);
    CHECK(blocks.find(place_at({{6}, 1, 1})) == large);
}

TEST_CASE("a stream begins with the place it starts from, never with a head below it") {
    const auto start = place_at(at_42);
    CHECK(plain().hello(milliseconds(2731), start.get(), {42}) ==
          ": litefeed 1\nretry: 2731\n" + cursor_event);
    CHECK(plain().hello(milliseconds(2731), start.get(), {40}) ==
          ": litefeed 1\nretry: 2731\n" + cursor_event);
    CHECK(plain().hello(milliseconds(2731), nullptr, {42}) == ": litefeed 1\nretry: 2731\n\n");
    const auto later = plain().announcement(*start, {42});
    CHECK(later->bytes == cursor_event);
    CHECK(later->then == nullptr);
}

TEST_CASE("a bookmark is the head as a settled place") {
    auto blocks = plain();
    const auto mark = blocks.bookmark(at_42, 3);
    CHECK(mark->bytes == cursor_event);
    CHECK(next_step(*mark->then, {42}, 3) == step::wait);
    CHECK(next_step(*mark->then, {42}, 4) == step::ask);
}

TEST_CASE("heartbeats and comments move no place") {
    auto blocks = plain();
    CHECK(blocks.heartbeat({42})->bytes == "event: heartbeat\ndata: {\"head\":42}\n\n");
    CHECK(blocks.comment()->bytes == ":\n\n");
    CHECK(blocks.heartbeat({42})->then == nullptr);
    CHECK(blocks.comment()->then == nullptr);
}

TEST_CASE("HTTP/1.1 gets chunks, and a bye is the last of them") {
    const std::string text = "retry: 5000\nevent: bye\ndata: {\"reason\":\"shutdown\"}\n\n";
    CHECK(plain().bye("shutdown", milliseconds(5000))->bytes == text);
    shared_blocks chunked({.want = {}});
    CHECK(chunked.bye("shutdown", milliseconds(5000))->bytes == "34\r\n" + text + "\r\n0\r\n\r\n");
    CHECK(chunked.comment()->bytes == "3\r\n:\n\n\r\n");
    CHECK(chunked.render(place_at(at_42), to_42(false), 1)->bytes.empty());
}

TEST_CASE("a page is small, and asks as the stream was asked") {
    const shared_blocks blocks({.want = {{"notes"}}, .snapshot = true});
    const auto q = blocks.ask_from(*place_at(at_40));
    CHECK(q.want.tables == std::vector<std::string>{"notes"});
    CHECK(q.snapshot);
    CHECK(std::get<rest_cursor>(q.from) == at_40);
    CHECK(q.rows_max == 1000);
    CHECK(q.bytes_max == 64 * 1024);
    CHECK(q.effort_max == 0);
}

TEST_SUITE_END();
