#pragma once

#include "core/feed_writer.hpp"
#include "core/repair.hpp"

namespace litefeed {

/// Whether entries are gone that nobody thinned away (log_reader::is_lost), or a generation's beginning is another entry.
[[nodiscard]] bool log_is_lost(const feed_writer& to, const meta& m);

/// The highest number that anybody can hold, of all that can be read, and `seen`.
[[nodiscard]] stamp highest_told(const connection& db, stamp seen);

/// Empties the log: the next entry stands above `known`, which is the floor.
void begin_log_above(feed_writer& to, stamp known);

/// The log begins again above the highest number that anybody can hold, with every table that is captured in a new
/// generation, `feed_restored`.
void begin_log_again(feed_writer& to, stamp seen, repair_report& report);

}  // namespace litefeed
