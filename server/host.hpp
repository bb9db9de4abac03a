#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace litefeed::server {

/// The name or address of a Host value, lower case, without port, brackets and a final dot; none when the value is no
/// host at all.
[[nodiscard]] std::optional<std::string> host_name(std::string_view host);

/// `localhost`, names below it, 127.0.0.0/8 and ::1.
[[nodiscard]] bool is_loopback(std::string_view name);

/// Whether a request with this Host may be answered: a web page that was rebound to our address still carries its own
/// name here, and nothing else shows it.
[[nodiscard]] bool host_allowed(std::string_view host, const std::vector<std::string>& allowed);

}  // namespace litefeed::server
