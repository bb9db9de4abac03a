#pragma once

#include "server/loop.hpp"
#include "server/router.hpp"

namespace litefeed::server {

// One function for each resource, each in a file of its name. They run on the loop's thread; the pointers outlive them.

task<response> answer_changes(loop* of, const request* asked, target at, int socket);
task<response> answer_rows(loop* of, const request* asked, target at);
task<response> answer_tables(loop* of, const request* asked, target at);
task<response> answer_status(loop* of, const request* asked, target at);
task<response> answer_ready(loop* of, const request* asked, target at);
/// Either the stream that may begin, its token still to be named, or why it never can.
task<reply> answer_events(loop* of, const request* asked, target at, bool surplus);

/// What a failed read is for a client of anything but a stream.
[[nodiscard]] problem to_problem(const error_code&, loop&);

}  // namespace litefeed::server
