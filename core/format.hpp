#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/sqlite.hpp"
#include "core/stamp.hpp"
#include "core/triggers.hpp"

// The on-disk contract, format 1: core/DESIGN.md, "On disk". Everything of litefeed's in the owner's file begins with
// `litefeed_`.
namespace litefeed {

inline constexpr std::int64_t format_number = 1;

/// litefeed_meta's one row.
struct meta {
    std::int64_t format{};
    std::string lineage;  ///< 32 hex digits; the first 8, never all zero, are what cursors show
    stamp floor;
    std::uint32_t floor_digest{};
    stamp seen_through;              ///< head when capture was last verified by the keeper
    std::int64_t schema_version{};   ///< SQLite's, at that time
    std::int64_t catalog_version{};  ///< moves with every change of litefeed_tables
    std::int64_t installed_ms{};
    std::int64_t retention_s{};  ///< the window of every table that has none of its own
    std::int64_t entries_max{};  ///< beyond it the oldest entries go, whatever their age
    std::int64_t folded{};  ///< entries above the floor that are gone: head - floor - folded stand
    std::int64_t compacted_ms{};  ///< when an entry was last thinned away; 0: never
    [[nodiscard]] std::uint32_t short_lineage() const;
};

/// What becomes of a table's entries once they are older than its window. The log loses its beginning or does not: once one
/// table is kept as `latest`, the floor rises no more by age, and the entries of every table are folded.
struct log_keeping {
    bool latest =
        false;  ///< false: they go, and who is behind starts over; true: folded, and everyone is answered
    std::int64_t retention_s = 0;  ///< its window; 0: the file's
    friend bool operator==(const log_keeping&, const log_keeping&) = default;
};

/// One row of litefeed_tables.
struct watched_table {
    std::int64_t table_id{};
    std::string name;
    bool watched{};  ///< false: told as gone (`x`), kept for its name
    std::vector<std::string> key_columns;
    log_keeping keeping;
    std::int64_t contract = 1;
    std::int64_t generation{};
    std::string generation_id;
    stamp generation_at;
    std::string reason;
    std::string shape;  ///< shape_digest of the generation
    watch_options options;
    std::string problem;  ///< why it cannot be captured now; empty: it is
    std::int64_t updated_ms{};
};

/// broken: something of ours stands, triggers at least, and one of the log, the meta and the tables does not, or is no
/// table of ours; then the owner's writes may fail. (Whether a whole one makes sense: damage.hpp.) Throws sqlite_error.
enum class installation { none, whole, broken };
[[nodiscard]] installation installation_of(const connection& db);
[[nodiscard]] inline bool is_installed(const connection& db) {
    return installation_of(db) == installation::whole;
}
/// Whether litefeed_meta's row, with the log's head, or the rows of litefeed_tables are such as litefeed writes. Anybody
/// may write into the file.
[[nodiscard]] bool is_sound(const meta& m, stamp head);
[[nodiscard]] bool is_sound(const std::vector<watched_table>& tables);
/// Whether one of `tables` is watched under this name.
[[nodiscard]] bool names_watched(const std::vector<watched_table>& tables, std::string_view name);
/// Prepares a statement over our own tables. Throws errc::damaged, as system_error, when a column of ours is not there.
[[nodiscard]] statement prepare_own(const connection& db, const std::string& sql);
/// Creates the tables of format 1 with a new lineage.
void install_format(const connection& db);
/// Creates those of its tables that the feed can go on without, where they are missing; false when none was.
[[nodiscard]] bool create_side_tables(const connection& db);
/// Drops every trigger and table of litefeed's; false when there was none.
[[nodiscard]] bool remove_format(const connection& db);
/// How many parts of a key the log has columns for.
[[nodiscard]] std::size_t log_key_parts(const connection& db);
/// Adds key columns to the log until it holds keys of `parts`.
void widen_log(const connection& db, std::size_t parts);

/// A stamp as it is written in the file; 0 for one that nobody can have been told.
[[nodiscard]] stamp believed(std::int64_t written);
/// Of the feed in this file; 0 where that cannot be read.
[[nodiscard]] std::int64_t format_of(const connection& db);
[[nodiscard]] meta read_meta(const connection& db);
[[nodiscard]] std::vector<watched_table> read_tables(const connection& db);
/// Inserts or replaces the row of `t.table_id` and moves the catalog's version.
void write_table(const connection& db, const watched_table& t);

/// 32 hex digits of which the first 8 are not all zero.
[[nodiscard]] std::string random_lineage();
/// Random hex digits from the system, for lineages and generations.
[[nodiscard]] std::string random_hex(std::size_t digits);

}  // namespace litefeed
