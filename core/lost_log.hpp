#pragma once

#include "core/feed_writer.hpp"
#include "core/repair.hpp"

namespace litefeed {

/// Whether entries are gone that nobody thinned away (log_reader::is_lost), or a generation's beginning is another entry.
[[nodiscard]] bool log_is_lost(const feed_writer& to, const meta& m);

/// The log begins again above the highest number that anybody can hold, `seen` included, with that as the floor; every
/// table that is captured in a new generation, `feed_restored`.
void begin_log_again(feed_writer& to, stamp seen, const meta& m, repair_report& report);

}  // namespace litefeed
