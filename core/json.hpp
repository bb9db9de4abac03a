#pragma once

#include <string>
#include <string_view>

#include "core/sqlite.hpp"
#include "core/value.hpp"

// Values as JSON, by the wire's table ("Values" in server/WIRE.md). Everything appends to a string: the hot path.
namespace litefeed {

/// A JSON string. Bytes that are not UTF-8 become U+FFFD: for names; a value's are told in hex by `append_json`.
void append_json_text(std::string_view text, std::string& to);

/// The value of one column of a row.
void append_json(const statement& row, int column, affinity declared, std::string& to);
void append_json(const value& v, affinity declared, std::string& to);

/// Bytes of the UTF-8 sequence that begins at `at`; 0 when there is none (RFC 3629: no overlong forms, no surrogates).
[[nodiscard]] std::size_t utf8_size(std::string_view text, std::size_t at) noexcept;
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace litefeed
