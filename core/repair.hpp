#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/cursor.hpp"
#include "core/feed_writer.hpp"
#include "core/stamp.hpp"

namespace litefeed {

struct repair_report {
    std::vector<std::pair<std::string, std::string>>
        generations;                    ///< table, reason, of each new generation
    std::vector<std::string> dropped;   ///< tables that are gone
    std::vector<std::string> problems;  ///< what could not be repaired, in words for a person
};

// In the keeper's transaction. Each throws sqlite_error; errc::damaged as system_error.

/// Verifies the log and every watched table against its definition, and repairs what differs. `seen`: the head at which
/// some reader last found everything in order.
[[nodiscard]] repair_report repair(feed_writer& to, stamp seen);

/// Where some of litefeed's tables were taken out: puts the log back if it alone is missing, else takes out the rest, since
/// triggers without a log fail the owner's writes. In words what was lost; empty: nothing.
[[nodiscard]] std::string repair_installation(feed_writer& to);

/// keeper::begin_lineage.
[[nodiscard]] repair_report begin_lineage(feed_writer& to, const rest_cursor& known);

}  // namespace litefeed
