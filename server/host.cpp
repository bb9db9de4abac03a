#include "server/host.hpp"

#include <algorithm>
#include <boost/url/ipv4_address.hpp>
#include <boost/url/ipv6_address.hpp>

#include "server/parameters.hpp"

namespace litefeed::server {
namespace {

bool is_port(std::string_view text) { return text.empty() || parse_digits(text, 65535); }

}  // namespace

std::optional<std::string> host_name(std::string_view host) {
    std::string_view name;
    if (host.starts_with('[')) {
        const auto end = host.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        name = host.substr(1, end - 1);
        const auto rest = host.substr(end + 1);
        if (!rest.empty() && (rest.front() != ':' || !is_port(rest.substr(1)))) return std::nullopt;
        if (name.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos)
            return std::nullopt;
    } else {
        const auto colon = host.find(':');
        name = host.substr(0, colon);
        if (colon != std::string_view::npos && !is_port(host.substr(colon + 1)))
            return std::nullopt;
        if (name.ends_with('.')) name.remove_suffix(1);
    }
    if (name.empty()) return std::nullopt;
    std::string out;
    for (const char c : name) {
        const auto u = static_cast<unsigned char>(c);
        if (u <= 0x20 || u == 0x7f || c == '/' || c == '@' || c == '?' || c == '#' || c == '\\')
            return std::nullopt;
        out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c;
    }
    return out;
}

bool is_loopback(std::string_view name) {
    if (name == "localhost" || name.ends_with(".localhost")) return true;
    const boost::urls::string_view address(name.data(), name.size());
    if (const auto v4 = boost::urls::parse_ipv4_address(address)) return v4->is_loopback();
    if (const auto v6 = boost::urls::parse_ipv6_address(address)) return v6->is_loopback();
    return false;
}

bool host_allowed(std::string_view host, const std::vector<std::string>& allowed) {
    const auto name = host_name(host);
    if (!name) return false;
    if (is_loopback(*name)) return true;
    return std::any_of(allowed.begin(), allowed.end(),
                       [&](const std::string& a) { return host_name(a) == name; });
}

}  // namespace litefeed::server
