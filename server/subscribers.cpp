#include "server/subscribers.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "server/render.hpp"

namespace litefeed::server {
namespace {

// A page of a stream: small, because a reader that is stuck keeps one, and because a page is a place to go on from.
constexpr int page_rows_max = 1000;
constexpr std::size_t page_bytes_max = 64 * 1024;
// What was rendered is shared by all at one place; where everyone stands elsewhere, keeping them would only fill memory.
constexpr std::size_t kept_bytes_max = 4 * 1024 * 1024;
constexpr std::chrono::milliseconds unanswered_pause{20};
constexpr int send_buffer_bytes = 128 * 1024;

std::string framed(const subscriber_group& g, std::string_view text) {
    if (!g.kind.chunked) return std::string(text);
    std::string out;
    out.reserve(text.size() + 24);
    append_chunk(out, text);
    return out;
}

block_ptr make_block(std::string bytes, place_ptr then) {
    auto out = std::make_shared<block>();
    out->bytes = std::move(bytes);
    out->then = std::move(then);
    return out;
}

stamp stamp_of(const position& at) {
    if (const auto* rest = std::get_if<rest_cursor>(&at)) return rest->at;
    return {};
}

}  // namespace

subscribers::subscribers(reads& from, loop_stats& stats)
    : from_(from), stats_(stats), random_(std::random_device{}()) {}

std::chrono::milliseconds subscribers::between(int low, int high) {
    return std::chrono::milliseconds(std::uniform_int_distribution<int>(low, high)(random_));
}

heartbeat::duration subscribers::spread() {
    using std::chrono::milliseconds;
    constexpr auto most = std::chrono::duration_cast<milliseconds>(heartbeat::spread_max);
    return between(0, static_cast<int>(most.count()));
}

std::shared_ptr<subscriber_group> subscribers::group_of(const stream_kind& kind) {
    auto& g = groups_[kind];
    if (!g) {
        g = std::make_shared<subscriber_group>();
        g->kind = kind;
        g->epoch = epoch_;
        if (auto* feed = from_.own().ready()) g->newest = feed->newest(kind.want);
    }
    return g;
}

void subscribers::join(tcp_socket socket, const events_request& want, bool chunked,
                       std::string head, std::uint32_t token_id) {
    error_code ignored;
    socket.set_option(asio::socket_base::send_buffer_size(send_buffer_bytes), ignored);
    const auto group = group_of(
        {.want = want.want, .snapshot = want.snapshot, .named = want.named, .chunked = chunked});
    auto start = std::make_shared<place>();
    start->at = want.start.from;
    start->text = want.start.text;
    const auto s =
        std::make_shared<subscriber>(std::move(socket), *this, group.get(), std::move(start));
    s->seat = group->seats.size();
    s->token_id = token_id;
    const auto asked = want.heartbeat.value_or(std::chrono::seconds(0));
    group->seats.push_back({s, heartbeat(steady::now(), asked, spread())});
    ++count_;
    count(stats_.subscribers);

    // All that is known at once goes out in one write: header, place, and what was missed.
    std::string first =
        ": litefeed 1\nretry: " + std::to_string(between(2000, 4000).count()) + "\n";
    block_ptr missed;
    if (s->at->text.empty()) {
        if (const auto f = block_after(*s)) s->at = f->then;
    } else if (from_.own().ready() != nullptr) {
        missed = block_after(*s);
    }
    if (auto* feed = from_.own().ready(); feed != nullptr && !s->at->text.empty()) {
        append_cursor_event(first, std::max(feed->head(), stamp_of(s->at->at)), s->at->text);
        s->announced = true;
    } else {
        first += '\n';
    }
    if (!s->at->text.empty()) head += "Last-Event-ID: " + s->at->text + "\r\n";
    head += "\r\n";
    head += framed(*group, first);
    place_ptr then;
    if (missed && s->announced) {
        head += missed->bytes;
        then = missed->then;
    }
    s->notice_close();
    send(*s, make_block(std::move(head), std::move(then)));
    if (!s->ended() && !s->sending()) advance_later(*s);
    bury();
}

void subscribers::ring() {
    const auto now = steady::now();
    iterating_ = true;
    for (auto& [kind, g] : groups_) {
        // Each group's reads may find the file unusable, and then there is no feed for the next.
        const auto* feed = from_.own().ready();
        if (feed == nullptr) break;
        forget_blocks(*g);
        const auto newest = feed->newest(kind.want);
        const bool again = g->unanswered && now >= again_at_;
        if (newest == g->newest && g->epoch == epoch_ && !again) continue;
        g->newest = newest;
        g->epoch = epoch_;
        g->unanswered = false;
        for (std::size_t i = 0; i < g->seats.size() && !g->unanswered; ++i)
            advance(*g->seats[i].who);
    }
    iterating_ = false;
    bury();
}

bool subscribers::unanswered() const {
    return steady::now() >= again_at_ &&
           std::any_of(groups_.begin(), groups_.end(),
                       [](const auto& entry) { return entry.second->unanswered; });
}

void subscribers::advance(subscriber& s) {
    if (s.ended() || s.sending() || s.asking || s.leaving) return;
    auto& g = *s.home;
    if (!s.announced && !announce(s)) return;
    if (s.sending() || s.ended()) return;
    while (next_step(*s.at, g.newest, epoch_) == step::ask) {
        const auto f = block_after(s);
        if (!f) return;
        if (!f->bytes.empty()) {
            send(s, f);
            // one block a turn, so that a long run is not told to one while the others wait.
            if (!s.ended() && !s.sending() && next_step(*s.at, g.newest, epoch_) == step::ask)
                advance_later(s);
            return;
        }
        if (!f->then->settled && f->then->text == s.at->text) return;
        s.at = f->then;
    }
}

void subscribers::advance_later(subscriber& s) {
    asio::post(from_.on(), [this, s = s.shared_from_this()] {
        advance(*s);
        bury();
    });
}

/// Tells where the stream starts, once that is known; false while it is not.
bool subscribers::announce(subscriber& s) {
    auto* feed = from_.own().ready();
    if (feed == nullptr) return false;
    if (s.at->text.empty()) {
        const auto f = block_after(s);
        if (!f) return false;
        s.at = f->then;
    }
    std::string text;
    append_cursor_event(text, std::max(feed->head(), stamp_of(s.at->at)), s.at->text);
    s.announced = true;
    send(s, make_block(framed(*s.home, text), nullptr));
    return true;
}

question subscribers::ask_from(const subscriber_group& g, const place& from) const {
    return {.from = from.at,
            .want = g.kind.want,
            .rows_max = page_rows_max,
            .bytes_max = page_bytes_max,
            .snapshot = g.kind.snapshot,
            .effort_max = effort_inline};
}

/// The block that leads on from where `s` stands; none when the pool reads it or the file cannot answer now.
block_ptr subscribers::block_after(subscriber& s) {
    auto& g = *s.home;
    if (g.last_from == s.at) return g.last_block;
    if (const auto known = g.blocks.find(s.at->text); known != g.blocks.end()) return known->second;
    const auto q = ask_from(g, *s.at);
    const auto a = from_.own().call([&](feed& f) { return f.changes(q); });
    if (a) {
        auto f = render(g, s.at, *a, epoch_);
        keep(g, s.at, f);
        return f;
    }
    const auto why = a.error();
    if (why == errc::too_long) {
        ask_pool(s, q);
        return nullptr;
    }
    if (why == errc::malformed_cursor || why == errc::page_gone) {
        auto lost = std::make_shared<place>(*s.at);
        if (!std::holds_alternative<from_malformed>(lost->at)) {
            lost->at = from_malformed{};
            s.at = std::move(lost);
            g.last_from = nullptr;
            return block_after(s);
        }
    }
    // Whatever it is, it may pass, and any status but 200 would end the stream for good: it is held.
    g.unanswered = true;
    again_at_ = steady::now() + unanswered_pause;
    if (why == errc::drifted) from_.repair([this] { again_at_ = {}; });
    return nullptr;
}

/// `epoch`: the feed's when it was asked. An answer that came from a history which ended meanwhile settles nothing.
block_ptr subscribers::render(subscriber_group& g, const place_ptr& from, const answer& a,
                              std::uint64_t epoch) {
    auto then = std::make_shared<place>();
    then->at = a.next;
    then->text = a.cursor();
    then->told = a.head;
    then->settled = !a.more;
    then->epoch = epoch;
    std::string text;
    if (!a.changes.changes.empty() || a.reset)
        append_events(text, a, then->text, from->text.empty() ? then->text : from->text,
                      g.kind.named);
    else if (!from->text.empty() && then->text != from->text)
        append_cursor_event(text, a.head,
                            then->text);  // nothing to tell, but the client's place moved
    if (g.kind.chunked && !text.empty()) text = framed(g, text);
    return make_block(std::move(text), std::move(then));
}

void subscribers::keep(subscriber_group& g, const place_ptr& from, block_ptr f) {
    if (g.block_bytes > kept_bytes_max) forget_blocks(g);
    g.block_bytes += f->bytes.size() + from->text.size() + 128;
    g.last_from = from;
    g.last_block = f;
    g.blocks.insert_or_assign(from->text, std::move(f));
}

void subscribers::forget_blocks(subscriber_group& g) {
    g.blocks.clear();
    g.block_bytes = 0;
    g.last_from = nullptr;
    g.last_block = nullptr;
    g.bookmark = nullptr;
}

void subscribers::ask_pool(subscriber& s, const question& q) {
    auto& waiting = s.home->asked[s.at->text];
    waiting.push_back(s.weak_from_this());
    s.asking = true;
    if (waiting.size() > 1) return;
    from_.pool().submit([this, q, g = s.home->shared_from_this(), at = s.at, epoch = epoch_,
                         on = from_.on()](source& from) mutable {
        auto unbounded = q;
        unbounded.effort_max = 0;
        auto a = std::make_shared<result<answer>>(
            from.call([&](feed& f) { return f.changes(unbounded); }));
        // Group and place are let go on the loop, to which they belong.
        asio::post(on, [this, g = std::move(g), at = std::move(at), epoch, a = std::move(a)] {
            told_by_pool(g, at, epoch, *a);
            bury();
        });
    });
}

void subscribers::told_by_pool(const std::shared_ptr<subscriber_group>& g, const place_ptr& from,
                               std::uint64_t epoch, const result<answer>& a) {
    const auto entry = g->asked.find(from->text);
    if (entry == g->asked.end()) return;
    const auto waiting = std::move(entry->second);
    g->asked.erase(entry);
    block_ptr f;
    if (a) {
        f = render(*g, from, *a, epoch);
    } else {
        g->unanswered = true;
        again_at_ = steady::now() + unanswered_pause;
        if (a.error() == errc::drifted) from_.repair([this] { again_at_ = {}; });
    }
    for (const auto& weak : waiting) {
        const auto s = weak.lock();
        if (!s || s->ended()) continue;
        s->asking = false;
        // Who is still writing its header asks again afterwards; so does who was not announced.
        if (!f || s->sending() || !s->announced || s->leaving) {
            advance_later(*s);
            continue;
        }
        if (f->bytes.empty())
            s->at = f->then;
        else
            send(*s, f);
        if (!s->ended() && !s->sending()) advance_later(*s);
    }
}

void subscribers::send(subscriber& s, block_ptr f) {
    count(stats_.frames);
    if (s.send(std::move(f), steady::now()) == subscriber::written::lost) drop(s);
}

void subscribers::wrote(subscriber& s, subscriber::written how) {
    if (how == subscriber::written::lost) {
        drop(s);
    } else if (how == subscriber::written::whole) {
        if (s.parting)
            drop(s);
        else if (s.leaving)
            part(s);
        else
            advance(s);
    }
    bury();
}

void subscribers::drop(subscriber& s) {
    if (s.ended()) return;
    s.end();
    dead_.push_back(s.shared_from_this());
    if (!iterating_) bury();
}

/// Takes the ended out of their seats.
void subscribers::bury() {
    if (iterating_) return;
    const auto dead = std::move(dead_);
    dead_.clear();
    for (const auto& s : dead) {
        auto* const g = s->home;
        g->seats[s->seat] = std::move(g->seats.back());
        g->seats.pop_back();
        if (s->seat < g->seats.size()) g->seats[s->seat].who->seat = s->seat;
        --count_;
        count(stats_.subscribers, -1);
        count(stats_.connections, -1);
        if (g->seats.empty()) groups_.erase(g->kind);
    }
}

void subscribers::probe(subscriber& s) {
    if (s.sending() || s.ended()) return;
    auto& g = *s.home;
    if (!g.comment) g.comment = make_block(framed(g, ":\n\n"), nullptr);
    send(s, g.comment);
}

void subscribers::sweep() {
    const auto now = steady::now();
    iterating_ = true;
    for (auto& [kind, g] : groups_)
        for (auto& seat : g->seats)
            if (seat.beat.due(now) && !seat.who->ended()) look_at(seat, now);
    iterating_ = false;
    bury();
}

void subscribers::look_at(subscriber_group::seat& seat, steady::time_point now) {
    auto& s = *seat.who;
    switch (seat.beat.look(now, s.progress, s.sending(), spread())) {
        case heartbeat::sign::none:
            return;
        case heartbeat::sign::close:
            spdlog::info("a stream at {} took nothing for {} s and is closed", s.at->text,
                         heartbeat::progress_deadline.count());
            count(stats_.slow_closed);
            drop(s);
            return;
        case heartbeat::sign::comment:
            if (!give_bookmark(s)) probe(s);
            return;
        case heartbeat::sign::event:
            give_bookmark(s);
            if (!s.ended() && !s.sending()) give_heartbeat(s);
    }
}

/// Hands the head over as its place, when there is nothing to tell up to there; false when it stays where it is.
bool subscribers::give_bookmark(subscriber& s) {
    auto& g = *s.home;
    const auto* feed = from_.own().ready();
    if (feed == nullptr || !s.announced || s.asking ||
        !bookmark_due(*s.at, feed->newest(g.kind.want), feed->head(), epoch_))
        return false;
    if (!g.bookmark) {
        auto then = std::make_shared<place>();
        const auto cursor = feed->bookmark();
        then->at = cursor;
        then->text = to_text(cursor);
        then->told = cursor.at;
        then->settled = true;
        then->epoch = epoch_;
        std::string text;
        append_cursor_event(text, cursor.at, then->text);
        g.bookmark = make_block(framed(g, text), std::move(then));
    }
    send(s, g.bookmark);
    return true;
}

void subscribers::give_heartbeat(subscriber& s) {
    const auto* feed = from_.own().ready();
    const auto head = feed != nullptr ? feed->head() : stamp{};
    const auto text = "event: heartbeat\ndata: {\"head\":" + std::to_string(head.n) + "}\n\n";
    send(s, make_block(framed(*s.home, text), nullptr));
}

void subscribers::say_bye(std::string_view reason,
                          const std::function<bool(const subscriber&)>& to) {
    bye_reason_ = reason;
    iterating_ = true;
    for (auto& [kind, g] : groups_)
        for (auto& seat : g->seats) {
            auto& s = *seat.who;
            if (s.ended() || !to(s)) continue;
            s.leaving = true;
            if (!s.sending()) part(s);
        }
    iterating_ = false;
    bury();
}

void subscribers::part(subscriber& s) {
    // Who comes back where many were comes back later, and not all in one instant.
    const int spread = 1000 + static_cast<int>(std::min<std::size_t>(count_, 9000));
    const auto retry = between(5000, 5000 + spread);
    std::string bytes =
        framed(*s.home, "retry: " + std::to_string(retry.count()) +
                            "\nevent: bye\ndata: {\"reason\":\"" + bye_reason_ + "\"}\n\n");
    if (s.home->kind.chunked) bytes += "0\r\n\r\n";
    s.parting = true;
    count(stats_.frames);
    if (s.send(make_block(std::move(bytes), nullptr), steady::now()) != subscriber::written::partly)
        drop(s);
}

void subscribers::abandon() {
    iterating_ = true;
    for (auto& [kind, g] : groups_)
        for (auto& seat : g->seats) drop(*seat.who);
    iterating_ = false;
    bury();
}

}  // namespace litefeed::server
