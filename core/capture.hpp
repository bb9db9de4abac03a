#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/format.hpp"
#include "core/schema.hpp"
#include "core/schema_drift.hpp"
#include "core/table.hpp"
#include "core/triggers.hpp"

namespace litefeed {

/// What stands of a table's capture, judged in one transaction.
struct capture_state {
    enum class verdict {
        whole,          ///< triggers and guards as they should be, and the newest
        guards_differ,  ///< the entries were written, but a guard is missing or different
        broken,  ///< writes may have gone unlogged: a trigger missing, different, or no longer newest
        reshaped,     ///< its columns or key are other ones (with or without triggers)
        renamed,      ///< the table lives on under `now_called`
        gone,         ///< no such table
        unwatchable,  ///< it is there, but cannot be watched any more: `why`
    };
    verdict what{};
    std::string why;                             ///< in words, for a person and for the log
    std::string now_called;                      ///< of `renamed`
    std::optional<table_definition> definition;  ///< of the table as it is now
};

/// How `why` begins for a table that was renamed; its new name follows. The keeper keeps it as the old name's problem.
inline constexpr std::string_view renamed_to = "the table was renamed to ";
/// A row of litefeed_tables that is kept for the old name of a table.
[[nodiscard]] inline bool is_renamed(const watched_table& t) {
    return !t.watched && t.problem.starts_with(renamed_to);
}

/// Compares the capture of one watched table with what its definition asks for. `unseen`: since it was last verified.
[[nodiscard]] capture_state judge_capture(const connection& db, const schema& at,
                                          const watched_table& table, const unseen_edits& unseen);

/// Whose triggers stand though none of `listed` is a watched table of that number: as it was listed, or as its triggers
/// tell.
[[nodiscard]] std::vector<watched_table> unlisted_captures(
    const connection& db, const schema& at, const std::vector<watched_table>& listed);

/// Drops whatever triggers of `table_id` stand, and creates those of `table`. In the caller's write transaction.
void create_capture(const connection& db, const table_definition& table, std::int64_t table_id,
                    const watch_options& options);
void drop_capture(const connection& db, const schema& at, std::int64_t table_id);

/// Why the guards of a table would scan instead of looking up, or an empty text. (EXPLAIN QUERY PLAN of each.)
[[nodiscard]] std::string guard_that_scans(const connection& db, const table_definition& table);

/// The table as it can be watched with these options; without a definition: why not.
[[nodiscard]] inspected_table watchable(const connection& db, const schema& at,
                                        const std::string& name, const watch_options& options);

}  // namespace litefeed
