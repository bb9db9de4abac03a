#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/errc.hpp"
#include "core/stamp.hpp"

namespace litefeed {

/// A client's place at rest: a stamp and the check that proves which history it belongs to.
/// Text form `42-9f3a1c07d2b4e865`: stamp, dash, 8 hex digits of the lineage, 8 of the entry's digest.
struct rest_cursor {
    stamp at;
    std::uint32_t lineage{};  ///< never 0 in a file
    std::uint32_t digest{};   ///< of the entry at `at`; 0 at stamp 0
    friend bool operator==(const rest_cursor&, const rest_cursor&) = default;
};

/// In the first read of one table. A long key is kept as a prefix of its encoded form and a hash of the whole.
struct reading_place {
    std::int64_t table_id{};
    bool begun{};          ///< its `truncate` was told
    std::string last_key;  ///< encoded; rows up to and including it were told; empty: none yet
    bool cut{};            ///< `last_key` is only a prefix
    std::uint64_t last_key_hash{};  ///< XXH64 of the whole, when cut
    friend bool operator==(const reading_place&, const reading_place&) = default;
};

/// In the delta: every row whose last entry is at or below `told` was told.
struct telling_place {
    stamp told;
    friend bool operator==(const telling_place&, const telling_place&) = default;
};

/// A client's place inside a run: the tables that start over are read first, in order of table id, then the delta of the
/// others is told, judged from `base` up to `ceiling`.
struct page_cursor {
    std::optional<rest_cursor>
        base;             ///< none: the run began from nothing, or from a reset of everything
    rest_cursor ceiling;  ///< the head when the run began
    rest_cursor highest;  ///< the highest head that a page was read at: shows a restore in mid-run
    bool clears{};        ///< each table's rows come after a `truncate` of it
    std::variant<reading_place, telling_place> phase;
    friend bool operator==(const page_cursor&, const page_cursor&) = default;
};

/// So that the text of a page cursor stays within 512 characters.
inline constexpr std::size_t page_key_bytes_max = 240;
inline constexpr std::size_t cursor_text_max = 512;

struct from_now {
    friend bool operator==(from_now, from_now) = default;
};
/// `0`: the client holds nothing.
struct from_nothing {
    friend bool operator==(from_nothing, from_nothing) = default;
};
/// A position that could not be read, where the answer is a reset rather than an error (`/events`).
struct from_malformed {
    friend bool operator==(from_malformed, from_malformed) = default;
};

/// Where a reader stands. A bare `stamp` is checked against floor and head only.
using position =
    std::variant<from_now, from_nothing, from_malformed, stamp, rest_cursor, page_cursor>;

[[nodiscard]] std::string to_text(const rest_cursor& at);
/// At most `cursor_text_max` characters of `[A-Za-z0-9_-]` and one dot.
[[nodiscard]] std::string to_text(const page_cursor& at);

/// Reads `now`, `0`, a bare stamp, a cursor at rest or between pages. Errors: errc::malformed_cursor.
/// Digits only: no sign, no blanks, no leading zero, nothing above 2^53 - 1.
[[nodiscard]] result<position> parse_position(std::string_view text);

}  // namespace litefeed
