#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "server/column_choice.hpp"

namespace litefeed::server {

/// What `serve` was asked to do.
struct server_options {
    std::string database;
    std::string listen = "127.0.0.1:7070";
    int threads = 1;
    std::chrono::milliseconds poll{2};
    bool read_only = false;
    column_choice columns;
    std::size_t row_bytes_max = feed_options{}.row_bytes_max;
    std::vector<std::string> allow_hosts;
    std::vector<std::string> cors_origins;
    std::string token_file;  ///< empty: everyone who reaches the server may ask
    bool insecure = false;
};

}  // namespace litefeed::server
