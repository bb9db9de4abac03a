#pragma once

#include <string>
#include <string_view>

namespace litefeed::server {

/// Text for a terminal, always UTF-8: what is none, and control characters, which names in a file may hold, as \\xNN.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace litefeed::server
