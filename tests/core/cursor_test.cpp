#include "core/cursor.hpp"

#include <xxhash.h>

#include "core/base64url.hpp"
#include "tests/core/owner_file.hpp"

using namespace litefeed;

namespace {

page_cursor telling() {
    page_cursor p;
    p.base = rest_cursor{{10}, 0xabcdef01, 0x23456789};
    p.ceiling = {{20}, 0xabcdef01, 1};
    p.highest = {{30}, 0xabcdef01, 2};
    p.phase = telling_place{{15}};
    return p;
}

page_cursor widest() {
    page_cursor p;
    p.base = rest_cursor{stamp_max, 0xffffffff, 0xffffffff};
    p.ceiling = p.highest = *p.base;
    p.clears = true;
    p.phase =
        reading_place{INT64_MAX, true, std::string(page_key_bytes_max, '\xff'), true, UINT64_MAX};
    return p;
}

bool malformed(std::string_view text) {
    const auto read = parse_position(text);
    return read.has_error() && read.error() == make_error_code(errc::malformed_cursor);
}

}  // namespace

TEST_SUITE_BEGIN("core/cursor");

TEST_CASE("a cursor at rest is its stamp, a dash and sixteen hex digits") {
    const rest_cursor c{{42}, 0x9f3a1c07, 0xd2b4e865};
    CHECK(to_text(c) == "42-9f3a1c07d2b4e865");
    CHECK(parse_position("42-9f3a1c07d2b4e865").value() == position{c});
    CHECK(to_text(rest_cursor{{0}, 1, 0}) == "0-0000000100000000");
    CHECK(parse_position("0-0000000100000000").value() == position{rest_cursor{{0}, 1, 0}});
    const rest_cursor last{stamp_max, 0xffffffff, 0xffffffff};
    CHECK(parse_position(to_text(last)).value() == position{last});
}

TEST_CASE("now, 0 and a bare stamp are places of their own") {
    CHECK(parse_position("now").value() == position{from_now{}});
    CHECK(parse_position("0").value() == position{from_nothing{}});
    CHECK(parse_position("1").value() == position{stamp{1}});
    CHECK(parse_position("9007199254740991").value() == position{stamp_max});
}

TEST_CASE("what is not written exactly so is malformed") {
    for (const auto* text : {"",
                             "NOW",
                             "now ",
                             " now",
                             "00",
                             "01",
                             "+1",
                             "-1",
                             "1.0",
                             "1e3",
                             " 1",
                             "1 ",
                             "0x10",
                             "9007199254740992",
                             "99999999999999999999",
                             "-",
                             "42-",
                             "42-9f3a1c07d2b4e86",
                             "42-9f3a1c07d2b4e8655",
                             "42-9F3A1C07D2B4E865",
                             "42-9f3a1c07 2b4e865",
                             "42-9f3a1c07-2b4e86",
                             "042-9f3a1c07d2b4e865",
                             "-9f3a1c07d2b4e865",
                             "42_9f3a1c07d2b4e865",
                             "42-9f3a1c07d2b4e86g",
                             "9007199254740992-9f3a1c07d2b4e865",
                             "p.",
                             "p",
                             "P.AAAA",
                             "p.!",
                             "p.AAAAAAAAAAA",
                             "a",
                             "\xff"}) {
        CAPTURE(text);
        CHECK(malformed(text));
    }
    CHECK(malformed(std::string_view("1\0", 2)));
    CHECK(malformed(std::string(513, '1')));
    CHECK(malformed("p." + std::string(100000, 'A')));
}

TEST_CASE("a cursor between pages comes back as it was") {
    page_cursor p = telling();
    CHECK(parse_position(to_text(p)).value() == position{p});
    p.clears = true;
    CHECK(parse_position(to_text(p)).value() == position{p});
    p.base.reset();
    for (const std::string& key : {std::string(), std::string("\x01\0\0\0\0\0\0\0\0", 9),
                                   std::string(page_key_bytes_max, 'k')}) {
        for (const bool begun : {false, true}) {
            for (const bool cut : {false, true}) {
                p.phase = reading_place{7, begun, key, cut, cut ? 0x0123456789abcdefU : 0};
                CHECK(parse_position(to_text(p)).value() == position{p});
            }
        }
    }
}

TEST_CASE("the widest cursor between pages is a header's worth, and a wider one is refused") {
    const std::string text = to_text(widest());
    CHECK(text.size() <= cursor_text_max);
    CHECK(text.find_first_not_of(
              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~") ==
          std::string::npos);
    CHECK(parse_position(text).value() == position{widest()});
    page_cursor over = widest();
    std::get<reading_place>(over.phase).last_key += 'x';
    CHECK(malformed(to_text(over)));
}

TEST_CASE("a changed or missing character of a cursor between pages is seen") {
    for (const page_cursor& p : {telling(), widest()}) {
        const std::string text = to_text(p);
        for (std::size_t i = 0; i < text.size(); ++i) {
            for (const char c : {'A', 'B', '_', '0'}) {
                std::string changed = text;
                changed[i] = c;
                if (changed != text && !malformed(changed)) FAIL_CHECK(changed);
            }
            if (!malformed(text.substr(0, i) + text.substr(i + 1))) FAIL_CHECK("without " << i);
            if (i > 0 && !malformed(text.substr(0, i))) FAIL_CHECK("cut at " << i);
        }
        CHECK(malformed(text + "A"));
        CHECK(malformed(text + "=="));
    }
}

TEST_CASE("a place that no run can stand at is malformed, although its checksum holds") {
    page_cursor p = telling();
    p.highest.at = {19};  // below the ceiling
    CHECK(malformed(to_text(p)));
    p.highest.at = {20};
    CHECK_FALSE(malformed(to_text(p)));
    p.ceiling.at = {-1};
    CHECK(malformed(to_text(p)));
    p = telling();
    p.base->at = {stamp_max.n + 1};
    CHECK(malformed(to_text(p)));
    p.base->at = {21};  // above the ceiling
    CHECK(malformed(to_text(p)));
}

TEST_CASE("a delta is told from a base, at or above it, up to the ceiling") {
    page_cursor p = telling();
    for (const std::int64_t told : {10, 20}) {
        p.phase = telling_place{{told}};
        CHECK(parse_position(to_text(p)).value() == position{p});
    }
    for (const std::int64_t told : {9, 21, -1}) {
        p.phase = telling_place{{told}};
        CHECK(malformed(to_text(p)));
    }
    p = telling();
    p.base.reset();
    CHECK(malformed(to_text(p)));
}

TEST_CASE("one place has one text: flags that mean nothing are malformed, although the sum holds") {
    const auto with_flags = [](const page_cursor& p, unsigned char flags) {
        std::string bytes = *base64url_decode(to_text(p).substr(2));
        bytes.resize(bytes.size() - 4);
        bytes[0] = static_cast<char>(static_cast<unsigned char>(bytes[0]) | flags);
        XXH32_hash_t sum = XXH32(bytes.data(), bytes.size(), 0);
        for (int i = 0; i < 4; ++i, sum >>= 8) bytes += static_cast<char>(sum & 0xff);
        return "p." + base64url_encode(bytes);
    };
    CHECK(parse_position(with_flags(telling(), 0)).value() == position{telling()});
    for (const unsigned char flag : {8, 16, 32, 64, 128})
        CHECK(malformed(with_flags(telling(), flag)));
    for (const unsigned char flag : {32, 64, 128}) CHECK(malformed(with_flags(widest(), flag)));
}

TEST_SUITE_END();
