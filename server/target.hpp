#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/problem.hpp"

namespace litefeed::server {

/// A request target taken apart: split first, then each piece decoded, once.
struct target {
    std::vector<std::string> path;                           ///< segments; "/" is one empty segment
    std::vector<std::pair<std::string, std::string>> query;  ///< in order, names and values decoded
    std::optional<std::string> authority;  ///< of an absolute-form target, as sent
    bool asterisk = false;                 ///< `*`, which only OPTIONS may ask for
};

/// Reads an origin-form, absolute-form or asterisk-form target. In the query `+` is a space; in the path it is itself.
/// Problems: bad_request for anything else and for escapes that are not two hex digits.
[[nodiscard]] outcome<target> parse_target(std::string_view text);

/// Decodes `%hh` once; none when an escape is not complete. Any byte may come out, NUL too.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);

/// `text` with every byte outside the unreserved set as `%HH`.
[[nodiscard]] std::string percent_encode(std::string_view text);

}  // namespace litefeed::server
