#include "core/cursor.hpp"

#include <xxhash.h>

#include <array>
#include <charconv>

#include "core/base64url.hpp"

namespace litefeed {
namespace {

constexpr std::string_view page_prefix = "p.";
constexpr std::uint8_t has_base = 1, does_clear = 2, is_reading = 4, has_begun = 8, is_cut = 16;
constexpr std::uint8_t flags_of_telling = has_base | does_clear,
                       flags_of_reading = flags_of_telling | is_reading | has_begun | is_cut;

void append_hex(std::uint32_t n, std::string& to) {
    static constexpr std::string_view digits = "0123456789abcdef";
    for (int shift = 28; shift >= 0; shift -= 4) to += digits[(n >> shift) & 0xf];
}

std::optional<std::uint32_t> read_hex(std::string_view text) {
    if (text.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
    std::uint32_t n = 0;
    std::from_chars(text.data(), text.data() + text.size(), n, 16);
    return n;
}

std::optional<stamp> read_stamp(std::string_view text) {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos)
        return std::nullopt;
    if (text.size() > 1 && text.front() == '0') return std::nullopt;
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || n > stamp_max.n) return std::nullopt;
    return stamp{n};
}

std::optional<rest_cursor> read_rest(std::string_view text) {
    const auto dash = text.find('-');
    if (dash == std::string_view::npos || text.size() != dash + 17) return std::nullopt;
    const auto at = read_stamp(text.substr(0, dash));
    const auto lineage = read_hex(text.substr(dash + 1, 8));
    const auto digest = read_hex(text.substr(dash + 9, 8));
    if (!at || !lineage || !digest) return std::nullopt;
    return rest_cursor{*at, *lineage, *digest};
}

// Numbers of a page cursor, little endian.
class writer {
  public:
    template <class Number>
    void put(Number n) {
        for (std::size_t i = 0; i < sizeof(Number); ++i) {
            bytes += static_cast<char>((static_cast<std::uint64_t>(n) >> (8 * i)) & 0xff);
        }
    }
    void put(const rest_cursor& c) {
        put(c.at.n);
        put(c.lineage);
        put(c.digest);
    }
    std::string bytes;
};

class reader {
  public:
    explicit reader(std::string_view bytes) : rest(bytes) {}
    template <class Number>
    Number get() {
        if (rest.size() < sizeof(Number)) {
            failed = true;
            return {};
        }
        std::uint64_t n = 0;
        for (std::size_t i = 0; i < sizeof(Number); ++i)
            n |= std::uint64_t{static_cast<unsigned char>(rest[i])} << (8 * i);
        rest.remove_prefix(sizeof(Number));
        return static_cast<Number>(n);
    }
    rest_cursor get_rest() {
        rest_cursor c;
        c.at = {get<std::int64_t>()};
        c.lineage = get<std::uint32_t>();
        c.digest = get<std::uint32_t>();
        failed = failed || c.at.n < 0 || c.at > stamp_max;
        return c;
    }
    std::string_view rest;
    bool failed = false;
};

// Whoever knows the sum can write any bytes: only a place that a run can stand at is let in.
bool can_stand(const page_cursor& at) {
    if (at.highest.at < at.ceiling.at || (at.base && at.ceiling.at < at.base->at)) return false;
    if (const auto* phase = std::get_if<reading_place>(&at.phase))
        return phase->last_key.size() <= page_key_bytes_max;
    const stamp told = std::get<telling_place>(at.phase).told;
    return at.base && at.base->at <= told && told <= at.ceiling.at;
}

std::optional<page_cursor> read_page(std::string_view text) {
    const auto bytes = base64url_decode(text);
    if (!bytes || bytes->size() < 5) return std::nullopt;
    const std::string_view body = std::string_view(*bytes).substr(0, bytes->size() - 4);
    if (reader(std::string_view(*bytes).substr(body.size())).get<std::uint32_t>() !=
        XXH32(body.data(), body.size(), 0)) {
        return std::nullopt;
    }
    reader in(body);
    const auto flags = in.get<std::uint8_t>();
    const auto known = (flags & is_reading) != 0 ? flags_of_reading : flags_of_telling;
    if ((flags & ~known) != 0) return std::nullopt;
    page_cursor out;
    if ((flags & has_base) != 0) out.base = in.get_rest();
    out.ceiling = in.get_rest();
    out.highest = in.get_rest();
    out.clears = (flags & does_clear) != 0;
    if ((flags & is_reading) != 0) {
        reading_place phase;
        phase.table_id = in.get<std::int64_t>();
        phase.begun = (flags & has_begun) != 0;
        phase.cut = (flags & is_cut) != 0;
        if (phase.cut) phase.last_key_hash = in.get<std::uint64_t>();
        phase.last_key = std::string(in.rest);
        out.phase = std::move(phase);
    } else {
        out.phase = telling_place{{in.get<std::int64_t>()}};
        in.failed = in.failed || !in.rest.empty();
    }
    if (in.failed || !can_stand(out)) return std::nullopt;
    return out;
}

}  // namespace

std::string to_text(const rest_cursor& at) {
    std::string out = std::to_string(at.at.n);
    out += '-';
    append_hex(at.lineage, out);
    append_hex(at.digest, out);
    return out;
}

std::string to_text(const page_cursor& at) {
    writer out;
    const auto* read = std::get_if<reading_place>(&at.phase);
    std::uint8_t flags = 0;
    if (at.base) flags |= has_base;
    if (at.clears) flags |= does_clear;
    if (read != nullptr) flags |= is_reading;
    if (read != nullptr && read->begun) flags |= has_begun;
    if (read != nullptr && read->cut) flags |= is_cut;
    out.put(flags);
    if (at.base) out.put(*at.base);
    out.put(at.ceiling);
    out.put(at.highest);
    if (read != nullptr) {
        out.put(read->table_id);
        if (read->cut) out.put(read->last_key_hash);
        out.bytes += read->last_key;
    } else {
        out.put(std::get<telling_place>(at.phase).told.n);
    }
    out.put(XXH32(out.bytes.data(), out.bytes.size(), 0));
    return std::string(page_prefix) + base64url_encode(out.bytes);
}

result<position> parse_position(std::string_view text) {
    if (text == "now") return position{from_now{}};
    if (text == "0") return position{from_nothing{}};
    if (text.size() > cursor_text_max) return errc::malformed_cursor;
    if (text.substr(0, page_prefix.size()) == page_prefix) {
        if (auto page = read_page(text.substr(page_prefix.size())))
            return position{std::move(*page)};
        return errc::malformed_cursor;
    }
    if (const auto bare = read_stamp(text)) return position{*bare};
    if (const auto rest = read_rest(text)) return position{*rest};
    return errc::malformed_cursor;
}

}  // namespace litefeed
