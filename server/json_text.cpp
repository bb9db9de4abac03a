#include "server/json_text.hpp"

#include <cstddef>

namespace litefeed::server {
namespace {

/// Length of the valid UTF-8 sequence that `s` begins with; 0 when there is none (RFC 3629, table 3-7 of Unicode).
std::size_t utf8_sequence(std::string_view s) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
        return i < s.size() && at(i) >= low && at(i) <= high;
    };
    const unsigned c = at(0);
    if (c < 0x80) return 1;
    if (c >= 0xc2 && c <= 0xdf) return tail(1) ? 2 : 0;
    if (c >= 0xe0 && c <= 0xef) {
        const unsigned low = c == 0xe0 ? 0xa0 : 0x80, high = c == 0xed ? 0x9f : 0xbf;
        return tail(1, low, high) && tail(2) ? 3 : 0;
    }
    if (c >= 0xf0 && c <= 0xf4) {
        const unsigned low = c == 0xf0 ? 0x90 : 0x80, high = c == 0xf4 ? 0x8f : 0xbf;
        return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
    }
    return 0;
}

void append_control(std::string& out, unsigned char c) {
    constexpr std::string_view hex = "0123456789abcdef";
    switch (c) {
        case '\b':
            out += "\\b";
            return;
        case '\t':
            out += "\\t";
            return;
        case '\n':
            out += "\\n";
            return;
        case '\f':
            out += "\\f";
            return;
        case '\r':
            out += "\\r";
            return;
        default:
            break;
    }
    out += "\\u00";
    out += hex[c >> 4];
    out += hex[c & 15];
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const auto c = static_cast<unsigned char>(text.front());
        std::size_t took = 1;
        if (c < 0x20) {
            append_control(out, c);
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += text.front();
        } else if (c < 0x80) {
            out += text.front();
        } else if (const auto n = utf8_sequence(text); n > 0) {
            out += text.substr(0, n);
            took = n;
        } else {
            out += "\xef\xbf\xbd";
        }
        text.remove_prefix(took);
    }
    out += '"';
}

}  // namespace litefeed::server
