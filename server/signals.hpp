#pragma once

#include <pthread.h>
#include <signal.h>

#include <chrono>

namespace litefeed::server {

/// SIGTERM and SIGINT, taken as values instead of interruptions: blocked for the thread that makes this and all it
/// starts, and waited for.
class stop_signals {
  public:
    stop_signals() {
        ::sigemptyset(&set_);
        ::sigaddset(&set_, SIGTERM);
        ::sigaddset(&set_, SIGINT);
        ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    }

    /// The signal that came.
    [[nodiscard]] int wait() const {
        int which = 0;
        while (::sigwait(&set_, &which) != 0) {
        }
        return which;
    }

    /// Whether one came within `pause`.
    [[nodiscard]] bool wait_for(std::chrono::milliseconds pause) const {
        const timespec t{.tv_sec = pause.count() / 1000,
                         .tv_nsec = pause.count() % 1000 * 1'000'000};
        return ::sigtimedwait(&set_, nullptr, &t) > 0;
    }

  private:
    sigset_t set_{};
};

}  // namespace litefeed::server
