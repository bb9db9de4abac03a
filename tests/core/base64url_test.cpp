#include "core/base64url.hpp"

#include <doctest/doctest.h>

using namespace litefeed;

TEST_SUITE_BEGIN("core/base64url");

TEST_CASE("the vectors of RFC 4648, without padding, in the alphabet of URLs") {
    CHECK(base64url_encode("") == "");
    CHECK(base64url_encode("f") == "Zg");
    CHECK(base64url_encode("fo") == "Zm8");
    CHECK(base64url_encode("foo") == "Zm9v");
    CHECK(base64url_encode("foob") == "Zm9vYg");
    CHECK(base64url_encode("foobar") == "Zm9vYmFy");
    CHECK(base64url_encode("\xfb\xff\xbf") == "-_-_");
}

TEST_CASE("every byte string of up to 300 bytes comes back") {
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
        CHECK(base64url_decode(base64url_encode(bytes)) == bytes);
        bytes += static_cast<char>(i * 37 + 11);
    }
}

TEST_CASE("only the one text of each byte string is taken") {
    CHECK(base64url_decode("Zg") == "f");
    for (const auto* bad :
         {"Zh", "Zg=", "Zg==", "Z", "Zm9vY", "Zm 9", "Zm+v", "Zm/v", "Zm9\n", "Zm.v"}) {
        CAPTURE(bad);
        CHECK_FALSE(base64url_decode(bad).has_value());
    }
    CHECK_FALSE(base64url_decode(std::string_view("Zm9\0", 4)).has_value());
}

TEST_SUITE_END();
