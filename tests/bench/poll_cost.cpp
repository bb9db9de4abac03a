// What it costs to ask an idle file whether it moved: one PRAGMA data_version, as the server's loops
// do it. Prints µs, the median of a hundred batches.
// usage: poll_cost DATABASE
#include <iostream>

#include "core/feed.hpp"
#include "tests/bench/loopback.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: poll_cost DATABASE\n";
        return 2;
    }
    try {
        litefeed::feed feed = litefeed::feed::open(argv[1], {.serving = true});
        (void)feed.moved().value();
        std::vector<double> batches;
        for (int batch = 0; batch < 100; ++batch) {
            constexpr int looks = 200;
            const double begin = bench::now_us();
            for (int i = 0; i < looks; ++i) (void)feed.moved().value();
            batches.push_back((bench::now_us() - begin) / looks);
        }
        std::cout << bench::quantile(batches, 0.5) << "\n";
    } catch (const std::exception& e) {
        std::cerr << "poll_cost: " << e.what() << "\n";
        return 1;
    }
}
