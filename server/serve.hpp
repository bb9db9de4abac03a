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
    std::vector<std::string> hide;  ///< TABLE.COLUMN
    std::vector<std::string> only;  ///< TABLE:COLUMN,COLUMN
};

/// Serves until SIGTERM or SIGINT. Returns the exit code; throws `cannot`.
int run_serve(serve_options);

/// Reads `--hide` and `--only` against what the file has. Throws `cannot` for what is not there and for key columns.
[[nodiscard]] column_rules read_column_rules(const std::vector<std::string>& hide,
                                             const std::vector<std::string>& only,
                                             const std::vector<table_status>& tables);

}  // namespace litefeed::server
