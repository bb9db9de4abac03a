#pragma once

#include <string>
#include <vector>

#include "core/keeper.hpp"
#include "server/options.hpp"

namespace litefeed::server {

/// What `litefeed serve` was asked for.
struct serve_options {
    server_options server;
    std::vector<std::string> watch;
    bool watch_all = false;
    watch_options watching;
    keeping_wish keeping;
    std::int64_t compact_every_s = 3600;  ///< 0: never
};

/// Serves until SIGTERM or SIGINT. Returns the exit code; throws `cannot`.
int run_serve(serve_options);

}  // namespace litefeed::server
