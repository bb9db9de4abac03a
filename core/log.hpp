#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/cursor.hpp"
#include "core/format.hpp"
#include "core/marks.hpp"
#include "core/sqlite.hpp"
#include "core/stamp.hpp"

namespace litefeed {

/// An entry's digest: the first 8 hex digits (the high half) of the XXH64, seed 0, of its byte form: table_id (8 bytes,
/// little endian), op (1 byte), at_ms (8), then its key encoded as value.hpp says. Test vectors: core/DESIGN.md.
[[nodiscard]] std::uint32_t entry_digest(std::int64_t table_id, char op, std::int64_t at_ms,
                                         std::string_view encoded_key);

/// Prepared reads of litefeed_log over one connection. In the caller's transaction; throws sqlite_error.
class log_reader {
  public:
    explicit log_reader(const connection& db);

    /// Goes from entry to entry, upwards. One at a time, and not while `scan` runs.
    class walk {
      public:
        explicit walk(log_reader& log) : entries_(log.range_) {}
        /// Stands on the entry at `at`, which is above every one asked for before; false when there is none.
        bool to(stamp at);
        [[nodiscard]] std::int64_t table_id() const { return entries_->integer(1); }
        [[nodiscard]] const statement& row() const { return *entries_.operator->(); }
        static constexpr int first_key_column = 3;

      private:
        use entries_;
        stamp standing_;
    };

    /// The digest of the entry at `at`, also of one that was folded; none when there was no such entry.
    [[nodiscard]] std::optional<std::uint32_t> digest_at(stamp at);
    /// When the entry at `at` was written, UTC Unix ms; none when it is not there.
    [[nodiscard]] std::optional<std::int64_t> time_at(stamp at);
    /// The cursor at `at`; of digest 0 where there was no such entry.
    [[nodiscard]] rest_cursor cursor_at(stamp at, const meta& m);
    /// How many entries of (after, through] were folded.
    [[nodiscard]] std::int64_t count_folded(stamp after, stamp through) {
        return marks_.count(after, through);
    }
    /// Whether entries are gone that nobody thinned away. `lowest`: the first above the floor, 0: none; `known`: a head
    /// that was there.
    [[nodiscard]] bool is_lost(stamp floor, stamp head, stamp lowest, stamp known);
    /// Whether the entry at `at`, if it was not thinned away, is the beginning of a generation of that table.
    [[nodiscard]] bool holds_generation(std::int64_t table_id, stamp at, stamp floor);
    [[nodiscard]] int key_width() const { return key_width_; }

    /// Calls `each(seq, table_id, op, row, first_key_column)` for the entries in (after, through], in order.
    template <class Each>
    void scan(stamp after, stamp through, Each&& each) {
        use rows(range_);
        rows->bind(1, after.n).bind(2, through.n);
        while (rows->step()) {
            const std::string_view op = rows->text(2);
            each(stamp{rows->integer(0)}, rows->integer(1), op.empty() ? ' ' : op.front(), range_,
                 walk::first_key_column);
        }
    }

  private:
    int key_width_;
    statement entry_, range_;
    mark_reader marks_;
};

/// Appends an entry of litefeed's own (`g`, `x`), above `above` as well, and returns its stamp.
stamp append_entry(const connection& db, std::int64_t table_id, char op, stamp above = {});

}  // namespace litefeed
