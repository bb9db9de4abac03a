#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "core/sqlite.hpp"
#include "core/stamp.hpp"

namespace litefeed {

struct thinning_report {
    std::int64_t removed{};   ///< entries from the log's beginning; the floor rose by them
    std::int64_t folded{};    ///< entries that the next one of their row made needless
    std::int64_t expected{};  ///< of both, how many there are to be, as far as is known
    stamp floor;
    std::chrono::microseconds
        pause{};      ///< how long to leave the file to others before the next part
    bool finished{};  ///< false: stopped by `go_on`, or the WAL is long and waits for a checkpoint
};

struct thinning_options {
    /// The time by the caller's clock. The log's own time is at most that of its newest entry: without a newer one
    /// nothing grows older.
    std::int64_t now_ms{};
    /// Whether this connection may checkpoint, as any program does. Else thinning ends while the WAL is long.
    bool checkpoints{};
};

/// Thins the log: removes what is older than the window of its tables, and what is beyond `entries_max`; once one table of
/// the file is kept as `latest`, folds instead, whatever the table. Never the newest entry; nothing above the slowest consumer but for `entries_max`.
///
/// Reads in short transactions, and removes in batches of a few milliseconds, each one BEGIN IMMEDIATE. `go_on` is called
/// between them, outside of any transaction; it waits for `pause`, or ends the thinning by false.
/// Throws sqlite_error, errc::damaged as system_error; what was removed by then stays so, and is consistent.
thinning_report thin_log(const connection& db, const thinning_options& options,
                         const std::function<bool(const thinning_report&)>& go_on);

}  // namespace litefeed
