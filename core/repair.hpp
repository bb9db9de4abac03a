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

/// Verifies litefeed's own tables, the log and every watched table against its definition, and repairs what differs.
/// `seen`: the head at which some reader last found everything in order. Something of litefeed's stands in the file.
[[nodiscard]] repair_report repair(feed_writer& to, const rest_cursor& seen);

/// Captures the table of that name in a new generation of `t`, or reports why it cannot be watched.
void begin_again(feed_writer& to, watched_table& t, reset_reason why, repair_report& report);

/// keeper::begin_lineage.
[[nodiscard]] repair_report begin_lineage(feed_writer& to, const rest_cursor& known);

}  // namespace litefeed
