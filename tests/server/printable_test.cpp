#include "server/printable.hpp"

#include <doctest/doctest.h>

using namespace litefeed::server;

TEST_SUITE_BEGIN("server/printable");

TEST_CASE("control characters do not reach a terminal, other text does") {
    CHECK(printable("notes") == "notes");
    CHECK(printable("a\x1b[31mb\nc\x7f") == "a\\x1b[31mb\\x0ac\\x7f");
    CHECK(printable("\xc3\xbc \xe2\x98\x83 \xc2\xa0") == "\xc3\xbc \xe2\x98\x83 \xc2\xa0");
    CHECK(printable("a\xc2\x9b"
                    "31m") == "a\\x9b31m");
}

TEST_CASE("what is no UTF-8 is told in hex, so that what is printed is text") {
    CHECK(printable("\x9b") == "\\x9b");
    CHECK(printable("en\xbb"
                    "abled \xe2\x98") == "en\\xbbabled \\xe2\\x98");
}

TEST_SUITE_END();
