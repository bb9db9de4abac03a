#include "server/shared_blocks.hpp"

#include <algorithm>

#include "server/render.hpp"

namespace litefeed::server {
namespace {

// A page of a stream: small, because a reader that is stuck keeps one, and because a page is a place to go on from.
constexpr int page_rows_max = 1000;
constexpr std::size_t page_bytes_max = 64 * 1024;
// What was rendered is shared by all at one place; where everyone stands elsewhere, keeping them would only fill memory.
constexpr std::size_t kept_bytes_max = 4 * 1024 * 1024;
constexpr std::size_t kept_block_bytes = 128;  // what one costs beside its bytes, about

/// A place that everything up to `told` was said of, when `settled`.
place_ptr make_place(position at, std::string text, stamp told, bool settled, std::uint64_t epoch) {
    return std::make_shared<const place>(place{.at = std::move(at),
                                               .text = std::move(text),
                                               .told = told,
                                               .settled = settled,
                                               .epoch = epoch});
}

std::string retry_line(std::chrono::milliseconds retry) {
    return "retry: " + std::to_string(retry.count()) + "\n";
}

/// A client may hold more than this server has read by now; a head below its place would be no head.
void append_start(std::string& out, const place& start, stamp head) {
    if (const auto* rest = std::get_if<rest_cursor>(&start.at)) head = std::max(head, rest->at);
    append_cursor_event(out, head, start.text);
}

}  // namespace

question shared_blocks::ask_from(const place& from) const {
    return {.from = from.at,
            .want = kind_.want,
            .rows_max = page_rows_max,
            .bytes_max = page_bytes_max,
            .snapshot = kind_.snapshot};
}

block_ptr shared_blocks::render(const place_ptr& from, const answer& a, std::uint64_t epoch) const {
    auto then = make_place(a.next, a.cursor(), a.head, !a.more, epoch);
    std::string text;
    if (!a.changes.changes.empty() || a.reset)
        append_events(text, a, then->text, from->text.empty() ? then->text : from->text,
                      kind_.named);
    else if (!from->text.empty() && then->text != from->text)
        append_cursor_event(text, a.head, then->text);
    return make(std::move(text), std::move(then));
}

void shared_blocks::keep(const place_ptr& from, block_ptr leads_on) {
    if (kept_bytes_ > kept_bytes_max) forget();
    kept_bytes_ += leads_on->bytes.size() + from->text.size() + kept_block_bytes;
    last_from_ = from;
    last_ = leads_on;
    kept_.insert_or_assign(from->text, std::move(leads_on));
}

block_ptr shared_blocks::find(const place_ptr& from) const {
    if (last_from_ == from) return last_;
    const auto known = kept_.find(from->text);
    return known != kept_.end() ? known->second : nullptr;
}

void shared_blocks::forget() {
    kept_.clear();
    kept_bytes_ = 0;
    last_from_ = nullptr;
    last_ = nullptr;
    bookmark_ = nullptr;
}

std::string shared_blocks::hello(std::chrono::milliseconds retry, const place* start,
                                 stamp head) const {
    std::string text = ": litefeed 1\n" + retry_line(retry);
    if (start != nullptr)
        append_start(text, *start, head);
    else
        text += '\n';
    return framed(std::move(text));
}

block_ptr shared_blocks::announcement(const place& start, stamp head) const {
    std::string text;
    append_start(text, start, head);
    return make(std::move(text));
}

block_ptr shared_blocks::bookmark(const rest_cursor& here, std::uint64_t epoch) {
    if (!bookmark_) {
        auto then = make_place(here, to_text(here), here.at, true, epoch);
        std::string text;
        append_cursor_event(text, here.at, then->text);
        bookmark_ = make(std::move(text), std::move(then));
    }
    return bookmark_;
}

block_ptr shared_blocks::comment() {
    if (!comment_) comment_ = make(":\n\n");
    return comment_;
}

block_ptr shared_blocks::heartbeat(stamp head) const {
    return make("event: heartbeat\ndata: {\"head\":" + std::to_string(head.n) + "}\n\n");
}

block_ptr shared_blocks::bye(std::string_view reason, std::chrono::milliseconds retry) const {
    auto bytes = framed(retry_line(retry) + "event: bye\ndata: {\"reason\":\"" +
                        std::string(reason) + "\"}\n\n");
    if (kind_.chunked) bytes += "0\r\n\r\n";
    return std::make_shared<const block>(block{.bytes = std::move(bytes), .then = nullptr});
}

std::string shared_blocks::framed(std::string text) const {
    if (!kind_.chunked) return text;
    std::string out;
    out.reserve(text.size() + 24);
    append_chunk(out, text);
    return out;
}

block_ptr shared_blocks::make(std::string text, place_ptr then) const {
    return std::make_shared<const block>(
        block{.bytes = framed(std::move(text)), .then = std::move(then)});
}

}  // namespace litefeed::server
