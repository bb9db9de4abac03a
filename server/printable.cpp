#include "server/printable.hpp"

namespace litefeed::server {

std::string printable(std::string_view text) {
    static constexpr std::string_view hex = "0123456789abcdef";
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        // U+0080 to U+009F are control characters too, of two bytes.
        const bool second_half = byte >= 0x80 && byte < 0xa0 && i > 0 && text[i - 1] == '\xc2';
        if (byte < 0x20 || byte == 0x7f || second_half) {
            if (second_half) out.pop_back();
            out += "\\x";
            out += hex[byte >> 4];
            out += hex[byte & 0xf];
        } else {
            out += text[i];
        }
    }
    return out;
}

}  // namespace litefeed::server
