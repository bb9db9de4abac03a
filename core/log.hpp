#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/cursor.hpp"
#include "core/format.hpp"
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

    /// An entry that this reader stands on; lasts until the next call of `entry` or `digest_at`.
    class standing_entry {
      public:
        standing_entry(statement& of) : table_id(of.integer(0)), of_(&of) {}
        standing_entry(const standing_entry&) = delete;
        standing_entry(standing_entry&& from) noexcept
            : table_id(from.table_id), of_(std::exchange(from.of_, nullptr)) {}
        ~standing_entry() {
            if (of_ != nullptr) of_->reset();
        }
        [[nodiscard]] const statement& row() const { return *of_; }
        static constexpr int first_key_column = 3;
        std::int64_t table_id;

      private:
        statement* of_;
    };
    [[nodiscard]] std::optional<standing_entry> entry(stamp at);

    /// The digest of the entry at `at`; none when there is no such entry.
    [[nodiscard]] std::optional<std::uint32_t> digest_at(stamp at);
    /// The cursor at the head of this transaction.
    [[nodiscard]] rest_cursor cursor_at(stamp at, const meta& m);
    [[nodiscard]] int key_width() const { return key_width_; }

    /// Calls `each(seq, table_id, op, row, first_key_column)` for the entries in (after, through], in order.
    template <class Each>
    void scan(stamp after, stamp through, Each&& each) {
        use rows(range_);
        rows->bind(1, after.n).bind(2, through.n);
        while (rows->step()) {
            const std::string_view op = rows->text(2);
            each(stamp{rows->integer(0)}, rows->integer(1), op.empty() ? ' ' : op.front(), range_,
                 3);
        }
    }

  private:
    int key_width_;
    statement entry_, range_;
};

/// Appends an entry of litefeed's own (`g`, `x`) and returns its stamp.
stamp append_entry(const connection& db, std::int64_t table_id, char op);

}  // namespace litefeed
