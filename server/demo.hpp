#pragma once

#include <string>

namespace litefeed::server {

/// Makes a small database in a directory of its own, writes to it as an app would, and serves it until SIGTERM or
/// SIGINT; then the directory is removed. `listen` empty: 127.0.0.1:7070 or the next free port. Throws `cannot`.
int run_demo(const std::string& listen);

}  // namespace litefeed::server
