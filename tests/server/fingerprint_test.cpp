#include "server/fingerprint.hpp"

#include <doctest/doctest.h>

using namespace litefeed::server;

TEST_SUITE_BEGIN("server/fingerprint");

TEST_CASE("an ETag is known again by its request, whatever stands beside it") {
    const auto self = fingerprint("a"), other = fingerprint("b");
    const auto tag = weak_etag("7.42.1", self);
    CHECK(known_version(tag, self) == "7.42.1");
    CHECK(known_version("\"x\", " + tag + ", W/\"y\"", self) == "7.42.1");
    CHECK(known_version(tag, other).empty());
    CHECK(known_version("*", self).empty());
    CHECK(known_version("-" + self + "\"", self).empty());
}

TEST_SUITE_END();
