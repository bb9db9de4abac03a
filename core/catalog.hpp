#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/capture.hpp"
#include "core/feed.hpp"
#include "core/format.hpp"
#include "core/row_reader.hpp"

namespace litefeed {

/// One table that the log knows, as a reader sees it.
struct catalog_table {
    watched_table row;
    std::optional<table_definition>
        definition;  ///< none: gone, unwatchable, or not watched any more
    std::vector<const column_definition*> visible;  ///< into `definition`
    std::unique_ptr<row_reader> rows;               ///< with `definition`
    /// The capture does not stand and nobody repairs it (read-only): every answer starts the table over, for this reason.
    std::optional<reset_reason> drifted;
    bool withheld = false;  ///< a rule fits its columns no more, so none of its rows is shown
    std::string problem;    ///< in words, when it cannot be answered truly
    [[nodiscard]] bool live() const { return rows != nullptr; }
    /// It is there, whether or not its rows can be told: a reader may hold some that it must drop.
    [[nodiscard]] bool present() const { return live() || drifted || withheld; }
};

/// A reader's own sight of the schema: it tells more than what the keeper last verified.
struct schema_sight {
    std::optional<schema> last;
    std::int64_t verified{};  ///< the schema_version that the keeper had verified by then
    unseen_edits unseen;      ///< since then
    std::vector<std::int64_t>
        broken;  ///< table_ids whose capture was not whole at a sight since then
};

/// The watched tables as verified at one schema_version. Immutable between two loads.
class catalog {
  public:
    /// Reads and verifies everything in the current transaction. Throws errc::drifted (as system_error) when a capture
    /// does not stand and `options.read_only` is off.
    /// `own`: what the caller saw at its loads before; brought up to date.
    static catalog load(const connection& db, const feed_options& options, const schema& at,
                        schema_sight& own);

    /// The tables of a selection, in order of id. Every one that bears a name, so a table that was renamed away and its
    /// successor. Errors: errc::unknown_table.
    [[nodiscard]] result<std::vector<catalog_table*>> select(const selection& want);
    [[nodiscard]] std::optional<std::string> unknown(const selection& want) const;
    [[nodiscard]] catalog_table* find(std::int64_t table_id);
    /// The live table of this name; nullptr without one.
    [[nodiscard]] catalog_table* live(std::string_view name);
    [[nodiscard]] const std::vector<std::unique_ptr<catalog_table>>& tables() const {
        return tables_;
    }
    [[nodiscard]] bool any_drift() const;

  private:
    std::vector<std::unique_ptr<catalog_table>> tables_;
};

/// The columns of a table that may leave the house. Throws `cannot` for a rule that names no column, or one of the key.
[[nodiscard]] std::vector<const column_definition*> visible_columns(const table_definition& table,
                                                                    const column_rules& rules);

}  // namespace litefeed
