#pragma once

#include "core/feed_writer.hpp"
#include "core/repair.hpp"

// Anybody may write into litefeed's own tables, or drop them. In the keeper's transaction; each throws sqlite_error.
namespace litefeed {

/// Whether litefeed's own tables are not whole, or hold what litefeed never writes there.
[[nodiscard]] bool is_damaged(const connection& db);

/// Everything of litefeed's is made anew, in a new lineage above every number that can be found and `seen`. What
/// litefeed_tables still names, or triggers still stand for, is captured again, each table in a new generation,
/// `feed_restored`; windows and options stay where they can be read.
void begin_feed_again(feed_writer& to, stamp seen, repair_report& report);

}  // namespace litefeed
