#include "server/command_line.hpp"

int main(int argc, char** argv) { return litefeed::server::run_command_line(argc, argv); }
