#pragma once

#include <string_view>

namespace litefeed::server {

inline constexpr std::string_view version = "0.1.0";

}  // namespace litefeed::server
