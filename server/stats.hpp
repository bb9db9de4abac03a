#pragma once

#include <atomic>
#include <cstdint>

namespace litefeed::server {

/// What one loop counts. Written by its thread, read by any.
struct loop_stats {
    std::atomic<std::int64_t> connections{0};  ///< open ones, streams included
    std::atomic<std::int64_t> subscribers{0};
    std::atomic<std::int64_t> waiters{0};   ///< long polls that wait now
    std::atomic<std::int64_t> requests{0};  ///< answered since the start
    std::atomic<std::int64_t> frames{
        0};  ///< handed to streams since the start, heartbeats included
    std::atomic<std::int64_t> slow_closed{0};  ///< streams closed because nothing moved
};

inline void count(std::atomic<std::int64_t>& what, std::int64_t by = 1) {
    what.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace litefeed::server
