#pragma once

#include <boost/asio/as_tuple.hpp>

#include "server/net.hpp"

namespace litefeed::server {

/// One task waits, someone on the same loop rings. A ring before the wait is not lost.
class bell {
  public:
    explicit bell(const executor& on) : timer_(on) {}

    void ring() {
        rung_ = true;
        timer_.cancel();
    }

    /// Returns at the ring or at `deadline`, whichever is first; then the bell is silent again.
    task<void> wait(steady::time_point deadline = steady::time_point::max()) {
        if (!rung_) {
            timer_.expires_at(deadline);
            co_await timer_.async_wait(asio::as_tuple(use_task));
        }
        rung_ = false;
    }

  private:
    timer timer_;
    bool rung_ = false;
};

}  // namespace litefeed::server
