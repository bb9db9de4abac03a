#include "server/render.hpp"

#include <doctest/doctest.h>

using namespace litefeed;
using namespace litefeed::server;

namespace {

void add(answer& a, std::uint32_t table, change_op op, std::int64_t at, std::string_view key,
         std::string_view row) {
    change c;
    c.table = table;
    c.op = op;
    c.at = {at};
    auto& bytes = a.changes.bytes;
    c.key = {bytes.size(), key.size()};
    bytes += key;
    c.row = {bytes.size(), row.size()};
    bytes += row;
    a.changes.changes.push_back(c);
}

answer two_tables() {
    answer a;
    a.head = {42};
    a.changes.tables = {"notes", "tags"};
    add(a, 0, change_op::update, 41, R"({"id":7})", R"({"id":7,"title":"Plan"})");
    add(a, 1, change_op::insert, 42, R"({"id":1})", R"({"id":1})");
    add(a, 0, change_op::remove, 42, R"({"id":3})", "");
    return a;
}

std::string json(const answer& a) {
    std::string out;
    append_answer(out, a, "42-9f");
    return out;
}

std::string events(const answer& a, bool named) {
    std::string out;
    append_events(out, a, "42-9f", "40-11", named);
    return out;
}

}  // namespace

TEST_SUITE_BEGIN("server/render");

TEST_CASE("an answer is one line of JSON in the order of the wire") {
    CHECK(
        json(two_tables()) ==
        R"({"head":42,"cursor":"42-9f","more":false,"changes":[)"
        R"({"table":"notes","op":"update","stamp":41,"key":{"id":7},"row":{"id":7,"title":"Plan"}},)"
        R"({"table":"tags","op":"insert","stamp":42,"key":{"id":1},"row":{"id":1}},)"
        R"({"table":"notes","op":"delete","stamp":42,"key":{"id":3}}]})");
}

TEST_CASE("a row of a first read has no stamp, a truncate neither key nor row") {
    answer a;
    a.head = {5};
    a.more = true;
    a.changes.tables = {"notes"};
    add(a, 0, change_op::truncate, 0, "", "");
    add(a, 0, change_op::read, 0, R"({"id":1})", R"({"id":1})");
    CHECK(json(a) == R"({"head":5,"cursor":"42-9f","more":true,"changes":[)"
                     R"({"table":"notes","op":"truncate"},)"
                     R"({"table":"notes","op":"read","key":{"id":1},"row":{"id":1}}]})");
}

TEST_CASE("a row that is too large is its key and its size") {
    answer a;
    a.changes.tables = {"notes"};
    add(a, 0, change_op::update, 1, R"({"id":1})", "");
    a.changes.changes[0].too_large = 70'000'000;
    CHECK(json(a).find(R"("key":{"id":1},"too_large":70000000})") != std::string::npos);
}

TEST_CASE("a row that SQLite cannot compute is its key and says so") {
    answer a;
    a.changes.tables = {"notes"};
    add(a, 0, change_op::update, 1, R"({"id":1})", "");
    a.changes.changes[0].unreadable = true;
    CHECK(json(a).find(R"("key":{"id":1},"unreadable":true})") != std::string::npos);
}

TEST_CASE("a reset stands beside the changes") {
    auto a = two_tables();
    a.changes.changes.clear();
    a.reset = reset{reset_reason::below_floor, {"notes", "a\"b"}, {30}};
    CHECK(json(a) == R"({"head":42,"cursor":"42-9f","more":false,"changes":[],)"
                     R"("reset":{"reason":"below_floor","tables":["notes","a\"b"],"floor":30}})");
}

TEST_CASE("ndjson is a line a change, and a last line with everything else") {
    std::string out;
    append_answer_lines(out, two_tables(), "42-9f");
    CHECK(std::count(out.begin(), out.end(), '\n') == 4);
    CHECK(out.ends_with("\n{\"head\":42,\"cursor\":\"42-9f\",\"more\":false}\n"));
}

TEST_CASE("a delta is one unnamed event of one line, its id last") {
    const auto text = events(two_tables(), false);
    CHECK(text == "data: " + json(two_tables()) + "\nid: 42-9f\n\n");
    CHECK(text.find("event:") == std::string::npos);
}

TEST_CASE("named events come one a table, and only the last moves the client's place") {
    const auto text = events(two_tables(), true);
    CHECK(
        text ==
        "event: notes\n"
        R"(data: {"head":42,"cursor":"40-11","more":true,"changes":[)"
        R"({"table":"notes","op":"update","stamp":41,"key":{"id":7},"row":{"id":7,"title":"Plan"}},)"
        R"({"table":"notes","op":"delete","stamp":42,"key":{"id":3}}]})"
        "\n\n"
        "event: tags\n"
        R"(data: {"head":42,"cursor":"42-9f","more":false,"changes":[)"
        R"({"table":"tags","op":"insert","stamp":42,"key":{"id":1},"row":{"id":1}}]})"
        "\nid: 42-9f\n\n");
}

TEST_CASE("a named reset comes after the changes beside it") {
    auto a = two_tables();
    a.reset = reset{reset_reason::enabled, {"tags"}, {0}};
    const auto text = events(a, true);
    CHECK(text.rfind("event: reset\n") > text.rfind("event: tags\n"));
    CHECK(text.find("id: ") == text.rfind("id: "));
    CHECK(text.ends_with("\nid: 42-9f\n\n"));
}

TEST_CASE("a table whose name cannot be an event's is told without a name") {
    answer a;
    a.changes.tables = {"x\nid: 99\ndata: y"};
    add(a, 0, change_op::insert, 1, R"({"id":1})", R"({"id":1})");
    for (const bool named : {false, true}) {
        const auto text = events(a, named);
        CHECK(text.starts_with("data: "));
        CHECK(std::count(text.begin(), text.end(), '\n') == 3);
    }
}

TEST_CASE("the place a stream stands at is an event with data") {
    std::string out;
    append_cursor_event(out, {41}, "41-5d");
    CHECK(out == "event: cursor\nid: 41-5d\ndata: {\"head\":41,\"cursor\":\"41-5d\"}\n\n");
}

TEST_CASE("chunks have their size in hex, and an empty text is none") {
    std::string out;
    append_chunk(out, std::string(26, 'a'));
    CHECK(out == "1a\r\n" + std::string(26, 'a') + "\r\n");
    out.clear();
    append_chunk(out, "");
    CHECK(out.empty());
}

TEST_CASE("rows have their next page or null") {
    rows_page page;
    page.head = {3};
    page.cursor = "3-1";
    std::string out;
    append_rows(out, page, "notes");
    CHECK(out == R"({"table":"notes","head":3,"cursor":"3-1","rows":[],"next":null})");
    page.next = "p";
    out.clear();
    append_rows_lines(out, page, "notes");
    CHECK(out == "{\"table\":\"notes\",\"head\":3,\"cursor\":\"3-1\",\"next\":\"p\"}\n");
}

TEST_CASE("a name is one line whatever it holds") {
    rows_page page;
    std::string out;
    append_rows(out, page, "a\r\n\t\"\\\x1f\xff");
    CHECK(out.rfind(R"({"table":"a\r\n\t\"\\\u001f)"
                    "\xef\xbf\xbd\",",
                    0) == 0);
}

TEST_SUITE_END();
