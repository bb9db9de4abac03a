#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/sqlite.hpp"

namespace litefeed {

struct blob_bytes {
    std::string bytes;
    friend bool operator==(const blob_bytes&, const blob_bytes&) = default;
};

/// One SQLite value with its class. Equality is by class and bytes: 1, 1.0 and '1' are three values. The one exception
/// is -0.0, which equals 0.0, as no key can hold both.
using value = std::variant<std::monostate, std::int64_t, double, std::string, blob_bytes>;

[[nodiscard]] value column_value(const statement& row, int column);
void bind_value(statement& to, int index, const value& v);

/// What a declared type does to the values stored under it (SQLite, "Determination of column affinity").
enum class affinity { blob, text, numeric, integer, real };
[[nodiscard]] affinity affinity_of(std::string_view declared_type, bool strict_table);

/// The values that name a row, in key order. Never NULL within a watched table's key.
using row_key = std::vector<value>;

/// Eight bytes, little endian.
void append_u64(std::uint64_t n, std::string& to);

/// A key as bytes, one to one: for each value a class byte (1 integer, 2 real, 3 text, 4 blob), then 8 bytes little
/// endian (integer; IEEE double, -0.0 as 0.0), or a length of 8 bytes little endian and the bytes. Trailing NULLs, which
/// only a log row narrower than the log has, are left out; a NULL before them is a class byte 0.
[[nodiscard]] std::string encode(const row_key& key);
/// Appends what `encode` would give for the columns `first` to `first + count - 1` of a row.
void encode_columns(const statement& row, int first, int count, std::string& to);
/// The inverse. False when `bytes` is not an encoded key. A text or blob cut short at the end of `bytes` is taken as
/// far as it goes, for keys that were cut (`cut` says that this happened).
[[nodiscard]] bool decode(std::string_view bytes, row_key& key, bool& cut);

}  // namespace litefeed
