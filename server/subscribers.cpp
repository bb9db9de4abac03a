#include "server/subscribers.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace litefeed::server {
namespace {

constexpr std::chrono::milliseconds unanswered_pause{20};
// An owner's migration that takes a table away for longer than this means it.
constexpr std::chrono::seconds unknown_patience{10};
constexpr int send_buffer_bytes = 128 * 1024;

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
        g = std::make_shared<subscriber_group>(kind);
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
    auto start = std::make_shared<const place>(
        place{.at = want.start.from, .text = want.start.text, .told = {}});
    const auto s =
        std::make_shared<subscriber>(std::move(socket), *this, group.get(), std::move(start));
    s->seat = group->seats.size();
    s->token_id = token_id;
    const auto asked = want.heartbeat.value_or(std::chrono::seconds(0));
    group->seats.push_back({s, heartbeat(steady::now(), asked, spread())});
    ++count_;
    count(stats_.subscribers);

    // All that is known at once goes out in one write: header, place, and what was missed.
    block_ptr missed;
    if (find_start(*s) && next_step(*s->at, group->newest, epoch_) == step::ask)
        missed = block_after(*s);
    const auto* feed = from_.own().ready();
    s->announced = feed != nullptr && !s->at->text.empty();
    if (!s->at->text.empty()) head += "Last-Event-ID: " + s->at->text + "\r\n";
    head += "\r\n";
    head += group->blocks.hello(between(2000, 4000), s->announced ? s->at.get() : nullptr,
                                s->announced ? feed->head() : stamp{});
    place_ptr then;
    if (missed && s->announced) {
        head += missed->bytes;
        then = missed->then;
    }
    s->notice_close();
    send(*s, std::make_shared<const block>(block{std::move(head), std::move(then)}));
    if (!s->ended() && !s->sending()) advance_later(*s);
    bury();
}

void subscribers::ring() {
    const auto now = steady::now();
    iterating_ = true;
    // Each group's reads may find the file unusable (a page of one table is broken), and then there is no feed for the
    // next: so the next ring begins behind it, and all have their turn.
    auto next = lost_at_ ? groups_.upper_bound(*lost_at_) : groups_.begin();
    lost_at_.reset();
    for (std::size_t i = 0; i < groups_.size(); ++i, ++next) {
        if (next == groups_.end()) next = groups_.begin();
        auto& [kind, g] = *next;
        const auto* feed = from_.own().ready();
        if (feed == nullptr) break;
        g->blocks.forget();
        const auto newest = feed->newest(kind.want);
        const bool again = g->unanswered && now >= again_at_;
        if (newest == g->newest && g->epoch == epoch_ && !again) continue;
        g->newest = newest;
        g->epoch = epoch_;
        g->unanswered = false;
        for (std::size_t seat = 0; seat < g->seats.size() && !g->unanswered; ++seat)
            advance(*g->seats[seat].who);
        if (from_.own().ready() == nullptr) lost_at_ = kind;
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
    if (s.ended() || s.sending() || s.asking || !s.leaving.empty()) return;
    auto& g = *s.home;
    if (!s.announced && !announce(s)) return;
    if (s.sending() || s.ended()) return;
    while (next_step(*s.at, g.newest, epoch_) == step::ask) {
        const auto b = block_after(s);
        if (!b) return;
        if (!b->bytes.empty()) {
            send(s, b);
            // One block a turn, so that a long run is not told to one while the others wait.
            if (!s.ended() && !s.sending() && next_step(*s.at, g.newest, epoch_) == step::ask)
                advance_later(s);
            return;
        }
        if (!b->then->settled && b->then->text == s.at->text) return;
        s.at = b->then;
    }
}

void subscribers::advance_later(subscriber& s) {
    asio::post(from_.on(), [this, s = s.shared_from_this()] {
        advance(*s);
        bury();
    });
}

/// A stream that starts at the head learns which place that is; false while the file does not say.
bool subscribers::find_start(subscriber& s) {
    if (s.at->text.empty())
        if (const auto b = block_after(s)) s.at = b->then;
    return from_.own().ready() != nullptr && !s.at->text.empty();
}

/// Tells where the stream starts, once that is known; false while it is not.
bool subscribers::announce(subscriber& s) {
    if (from_.own().ready() == nullptr || !find_start(s)) return false;
    s.announced = true;
    send(s, s.home->blocks.announcement(*s.at, from_.own().ready()->head()));
    return true;
}

/// The block that leads on from where `s` stands; none when the pool reads it or the file cannot answer now.
block_ptr subscribers::block_after(subscriber& s) {
    auto& g = *s.home;
    if (auto known = g.blocks.find(s.at)) return known;
    auto q = g.blocks.ask_from(*s.at);
    q.effort_max = effort_inline;
    const auto a = from_.own().call([&](feed& f) { return f.changes(q); });
    if (a) {
        g.unknown_since.reset();
        auto b = g.blocks.render(s.at, *a, epoch_);
        g.blocks.keep(s.at, b);
        return b;
    }
    if (a.error() == errc::too_long)
        ask_pool(s);
    else
        hold(g, a.error());
    return nullptr;
}

/// Whatever it is, it may pass, and any status but 200 would end a stream for good: the group waits, and is rung again.
void subscribers::hold(subscriber_group& g, const error_code& why) {
    const auto now = steady::now();
    g.unanswered = true;
    again_at_ = now + unanswered_pause;
    if (why != errc::unknown_table)
        g.unknown_since.reset();
    else if (!g.unknown_since)
        g.unknown_since = now;
    if (why == errc::drifted) from_.repair([this] { again_at_ = {}; });
}

void subscribers::ask_pool(subscriber& s) {
    auto& waiting = s.home->asked[s.at->text];
    waiting.push_back(s.weak_from_this());
    s.asking = true;
    if (waiting.size() > 1) return;
    from_.pool().submit([this, g = s.home->shared_from_this(), at = s.at, epoch = epoch_,
                         q = s.home->blocks.ask_from(*s.at),
                         on = from_.on()](source& from) mutable {
        auto a = std::make_shared<result<answer>>(from.call([&](feed& f) { return f.changes(q); }));
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
    block_ptr b;
    if (a)
        b = g->blocks.render(from, *a, epoch);
    else
        hold(*g, a.error());
    for (const auto& weak : waiting) {
        const auto s = weak.lock();
        if (!s || s->ended()) continue;
        s->asking = false;
        // Who is still writing its header asks again afterwards; so does who was not announced.
        if (!b || s->sending() || !s->announced || !s->leaving.empty()) {
            advance_later(*s);
            continue;
        }
        if (b->bytes.empty())
            s->at = b->then;
        else
            send(*s, b);
        if (!s->ended() && !s->sending()) advance_later(*s);
    }
}

void subscribers::send(subscriber& s, block_ptr b) {
    count(stats_.frames);
    if (s.send(std::move(b), steady::now()) == subscriber::written::lost) drop(s);
}

void subscribers::wrote(subscriber& s, subscriber::written how) {
    if (how == subscriber::written::lost) {
        drop(s);
    } else if (how == subscriber::written::whole) {
        if (s.parting)
            drop(s);
        else if (!s.leaving.empty())
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
        if (g->seats.empty()) groups_.erase(groups_.find(g->blocks.kind()));
    }
}

void subscribers::probe(subscriber& s) {
    if (!s.sending() && !s.ended()) send(s, s.home->blocks.comment());
}

void subscribers::sweep() {
    const auto now = steady::now();
    iterating_ = true;
    for (auto& [kind, g] : groups_) {
        const bool unknown = g->unknown_since && now - *g->unknown_since > unknown_patience;
        for (auto& seat : g->seats) {
            if (unknown) leave(*seat.who, "unknown_table");
            if (seat.beat.due(now) && !seat.who->ended()) look_at(seat, now);
        }
    }
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
        !bookmark_due(*s.at, feed->newest(g.blocks.kind().want), feed->head(), epoch_))
        return false;
    send(s, g.blocks.bookmark(feed->bookmark(), epoch_));
    return true;
}

void subscribers::give_heartbeat(subscriber& s) {
    const auto* feed = from_.own().ready();
    send(s, s.home->blocks.heartbeat(feed != nullptr ? feed->head() : stamp{}));
}

void subscribers::say_bye(std::string_view reason,
                          const std::function<bool(const subscriber&)>& to) {
    iterating_ = true;
    for (auto& [kind, g] : groups_)
        for (auto& seat : g->seats) {
            if (!seat.who->ended() && to(*seat.who)) leave(*seat.who, reason);
        }
    iterating_ = false;
    bury();
}

void subscribers::leave(subscriber& s, std::string_view reason) {
    if (s.ended() || !s.leaving.empty()) return;
    s.leaving = reason;
    if (!s.sending()) part(s);
}

void subscribers::part(subscriber& s) {
    // Who comes back where many were comes back later, and not all in one instant.
    const int spread = 1000 + static_cast<int>(std::min<std::size_t>(count_, 9000));
    const auto last = s.home->blocks.bye(s.leaving, between(5000, 5000 + spread));
    s.parting = true;
    count(stats_.frames);
    if (s.send(last, steady::now()) != subscriber::written::partly) drop(s);
}

void subscribers::abandon() {
    iterating_ = true;
    for (auto& [kind, g] : groups_)
        for (auto& seat : g->seats) drop(*seat.who);
    iterating_ = false;
    bury();
}

}  // namespace litefeed::server
