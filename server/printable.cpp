#include "server/printable.hpp"

#include "core/json.hpp"

namespace litefeed::server {
namespace {

// U+0080 to U+009F are control characters too, of two bytes.
bool is_control(std::string_view character) {
    const auto last = static_cast<unsigned char>(character.back());
    if (character.size() == 1) return last < 0x20 || last == 0x7f;
    return character.size() == 2 && character.front() == '\xc2' && last < 0xa0;
}

void append_hex(char c, std::string& to) {
    static constexpr std::string_view hex = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    to += "\\x";
    to += hex[byte >> 4];
    to += hex[byte & 0xf];
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const auto size = utf8_size(text, i);
        const auto character = text.substr(i, size == 0 ? 1 : size);
        if (size == 0 || is_control(character))
            append_hex(character.back(), out);
        else
            out += character;
        i += character.size();
    }
    return out;
}

}  // namespace litefeed::server
