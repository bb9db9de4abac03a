#pragma once

namespace litefeed::server {

/// Runs the command that the arguments name. 0: done; 1: cannot; 2: wrong use.
int run_command_line(int argc, char** argv);

}  // namespace litefeed::server
