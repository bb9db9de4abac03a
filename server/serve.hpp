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
};

/// Serves until SIGTERM or SIGINT. Returns the exit code; throws `cannot`.
int run_serve(serve_options);

}  // namespace litefeed::server
