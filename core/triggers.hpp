#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/table.hpp"

namespace litefeed {

/// How a table is captured.
struct watch_options {
    bool replace_guards =
        true;  ///< false: REPLACE may remove rows unseen; DROP COLUMN never meets a guard
    bool skip_unchanged =
        false;  ///< an update that changes nothing writes no entry; then triggers name every column
    friend bool operator==(const watch_options&, const watch_options&) = default;
};

/// One trigger of ours: its name and the text that SQLite keeps of it.
struct trigger {
    std::string name, sql;
};

/// Every trigger that captures `table` as `table_id`, in the order to create them. The text is exactly what SQLite
/// stores, and what its ALTER TABLE RENAME rewrites it to, so that it can be compared.
[[nodiscard]] std::vector<trigger> capture_triggers(const table_definition& table,
                                                    std::int64_t table_id,
                                                    const watch_options& options);

/// The probes of the guards as plain SELECTs with ?1 for each new value: what EXPLAIN QUERY PLAN is asked about, since a
/// probe that scans would make every write of the owner slow.
[[nodiscard]] std::vector<std::string> guard_probes(const table_definition& table);

/// Equal but for the places in sqlite_schema that guards use as a short cut (VACUUM moves them; then only the cut is lost).
[[nodiscard]] bool same_trigger(std::string_view a, std::string_view b);

/// `litefeed_7_` for table 7: what the names of its triggers begin with.
[[nodiscard]] std::string trigger_prefix(std::int64_t table_id);

/// UTC Unix milliseconds as SQL that every SQLite since 3.22 can run inside a trigger.
/// julianday() is a whole number of milliseconds divided, so a half added makes the cast round instead of cut.
inline constexpr std::string_view now_ms_sql =
    "CAST(julianday()*86400000-210866759999999.5 AS INTEGER)";

/// `key`, `key2`, `key3` …: the log's columns for a key of this many parts.
[[nodiscard]] std::string log_key_columns(std::size_t parts);

}  // namespace litefeed
