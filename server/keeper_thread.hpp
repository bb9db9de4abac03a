#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/keeper.hpp"

namespace litefeed::server {

/// What `serve` was asked to watch.
struct watch_wish {
    std::vector<std::string> tables;
    bool all = false;
    watch_options options;
    keeping_wish keeping;
    [[nodiscard]] bool empty() const { return tables.empty() && !all; }
};
/// Watches it. Throws `cannot`; `not_now` for what passes.
[[nodiscard]] watch_report grant(keeper& by, const watch_wish& wish);
/// Logs what a wish did; `kept`: what stood already too.
void tell(const watch_report& report, bool kept);

struct keeper_orders {
    std::string path;
    watch_wish wish;
    bool names_columns = true;  ///< whether the log and the readers may be told names of columns
    std::chrono::seconds compact_every{3600};  ///< 0: the log is not thinned here
};

/// The time by which the log grows old: the system's, but never further on than this process has seen time pass, so that
/// a clock that jumps ahead makes nothing old. A clock that was set right after a start without one is believed.
class patient_clock {
  public:
    using wall = std::chrono::system_clock::time_point;
    using steady = std::chrono::steady_clock::time_point;
    [[nodiscard]] wall now(wall by_system, steady by_steady);

  private:
    std::optional<std::pair<wall, steady>> begun_;
};

/// The one writer, on a thread of its own: thins the log from time to time, and repairs. Loops that saw drift ask for a repair; all who ask meanwhile share one.
class keeper_thread {
  public:
    using done = std::function<void()>;

    /// `writer`: none when the file could not be opened yet. `open`: the wish is still to be granted; it is tried until
    /// it is.
    keeper_thread(keeper_orders orders, std::optional<keeper> writer, bool open);
    ~keeper_thread();
    keeper_thread(const keeper_thread&) = delete;
    keeper_thread& operator=(const keeper_thread&) = delete;

    /// Any thread. `after` is called on the keeper's thread when an attempt that began after this call has ended,
    /// whether it could repair or not: ask again.
    /// `seen`: where the asking reader last found capture in order.
    void repair(const rest_cursor& seen, done after);
    /// Any thread: what the caller knew is not in the file any more; the keeper begins a new lineage above it. `after` as
    /// with `repair`.
    void begin_lineage(const rest_cursor& known, done after);
    /// Any thread: there is another file under the name, so the wish is to be granted again.
    void watch_again();
    /// What is watched by now: does the same where something of the orders is missing there.
    void see_watched(const std::vector<std::string>& tables);
    /// Any thread: why the last attempt failed, in words; empty when it did not.
    [[nodiscard]] std::string trouble() const;

  private:
    void work();
    bool attempt(const rest_cursor& seen);
    template <class Write>
    bool attempt_write(Write&& write);
    void tell_repair(const repair_report& report) const;
    bool attempt_wish();
    bool open_writer();
    /// `log`: not for what only passes.
    void failed(const std::string& words, bool log);
    void done_well();

    void thin();

    const keeper_orders orders_;
    std::optional<keeper> writer_;
    patient_clock clock_;
    std::chrono::steady_clock::time_point next_thinning_;
    mutable std::mutex mutex_;
    std::condition_variable came_;
    std::vector<done> asked_;
    rest_cursor seen_;  ///< the highest of those who asked, in the last one's history
    std::optional<rest_cursor> gone_;  ///< what was known and is not there any more
    bool wish_open_;
    std::string trouble_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace litefeed::server
