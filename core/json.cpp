#include "core/json.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace litefeed {
namespace {

constexpr std::int64_t exact_max =
    (std::int64_t{1} << 53) - 1;  // JavaScript's largest exact integer

constexpr auto plain_bytes = [] {
    std::array<bool, 256> plain{};
    for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
    return plain;
}();

// Whether the eight bytes at `at` may all stand in a JSON string as they are, told with one word's arithmetic (each
// test sets a byte's high bit: the byte itself, below 0x20, a quote, a backslash).
bool eight_plain_bytes(std::string_view text, std::size_t at) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101, highs = ones << 7;
    if (text.size() - at < 8) return false;
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof word);
    const auto zero_byte = [](std::uint64_t w) { return (w - ones) & ~w; };
    const std::uint64_t special = word | ((word - 0x20 * ones) & ~word) |
                                  zero_byte(word ^ ('"' * ones)) | zero_byte(word ^ ('\\' * ones));
    return (special & highs) == 0;
}

void append_escape(char c, std::string& to) {
    static constexpr std::string_view hex = "0123456789abcdef";
    switch (c) {
        case '"':
            to += "\\\"";
            return;
        case '\\':
            to += "\\\\";
            return;
        case '\n':
            to += "\\n";
            return;
        case '\r':
            to += "\\r";
            return;
        case '\t':
            to += "\\t";
            return;
        default:
            to += "\\u00";
            to += hex[static_cast<unsigned char>(c) >> 4];
            to += hex[static_cast<unsigned char>(c) & 0xf];
    }
}

void append_hex(std::string_view member, std::string_view bytes, std::string& to) {
    static constexpr std::string_view hex = "0123456789abcdef";
    to += "{\"";
    to += member;
    to += "\":\"";
    for (const char c : bytes) {
        to += hex[static_cast<unsigned char>(c) >> 4];
        to += hex[static_cast<unsigned char>(c) & 0xf];
    }
    to += "\"}";
}

void append_number(std::int64_t n, std::string& to) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr;
    to.append(digits.data(), end);
}

void append_integer(std::int64_t n, affinity declared, std::string& to) {
    if (n >= -exact_max && n <= exact_max) {
        append_number(n, to);
        return;
    }
    // Under INTEGER and NUMERIC a text of digits would have become this integer, so the bare string is unmistakable.
    const bool bare = declared == affinity::integer || declared == affinity::numeric;
    to += bare ? "\"" : "{\"integer\":\"";
    append_number(n, to);
    to += bare ? "\"" : "\"}";
}

void append_real(double d, std::string& to) {
    if (std::isinf(d)) {
        to += d > 0 ? "{\"real\":\"Infinity\"}" : "{\"real\":\"-Infinity\"}";
        return;
    }
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), d).ptr;
    const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
    to += text;
    if (text.find_first_of(".e") == std::string_view::npos) to += ".0";
}

// Appends a JSON string and stops at the first byte that is not UTF-8; false then, with `to` as it was.
bool append_utf8(std::string_view text, std::string& to) {
    const std::size_t before = to.size();
    to += '"';
    std::size_t done = 0;
    for (std::size_t i = 0; i < text.size();) {
        if (eight_plain_bytes(text, i)) {
            i += 8;
            continue;
        }
        if (plain_bytes[static_cast<unsigned char>(text[i])]) {
            ++i;
            continue;
        }
        if (static_cast<unsigned char>(text[i]) >= 0x80) {
            const std::size_t size = utf8_size(text, i);
            if (size == 0) {
                to.resize(before);
                return false;
            }
            i += size;
            continue;
        }
        to.append(text, done, i - done);
        append_escape(text[i], to);
        done = ++i;
    }
    to.append(text, done, text.size() - done);
    to += '"';
    return true;
}

void append_text_value(std::string_view text, std::string& to) {
    if (!append_utf8(text, to)) append_hex("text_hex", text, to);
}

}  // namespace

std::size_t utf8_size(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto tail = [&](std::size_t i, unsigned char low = 0x80, unsigned char high = 0xbf) {
        return i < text.size() && byte(i) >= low && byte(i) <= high;
    };
    const unsigned char first = byte(at);
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf) return tail(at + 1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        const unsigned char low = first == 0xe0 ? 0xa0 : 0x80;
        const unsigned char high = first == 0xed ? 0x9f : 0xbf;
        return tail(at + 1, low, high) && tail(at + 2) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const unsigned char low = first == 0xf0 ? 0x90 : 0x80;
        const unsigned char high = first == 0xf4 ? 0x8f : 0xbf;
        return tail(at + 1, low, high) && tail(at + 2) && tail(at + 3) ? 4 : 0;
    }
    return 0;
}

bool is_utf8(std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t size = utf8_size(text, i);
        if (size == 0) return false;
        i += size;
    }
    return true;
}

void append_json_text(std::string_view text, std::string& to) {
    if (append_utf8(text, to)) return;
    std::string mended;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t size = utf8_size(text, i);
        if (size == 0) {
            mended += "\xef\xbf\xbd";
            ++i;
        } else {
            mended.append(text, i, size);
            i += size;
        }
    }
    append_utf8(mended, to);
}

void append_json(const statement& row, int column, affinity declared, std::string& to) {
    switch (row.type(column)) {
        case SQLITE_INTEGER:
            append_integer(row.integer(column), declared, to);
            return;
        case SQLITE_FLOAT:
            append_real(row.real(column), to);
            return;
        case SQLITE_TEXT:
            append_text_value(row.text(column), to);
            return;
        case SQLITE_BLOB:
            append_hex("blob_hex", row.blob(column), to);
            return;
        default:
            to += "null";
    }
}

void append_json(const value& v, affinity declared, std::string& to) {
    if (const auto* n = std::get_if<std::int64_t>(&v)) {
        append_integer(*n, declared, to);
    } else if (const auto* d = std::get_if<double>(&v)) {
        append_real(*d == 0.0 ? 0.0 : *d, to);  // -0.0 names the same row as 0.0
    } else if (const auto* t = std::get_if<std::string>(&v)) {
        append_text_value(*t, to);
    } else if (const auto* b = std::get_if<blob_bytes>(&v)) {
        append_hex("blob_hex", b->bytes, to);
    } else {
        to += "null";
    }
}

}  // namespace litefeed
