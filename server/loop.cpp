#include "server/loop.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <ctime>

#include "server/session.hpp"

namespace litefeed::server {
namespace {

constexpr std::chrono::milliseconds sweep_every{250};
constexpr std::chrono::milliseconds end_deadline{700}, accept_pause{100};

}  // namespace

loop::loop(const shared_parts& shared, const feed_options& feed)
    : shared_(shared),
      source_(shared.options->database, feed, shared.columns),
      reads_(io_.get_executor(), source_, *shared.pool, shared.writer),
      subscribers_(reads_, stats_),
      watch_(io_.get_executor(), shared.options->database),
      pace_(shared.options->poll),
      poll_timer_(io_.get_executor()),
      sweep_timer_(io_.get_executor()),
      end_timer_(io_.get_executor()) {
    if (shared.tokens != nullptr) tokens_ = shared.tokens->look();
}

loop::~loop() = default;

void loop::listen_on(int socket, bool v6) {
    acceptors_.push_back(
        std::make_unique<tcp_acceptor>(io_.get_executor(), v6 ? tcp::v6() : tcp::v4(), socket));
}

void loop::run() {
    // What leaves `accept` leaves `run`, too: a loop that takes no connections any more is none.
    const auto ended = [this](std::exception_ptr failed) {
        if (failed) asio::post(io_, [failed] { std::rethrow_exception(failed); });
    };
    for (auto& a : acceptors_) asio::co_spawn(io_, accept(a.get()), ended);
    look();
    poll();
    sweep();
    io_.run();
}

task<void> loop::accept(tcp_acceptor* from) {
    timer pause(io_.get_executor());
    for (;;) {
        tcp_socket socket(io_.get_executor());
        const auto [failed] = co_await from->async_accept(socket, asio::as_tuple(use_task));
        if (stopping_ || failed == asio::error::operation_aborted) co_return;
        if (!failed) serve_connection(*this, std::move(socket));
        if (failed || full(shared_.surplus_max)) {
            // Out of descriptors, mostly: those who are there leave some time. Accepting never ends for it.
            pause.expires_after(accept_pause);
            co_await pause.async_wait(asio::as_tuple(use_task));
        }
    }
}

bool loop::full(std::size_t surplus) const {
    return static_cast<std::size_t>(stats_.connections.load(std::memory_order_relaxed)) >
           shared_.connections_max + surplus;
}

void loop::enter(live_session& s) { sessions_.push_back(s); }

void loop::look() {
    const bool told = watch_.drain();
    const bool silent = pace_.rare() && !told;
    if (told && pace_.rare()) {
        pace_.written(steady::now());
        poll_timer_.cancel();
    }
    const auto moved = source_.call([](feed& f) { return f.moved(); });
    const bool reopened = source_.openings() != openings_;
    if (moved && !*moved && !look_again_ && !reopened) {
        if (subscribers_.unanswered()) subscribers_.ring();
        return;
    }
    if (moved && *moved) pace_.moved(steady::now(), told);
    if (silent || reopened) watch_.renew();
    // Another file under the name: what this server was asked to watch is to be watched there too.
    if (moved && reopened && openings_ != 0 && shared_.writer != nullptr)
        shared_.writer->watch_again();
    answers_.file_moved();
    if (!moved) {
        look_again_ = true;
        return;
    }
    if (repairing_) {
        look_again_ = true;
        return;
    }
    const auto seen = source_.call([this](feed& f) {
        auto out = f.look(known_);
        if (out) known_ = f.bookmark();
        return out;
    });
    look_again_ = !seen;
    if (!seen) {
        // Drift must be repaired before anyone is answered.
        if (seen.error() == errc::drifted) {
            repairing_ = true;
            reads_.repair([this] { repairing_ = false; });
        }
        return;
    }
    if (seen->watched && shared_.writer != nullptr) shared_.writer->see_watched(*seen->watched);
    // A change of the schema that harmed nothing is only written down, and everyone is answered meanwhile.
    if (seen->unrecorded && !recording_) {
        recording_ = true;
        reads_.repair([this] { recording_ = false; });
    }
    // The others would start over twice, if they were answered before the new lineage.
    if (seen->gone && shared_.writer != nullptr) {
        repairing_ = look_again_ = true;
        shared_.writer->begin_lineage(*seen->gone,
                                      [this] { asio::post(io_, [this] { repairing_ = false; }); });
        return;
    }
    openings_ = source_.openings();
    const bool everyone = seen->ask_again || reopened;
    if (everyone) subscribers_.distrust();
    subscribers_.ring();
    // A stream's read may have found the file unusable; then they wait until it is opened anew.
    if (const auto* feed = source_.ready()) waiters_.ring(*feed, everyone);
}

void loop::listened() {
    if (someone_listened_) return;
    someone_listened_ = true;
    poll_timer_.cancel();
}

void loop::poll() {
    someone_listened_ = !subscribers_.empty() || waiters_.size() > 0;
    poll_timer_.expires_after(pace_.next(steady::now(), someone_listened_, watch_.stands()));
    if (pace_.rare()) watch_.wait([this] { poll_timer_.cancel(); });
    poll_timer_.async_wait([this](const error_code&) {
        if (stopping_) return;
        look();
        poll();
    });
}

void loop::sweep() {
    sweep_timer_.expires_after(sweep_every);
    sweep_timer_.async_wait([this](const error_code& cancelled) {
        if (cancelled || stopping_) return;
        subscribers_.sweep();
        waiters_.sweep();
        if (shared_.tokens != nullptr) look_at_tokens();
        const auto now = steady::now();
        // Only the mark and the cancel here: the session itself says what its deadline means.
        for (auto& s : sessions_) s.expire(now);
        sweep();
    });
}

/// Who holds a token that was taken away is told nothing more.
void loop::look_at_tokens() {
    auto fresh = shared_.tokens->look();
    if (fresh == tokens_) return;
    const auto before = std::exchange(tokens_, std::move(fresh));
    const bool revoked = std::any_of(before->begin(), before->end(),
                                     [&](const token& t) { return !has_token(*tokens_, t.id); });
    if (!revoked) return;
    subscribers_.say_bye("token_revoked",
                         [&](const subscriber& s) { return !has_token(*tokens_, s.token_id); });
    waiters_.ring_all();  // each asks again whether it may
}

const std::string& loop::date() {
    const auto now = std::time(nullptr);
    if (now != date_of_) {
        date_of_ = now;
        std::tm parts{};
        ::gmtime_r(&now, &parts);
        char text[40];
        // "%a" and "%b" are English: no locale is ever set here.
        const auto n = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
        date_.assign(text, n);
    }
    return date_;
}

void loop::stop() {
    asio::post(io_, [this] {
        stopping_ = true;
        error_code ignored;
        for (auto& a : acceptors_) a->close(ignored);
        waiters_.ring_all();
        subscribers_.say_bye("shutdown", [](const subscriber&) { return true; });
        for (auto& s : sessions_) s.wind_up();
        watch_.close();
        poll_timer_.cancel();
        sweep_timer_.cancel();
        end_timer_.expires_after(end_deadline);
        end_timer_.async_wait([this](const error_code&) {
            subscribers_.abandon();
            io_.stop();
        });
        wind_up();
    });
}

/// Nobody left before the deadline: then now.
void loop::wind_up() {
    if (subscribers_.empty() && sessions_.empty()) {
        end_timer_.cancel();
        return;
    }
    poll_timer_.expires_after(std::chrono::milliseconds(5));
    poll_timer_.async_wait([this](const error_code&) { wind_up(); });
}

}  // namespace litefeed::server
