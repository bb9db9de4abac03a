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

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace litefeed
