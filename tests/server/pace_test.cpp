#include "server/pace.hpp"

#include <doctest/doctest.h>

using namespace litefeed::server;
using namespace std::chrono_literals;

namespace {

// A loop in which somebody listens, and whose file the kernel watches.
struct listening {
    pace looks{2ms};
    steady::time_point now{1h};

    pace::duration next() { return looks.next(now, true, true); }
    void pass(pace::duration time) { now += time; }
};

}  // namespace

TEST_SUITE_BEGIN("server/pace");

TEST_CASE("looks are rare while nothing is told, and rarer while nobody listens") {
    listening l;
    CHECK(l.next() == pace::quiet);
    CHECK(l.looks.rare());
    CHECK(l.looks.next(l.now, false, true) == pace::nobody_listens);
    CHECK_FALSE(l.looks.rare());
}

TEST_CASE("a write that is told brings close looks, its commit ordinary ones, for a stretch") {
    listening l;
    (void)l.next();
    l.looks.written(l.now);
    CHECK(l.next() == pace::closest);
    l.pass(pace::expectation);
    CHECK(l.next() == 2ms);  // an fsync that takes long
    l.looks.moved(l.now, true);
    CHECK(l.next() == 2ms);
    l.pass(pace::stretch);
    CHECK(l.next() == pace::quiet);
}

TEST_CASE("looks stay at the ordinary distance where the kernel tells nothing") {
    listening l;
    CHECK(l.looks.next(l.now, true, false) == 2ms);
    SUBCASE("it was silent over three commits in a row") {
        for (int i = 0; i < pace::silences_max; ++i) {
            CHECK(l.next() == pace::quiet);
            l.looks.moved(l.now, false);
            CHECK(l.next() == 2ms);
            l.pass(pace::stretch);
        }
        CHECK(l.next() == 2ms);
    }
    SUBCASE("two silences and a word are no three silences") {
        for (int i = 0; i < 6; ++i) {
            CHECK(l.next() == pace::quiet);
            if (i % 3 == 2) l.looks.written(l.now);
            l.looks.moved(l.now, i % 3 == 2);
            (void)l.next();
            l.pass(pace::stretch);
        }
        CHECK(l.next() == pace::quiet);
    }
    SUBCASE("commits while looks are close anyhow say nothing of it") {
        l.looks.moved(l.now, false);
        for (int i = 0; i < 10; ++i) {
            CHECK(l.next() == 2ms);
            l.looks.moved(l.now, false);
        }
        l.pass(pace::stretch);
        CHECK(l.next() == pace::quiet);
    }
}

TEST_CASE(
    "what the user asked for is the ordinary distance, and looks are never closer than it without "
    "need") {
    pace slow{50ms};
    const steady::time_point now{1h};
    CHECK(slow.next(now, true, true) == 50ms);
    slow.written(now);
    CHECK(slow.next(now, true, true) == pace::closest);
}

TEST_SUITE_END();
