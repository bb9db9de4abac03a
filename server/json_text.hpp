#pragma once

#include <string>
#include <string_view>

namespace litefeed::server {

/// Appends `text` as a JSON string in quotes. Control characters are escaped, so the result is one line; bytes that
/// are not UTF-8 become U+FFFD (a name on the wire is for people; rows and keys come from the core ready-made).
void append_json_string(std::string& out, std::string_view text);

}  // namespace litefeed::server
