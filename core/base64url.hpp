#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace litefeed {

/// RFC 4648, section 5, without padding.
[[nodiscard]] std::string base64url_encode(std::string_view bytes);
/// Only the one canonical text of each byte string is accepted.
[[nodiscard]] std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace litefeed
