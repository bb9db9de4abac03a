#include "server/step.hpp"

#include <doctest/doctest.h>

using namespace litefeed;
using namespace litefeed::server;

namespace {

place told(std::int64_t n) {
    place p;
    p.told = {n};
    p.settled = true;
    p.epoch = 1;
    return p;
}

}  // namespace

TEST_SUITE_BEGIN("server/step");

TEST_CASE("who was told the newest waits, who was not asks") {
    CHECK(next_step(told(10), {10}, 1) == step::wait);
    CHECK(next_step(told(11), {10}, 1) == step::wait);
    CHECK(next_step(told(9), {10}, 1) == step::ask);
}

TEST_CASE("a place that a client brought is asked whatever its number") {
    place brought;
    CHECK(next_step(brought, {0}, 1) == step::ask);
    brought.told = {99};
    CHECK(next_step(brought, {10}, 1) == step::ask);
}

TEST_CASE("a place from before the file was replaced is asked again") {
    CHECK(next_step(told(10), {10}, 2) == step::ask);
}

TEST_CASE("a quiet reader is handed the head once it is past what it was told") {
    CHECK(bookmark_due(told(10), {10}, {12}, 1));
    CHECK_FALSE(bookmark_due(told(12), {10}, {12}, 1));
    CHECK_FALSE(bookmark_due(told(9), {10}, {12}, 1));
    CHECK_FALSE(bookmark_due(told(10), {10}, {12}, 2));
}

TEST_SUITE_END();
