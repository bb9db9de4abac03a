#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/source.hpp"

namespace litefeed::server {

/// A few threads for reads that would hold up a loop, each with its own connection. Any thread may submit.
class read_pool {
  public:
    using job = std::function<void(source&)>;

    read_pool(const std::string& path, const feed_options& options, chosen_columns* columns,
              int threads);
    /// Ends at once what runs, and drops the other jobs.
    ~read_pool();
    read_pool(const read_pool&) = delete;
    read_pool& operator=(const read_pool&) = delete;

    void submit(job);
    /// Any thread but its own: works on until nothing is asked, at most until `deadline`; then what is still read is
    /// interrupted, which comes out as errc::busy. Returns when no job runs, and none begins any more.
    void stop(std::chrono::steady_clock::time_point deadline);
    /// Whether nothing begins any more.
    [[nodiscard]] bool stopped() const;

  private:
    void work(source& from);

    mutable std::mutex mutex_;
    std::condition_variable came_, ended_;
    std::deque<job> jobs_;
    bool stopping_ = false;
    std::size_t running_ = 0;     ///< jobs
    std::deque<source> sources_;  ///< one for each thread
    std::vector<std::thread> threads_;
};

}  // namespace litefeed::server
