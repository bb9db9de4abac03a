#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/feed.hpp"

namespace litefeed::server {

/// What `serve` was asked to do.
struct server_options {
    std::string database;
    std::string listen = "127.0.0.1:7070";
    int threads = 1;
    std::chrono::milliseconds poll{2};
    bool read_only = false;
    column_rules columns;
    std::vector<std::string> allow_hosts;
    std::vector<std::string> cors_origins;
    std::string token_file;  ///< empty: everyone who reaches the server may ask
    bool insecure = false;
};

}  // namespace litefeed::server
