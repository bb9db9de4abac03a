#pragma once

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
    /// Finishes the jobs that run, drops the others.
    ~read_pool();
    read_pool(const read_pool&) = delete;
    read_pool& operator=(const read_pool&) = delete;

    void submit(job);

  private:
    void work(source from);

    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<job> jobs_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace litefeed::server
