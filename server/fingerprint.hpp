#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace litefeed::server {

/// 16 hex digits of FNV-1a over `text`: the same in every process, for what an ETag must tell apart. Not a secret.
[[nodiscard]] inline std::string fingerprint(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    std::string out(16, '0');
    for (int i = 15; i >= 0; --i, h >>= 4)
        out[static_cast<std::size_t>(i)] = "0123456789abcdef"[h & 15];
    return out;
}

/// `W/"<version>-<request>"`.
[[nodiscard]] inline std::string weak_etag(std::string_view version, std::string_view request) {
    return "W/\"" + std::string(version) + "-" + std::string(request) + "\"";
}

/// The version inside an If-None-Match that names this request, or empty. Weak comparison; a list is looked through.
[[nodiscard]] inline std::string known_version(std::string_view if_none_match,
                                               std::string_view request) {
    const std::string end = "-" + std::string(request) + "\"";
    const auto at = if_none_match.find(end);
    if (at == std::string_view::npos) return {};
    const auto quote = if_none_match.rfind('"', at == 0 ? 0 : at - 1);
    if (quote == std::string_view::npos || quote >= at) return {};
    return std::string(if_none_match.substr(quote + 1, at - quote - 1));
}

}  // namespace litefeed::server
