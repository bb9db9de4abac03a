#include "server/heartbeat.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace litefeed::server;

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using sign = heartbeat::sign;

constexpr milliseconds sweep{250};

/// A stream that the sweep looks at: what it is told is taken at once unless it is stuck.
struct stream {
    explicit stream(seconds asked, heartbeat::duration late = heartbeat::spread_max)
        : spread(late), beat(now, asked, late) {}

    sign look() {
        now += sweep;
        if (!beat.due(now)) return sign::none;
        const auto out = beat.look(now, progress, stuck, spread);
        if (out == sign::comment || out == sign::event) progress = now;
        return out;
    }
    /// The seconds at which it is told `what`, up to `end`.
    std::vector<double> times_of(sign what, seconds end) {
        std::vector<double> out;
        while (now < begin + end)
            if (look() == what) out.push_back(std::chrono::duration<double>(now - begin).count());
        return out;
    }

    const steady::time_point begin = steady::time_point(seconds(1000));
    steady::time_point now = begin, progress = begin;
    bool stuck = false;
    heartbeat::duration spread;
    heartbeat beat;
};

}  // namespace

TEST_SUITE_BEGIN("server/heartbeat");

TEST_CASE("whatever is asked for, silence never lasts 15 seconds") {
    for (const auto asked : {0, 1, 11, 12, 13, 15, 16, 20, 29, 30, 45, 60})
        for (const auto spread : {heartbeat::duration(0), heartbeat::spread_max}) {
            stream s(seconds(asked), spread);
            heartbeat::duration longest{0};
            while (s.now < s.begin + seconds(300)) {
                const auto heard = s.progress;
                const auto told = s.look();
                if (told == sign::comment || told == sign::event)
                    longest = std::max(longest, s.now - heard);
            }
            CAPTURE(asked);
            CHECK(longest > heartbeat::duration(0));
            CHECK(longest < seconds(15));
        }
}

TEST_CASE("an event comes as often as asked, beside the comments") {
    CHECK(stream(seconds(60)).times_of(sign::event, seconds(200)) ==
          std::vector<double>{60, 120, 180});
    CHECK(stream(seconds(1)).times_of(sign::event, seconds(3)) == std::vector<double>{1, 2, 3});
    CHECK(stream(seconds(0)).times_of(sign::event, seconds(200)).empty());
    CHECK(stream(seconds(5)).times_of(sign::comment, seconds(200)).empty());
}

TEST_CASE("who is told changes hears comments only after a pause") {
    stream s(seconds(0));
    while (s.now < s.begin + seconds(60)) {
        s.progress = s.now;
        CHECK(s.look() == sign::none);
    }
    CHECK(s.times_of(sign::comment, seconds(75)).size() == 1);
}

TEST_CASE("whoever takes nothing for 30 seconds is closed, whatever was asked for") {
    for (const auto asked : {0, 1, 16, 60}) {
        stream s{seconds(asked)};
        s.stuck = true;
        const auto closed = s.times_of(sign::close, seconds(33));
        CAPTURE(asked);
        REQUIRE(!closed.empty());
        CHECK(closed.front() >= 30);
        CHECK(closed.front() < 31.5);
    }
}

TEST_CASE("who gets on slowly is not closed") {
    stream s(seconds(60));
    s.stuck = true;
    while (s.now < s.begin + seconds(120)) {
        if ((s.now - s.begin) % seconds(29) == seconds(0)) s.progress = s.now;
        CHECK(s.look() == sign::none);
    }
}

TEST_SUITE_END();
