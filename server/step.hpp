#pragma once

#include <cstdint>
#include <string>

#include "core/cursor.hpp"

namespace litefeed::server {

/// Where a subscriber stands. Shared by all who were told the same.
struct place {
    position at = from_now{};
    std::string text;         ///< as the client knows it; empty: the head, not known yet
    stamp told;               ///< everything up to here was told, when `settled`
    bool settled = false;     ///< an answer of this server ended here with `more: false`
    std::uint64_t epoch = 0;  ///< of the feed when it was settled; another one: ask again
};

enum class step { wait, ask };

/// What a subscriber that writes nothing now does next. `newest` is the newest stamp that tells its selection
/// something. A place that a client brought is asked once whatever its number: only the log knows its history.
[[nodiscard]] inline step next_step(const place& at, stamp newest, std::uint64_t epoch) {
    if (!at.settled || at.epoch != epoch) return step::ask;
    return at.told < newest ? step::ask : step::wait;
}

/// Whether a quiet subscriber should be handed the head as its place: it moved, and nothing up to it concerns them.
[[nodiscard]] inline bool bookmark_due(const place& at, stamp newest, stamp head,
                                       std::uint64_t epoch) {
    return next_step(at, newest, epoch) == step::wait && at.told < head;
}

}  // namespace litefeed::server
