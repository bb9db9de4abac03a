#pragma once

#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "server/bell.hpp"
#include "server/keeper_thread.hpp"
#include "server/read_pool.hpp"
#include "server/source.hpp"

namespace litefeed::server {

/// Log entries and rows that a loop looks at itself; beyond that the pool reads (some 1 ms of work).
inline constexpr std::int64_t effort_inline = 2000;

/// How one loop reads: from its own feed while that is short, on the pool otherwise; after a repair where the schema
/// moved. Everything is called on the loop's thread.
class reads {
  public:
    /// `writer` may be none: then nothing is repaired and the feed answers drift with resets.
    reads(const executor& on, source& own, read_pool& pool, keeper_thread* writer)
        : on_(on), own_(own), pool_(pool), writer_(writer) {}

    [[nodiscard]] source& own() { return own_; }
    [[nodiscard]] read_pool& pool() { return pool_; }
    [[nodiscard]] const executor& on() const { return on_; }

    /// Has drift repaired; `after` runs on the loop. Calls before the end of a repair share it.
    void repair(std::function<void()> after);

    /// Asks until there is an answer, at most `patience`: `errc::busy` and `errc::drifted` come out only after that.
    template <class T>
    task<result<T>> ask(std::function<result<T>(feed&, std::int64_t effort_max)> question) {
        const auto give_up = steady::now() + patience;
        auto pause = std::chrono::milliseconds(2);
        for (;;) {
            result<T> answered = own_.call([&](feed& f) { return question(f, effort_inline); });
            if (!answered && answered.error() == errc::too_long)
                answered = co_await ask_pool<T>(question);
            if (answered) co_return answered;
            const error_code why = answered.error();
            if ((why != errc::busy && why != errc::drifted) || steady::now() > give_up ||
                pool_.stopped())
                co_return answered;
            bell waiting(on_);
            if (why == errc::drifted) {
                const auto shared = std::make_shared<bell>(on_);
                repair([shared] { shared->ring(); });
                co_await shared->wait(give_up);
            }
            co_await waiting.wait(steady::now() + pause);
            pause = std::min(pause * 2, std::chrono::milliseconds(50));
        }
    }

    static constexpr std::chrono::milliseconds patience{1500};

  private:
    template <class T>
    task<result<T>> ask_pool(std::function<result<T>(feed&, std::int64_t)> question) {
        struct pending {
            explicit pending(const executor& on) : done(on) {}
            std::optional<result<T>> answered;
            bell done;
        };
        auto state = std::make_shared<pending>(on_);
        pool_.submit([state, question, on = on_](source& from) mutable {
            state->answered.emplace(from.call([&](feed& f) { return question(f, 0); }));
            // The state is let go on the loop, whose timer it holds.
            asio::post(on, [state = std::move(state)] { state->done.ring(); });
        });
        co_await state->done.wait();
        if (!state->answered) co_return errc::busy;
        co_return std::move(*state->answered);
    }

    executor on_;
    source& own_;
    read_pool& pool_;
    keeper_thread* writer_;
    std::vector<std::function<void()>> after_repair_;
    bool repairing_ = false;
};

}  // namespace litefeed::server
