#pragma once

#include <string>
#include <vector>

#include "core/feed.hpp"
#include "core/format.hpp"
#include "core/sqlite.hpp"
#include "core/table.hpp"

namespace litefeed {

/// What the keeper writes into litefeed's own tables, in its one transaction, and whether it wrote anything. Throws
/// sqlite_error; errc::damaged as system_error.
class feed_writer {
  public:
    explicit feed_writer(const connection& to) : db(to) {}

    /// The tables that the log knows. Throws errc::damaged for one that litefeed never writes so.
    [[nodiscard]] std::vector<watched_table> tables() const;
    /// A table that is not in the log yet, to be captured.
    [[nodiscard]] watched_table fresh(const std::string& name, const watch_options& options) const;
    /// Puts the capture of `now` in place, in a new generation of `t`.
    void capture_anew(watched_table& t, const table_definition& now, reset_reason why);
    /// The next generation of a table whose capture stands, with its entry.
    void begin_generation(watched_table& t, reset_reason why);
    /// Readers are told that the table is gone (`x`); its capture is dropped, and `t` written as it is.
    void end_table(const watched_table& t);
    /// Keeps what drift will be judged against: the schema, and the head at which it was seen.
    void remember_schema() const;

    const connection& db;
    bool wrote = false;
};

}  // namespace litefeed
