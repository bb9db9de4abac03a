#pragma once

#include <algorithm>
#include <chrono>
#include <ostream>

#include "server/net.hpp"

namespace litefeed::server {

/// When a stream with no news is looked at, and what it is told then. Without time of its own, so that it can be tested:
/// `now` is given.
///
/// Two rules stand beside each other: whoever heard nothing for `quiet_min` is told something, and whoever asked for
/// events gets them as often as asked. The first holds whatever was asked for.
class heartbeat {
  public:
    using duration = steady::duration;
    /// A comment is promised every 15 s; the sweep may be late by a quarter of one.
    static constexpr duration quiet_min = std::chrono::milliseconds(12'000);
    /// Looks are spread over this much more, so that ten thousand are not told at once.
    static constexpr duration spread_max = std::chrono::milliseconds(2'500);
    static constexpr std::chrono::seconds progress_deadline{30};
    /// How often the sweep looks at one that is still writing.
    static constexpr duration look_at_writing = std::chrono::seconds(1);

    enum class sign {
        none,
        close,    ///< it took nothing for too long
        comment,  ///< it heard nothing for a while
        event,    ///< it asked for one
    };

    /// `asked`: an event so often; 0: none. `spread`: 0 to `spread_max`, by chance.
    heartbeat(steady::time_point now, duration asked, duration spread)
        : asked_(asked),
          next_event_(asked > duration(0) ? now + asked : steady::time_point::max()),
          due_(std::min(next_event_, now + quiet_min + spread)) {}

    /// Whether `look` has anything to say; cheap, and not moved by each write.
    [[nodiscard]] bool due(steady::time_point now) const { return due_ <= now; }

    /// What it is told now. `progress`: when the kernel last took a byte of it.
    [[nodiscard]] sign look(steady::time_point now, steady::time_point progress, bool writing,
                            duration spread) {
        if (writing) {
            due_ = std::min(progress + progress_deadline, now + look_at_writing);
            return now - progress >= progress_deadline ? sign::close : sign::none;
        }
        if (next_event_ <= now) {
            next_event_ = now + asked_;
            due_ = std::min(next_event_, now + quiet_min + spread);
            return sign::event;
        }
        const bool heard = now < progress + quiet_min;
        due_ = std::min(next_event_, (heard ? progress : now) + quiet_min + spread);
        return heard ? sign::none : sign::comment;
    }

  private:
    duration asked_;
    steady::time_point next_event_;
    steady::time_point due_;
};

inline std::ostream& operator<<(std::ostream& out, heartbeat::sign s) {
    constexpr const char* words[] = {"none", "close", "comment", "event"};
    return out << words[static_cast<int>(s)];
}

}  // namespace litefeed::server
