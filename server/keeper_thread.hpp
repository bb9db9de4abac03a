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

/// What `serve` was asked to watch.
struct watch_wish {
    std::vector<std::string> tables;
    bool all = false;
    watch_options options;
    [[nodiscard]] bool empty() const { return tables.empty() && !all; }
};
/// Watches it. Throws `cannot`; `not_now` for what passes.
[[nodiscard]] watch_report grant(keeper& by, const watch_wish& wish);
/// Logs what a wish did; `kept`: what stood already too.
void tell(const watch_report& report, bool kept);

/// The one writer, on a thread of its own. Loops that saw drift ask for a repair; all who ask meanwhile share one.
class keeper_thread {
  public:
    using done = std::function<void()>;

    /// `writer`: none when the file could not be opened yet. `open`: the wish is still to be granted; it is tried until
    /// it is. `names_columns`: whether the log and the readers may be told names of columns.
    keeper_thread(std::string path, std::optional<keeper> writer, watch_wish wish, bool open,
                  bool names_columns);
    ~keeper_thread();
    keeper_thread(const keeper_thread&) = delete;
    keeper_thread& operator=(const keeper_thread&) = delete;

    /// Any thread. `after` is called on the keeper's thread when an attempt that began after this call has ended,
    /// whether it could repair or not: ask again.
    /// `seen`: where the asking reader last found capture in order.
    void repair(stamp seen, done after);
    /// Any thread: there is another file under the name, so the wish is to be granted again.
    void watch_again();
    /// Any thread: why the last attempt failed, in words; empty when it did not.
    [[nodiscard]] std::string trouble() const;

  private:
    void work();
    void attempt(stamp seen);
    bool attempt_wish();
    bool open_writer();
    /// `log`: not for what only passes.
    void failed(const std::string& words, bool log);
    void done_well();

    std::string path_;
    std::optional<keeper> writer_;
    watch_wish wish_;
    const bool names_columns_;
    mutable std::mutex mutex_;
    std::condition_variable came_;
    std::vector<done> asked_;
    stamp seen_;  ///< the latest of those who asked
    bool wish_open_;
    std::string trouble_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace litefeed::server
