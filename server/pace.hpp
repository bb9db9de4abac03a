#pragma once

#include <algorithm>
#include <chrono>

#include "server/net.hpp"

namespace litefeed::server {

/// How soon a loop looks at the file again. Without time of its own, so that it can be tested: `now` is given.
///
/// While somebody listens and nothing is told of the file, looks are rare: each costs a wake of the thread. A write that
/// the kernel tells begins a stretch of the closest looks, since the commit is seen only when the writer's fsync is
/// done; a commit begins a stretch of looks at the ordinary distance. A watch that was silent over three commits in a
/// row is not believed any more, and looks stay at the ordinary distance.
class pace {
  public:
    using duration = steady::duration;
    static constexpr duration nobody_listens = std::chrono::milliseconds(250);
    static constexpr duration quiet = std::chrono::milliseconds(20);
    static constexpr duration closest = std::chrono::microseconds(500);
    static constexpr duration expectation = std::chrono::milliseconds(20);
    static constexpr duration stretch = std::chrono::milliseconds(250);
    static constexpr int silences_max = 3;

    /// `ordinary`: the distance of looks that the user asked for.
    explicit pace(duration ordinary) : ordinary_(ordinary) {}

    /// The kernel told a write.
    void written(steady::time_point now) {
        silences_ = 0;
        expects_until_ = now + expectation;
        busy_until_ = now + stretch;
    }
    /// A look found the file moved; `told`: `written` went before it.
    void moved(steady::time_point now, bool told) {
        if (rare_ && !told) ++silences_;
        expects_until_ = {};
        busy_until_ = now + stretch;
    }
    /// Looks are rare, so a write that is told now matters.
    [[nodiscard]] bool rare() const { return rare_; }

    /// The time until the next look. `watched`: the kernel would tell a write.
    [[nodiscard]] duration next(steady::time_point now, bool anyone_listens, bool watched) {
        rare_ = false;
        if (!anyone_listens) return nobody_listens;
        if (now < expects_until_) return std::min(closest, ordinary_);
        if (now < busy_until_ || !watched || silences_ >= silences_max) return ordinary_;
        rare_ = true;
        return std::max(quiet, ordinary_);
    }

  private:
    duration ordinary_;
    steady::time_point expects_until_{}, busy_until_{};
    int silences_ = 0;
    bool rare_ = false;
};

}  // namespace litefeed::server
