// A client's place. Whatever parses is written again as the same text, which is a cursor by its length and alphabet, and
// is a place that a run can stand at. Each input is read as it is, and as the bytes inside a page cursor whose sum holds.
#include "core/cursor.hpp"

#include <xxhash.h>

#include <cassert>

#include "core/base64url.hpp"

using namespace litefeed;

namespace {

std::string to_text(const position& at) {
    if (const auto* bare = std::get_if<stamp>(&at)) return std::to_string(bare->n);
    if (const auto* rest = std::get_if<rest_cursor>(&at)) return litefeed::to_text(*rest);
    if (const auto* page = std::get_if<page_cursor>(&at)) return litefeed::to_text(*page);
    assert(!std::holds_alternative<from_malformed>(at));
    return std::holds_alternative<from_now>(at) ? "now" : "0";
}

void check_page(const page_cursor& at) {
    assert(at.ceiling.at <= at.highest.at);
    if (at.base) assert(at.base->at <= at.ceiling.at);
    if (const auto* telling = std::get_if<telling_place>(&at.phase)) {
        assert(at.base && at.base->at <= telling->told && telling->told <= at.ceiling.at);
    } else {
        const auto& reading = std::get<reading_place>(at.phase);
        assert(reading.last_key.size() <= page_key_bytes_max);
    }
}

void check(std::string_view text) {
    const auto at = parse_position(text);
    if (!at) {
        assert(at.error() == errc::malformed_cursor);
        return;
    }
    assert(to_text(*at) == text);
    assert(text.size() <= cursor_text_max);
    assert(text.find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~") ==
           std::string_view::npos);
    if (const auto* page = std::get_if<page_cursor>(&*at)) check_page(*page);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string input(reinterpret_cast<const char*>(data), size);
    check(input);
    std::string summed = input;
    for (XXH32_hash_t sum = XXH32(input.data(), size, 0), i = 0; i < 4; ++i, sum >>= 8)
        summed += static_cast<char>(sum & 0xff);
    check("p." + base64url_encode(summed));
    return 0;
}
