#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/feed.hpp"
#include "core/sqlite.hpp"
#include "core/table.hpp"
#include "core/value.hpp"

namespace litefeed {

/// Reads a table's rows and keys as JSON into a delta. Statements are prepared once; they are made anew with the
/// catalog whenever the schema moved, so that a column count is never stale. In the caller's transaction.
class row_reader {
  public:
    /// `visible`: the columns that may leave the house, in order.
    row_reader(const connection& db, const table_definition& table,
               const std::vector<const column_definition*>& visible, std::size_t row_bytes_max);

    /// Appends the key that stands in the columns from `first_column` on of `from`.
    change::span append_key(const statement& from, int first_column, std::string& bytes) const;

    /// Looks for the row of the key in the columns from `first_column` on of `from` (a log entry): by class and bytes,
    /// not by the column's collation. Fills `row`, `too_large` or `unreadable`; false when it is gone.
    bool find(const statement& from, int first_column, change& to, std::string& bytes);

    /// Where a first read goes on: behind `last_key`, or behind the key with that prefix and hash when it was cut.
    struct place {
        std::string last_key;  ///< encoded; empty: from the beginning
        bool cut{};
        std::uint64_t hash{};
    };
    /// Answers the whole key with that hash of a row that is gone; none when nobody knows it any more.
    using gone_key = std::function<std::optional<row_key>(std::uint64_t hash)>;
    /// Calls `each(statement, key_column)` for the rows in key order behind `from` until it answers false. The row can
    /// then be appended by `append_row`. `gone` is asked when the key was cut and its row is no longer there. Throws
    /// `errc::malformed_cursor` as boost::system::system_error when the place does not fit the table's key.
    void scan(const place& from, const gone_key& gone,
              const std::function<bool(const statement&, int)>& each);
    /// Appends the visible columns of the row that `scan` stands on; fills what `find` does.
    void append_row(const statement& row, int key_column, change& to, std::string& bytes);
    /// The place behind the row that `scan` stands on.
    [[nodiscard]] place place_of(const statement& row, int key_column) const;

  private:
    [[nodiscard]] std::string order() const;
    [[nodiscard]] std::string behind(std::size_t parts, const char* comparison) const;
    statement scan_behind(const row_key& key, const char* comparison, bool keys_only) const;
    [[nodiscard]] std::optional<row_key> find_cut(const row_key& prefix, std::uint64_t hash) const;
    void read_key(const statement& row, int key_column, row_key& key) const;
    void bind_key(statement& to, const statement& from, int first_column) const;
    std::optional<bool> find_small(const statement& from, int first_column, change& to,
                                   std::string& bytes);
    bool find_large(const statement& from, int first_column, change& to, std::string& bytes);
    [[nodiscard]] std::optional<std::size_t> stored_bytes(const statement& from,
                                                          int first_column) const;
    void append_values(const statement& row, change& to, std::string& bytes) const;

    const connection& db_;
    std::string name_, table_;
    std::vector<key_column> key_;
    std::string columns_;
    std::vector<std::string> member_;  // `{"id":`, `,"title":` … of each visible column
    std::vector<affinity> affinity_;   // of each visible column
    std::vector<std::string> key_member_;
    std::size_t row_bytes_max_;
    std::vector<std::string> names_;  // of each visible column
    std::string where_key_;
    std::string rowid_alias_;  // empty: no rowid, or none that can be named
    bool utf16_ = false;
    int record_bytes_max_ = 0;
    bool too_wide_ = false;  // the visible columns and the key are more than a statement returns
    statement find_;
};

}  // namespace litefeed
