#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/keeper.hpp"

namespace litefeed::server {

/// The one writer, on a thread of its own. Loops that saw drift ask for a repair; all who ask meanwhile share one.
class keeper_thread {
  public:
    using done = std::function<void()>;

    /// `names_columns`: whether the log may name columns.
    keeper_thread(std::string path, keeper writer, bool names_columns);
    ~keeper_thread();
    keeper_thread(const keeper_thread&) = delete;
    keeper_thread& operator=(const keeper_thread&) = delete;

    /// Any thread. `after` is called on the keeper's thread when an attempt that began after this call has ended,
    /// whether it could repair or not: ask again.
    /// `seen`: where the asking reader last found capture in order.
    void repair(stamp seen, done after);

  private:
    void work();
    void attempt(stamp seen);

    std::string path_;
    std::optional<keeper> writer_;
    const bool names_columns_;
    std::mutex mutex_;
    std::condition_variable came_;
    std::vector<done> asked_;
    stamp seen_;  ///< the latest of those who asked
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace litefeed::server
