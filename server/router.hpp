#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "server/feed_request.hpp"
#include "server/loop.hpp"
#include "server/response.hpp"

namespace litefeed::server {

/// A connection that becomes a stream.
struct stream_opening {
    events_request want;
    std::uint32_t token_id = 0;  ///< of the token that it is opened with; 0 where none is needed
};

using reply = std::variant<response, stream_opening>;

/// Answers one request. `asked` and `of` outlive the task; `socket` is only looked at while a long poll waits.
/// `surplus`: the connection is one too many and is told so.
task<reply> answer_request(loop* of, const request* asked, int socket, bool surplus);

/// The header of a stream, up to, not including, its empty line.
[[nodiscard]] std::string stream_head(const request&, loop&, bool chunked);

/// What is wrong with a request before it is known what it asks for; none when nothing is.
[[nodiscard]] std::optional<problem> check_request(const request&, const target&,
                                                   const std::vector<std::string>& allow_hosts);

}  // namespace litefeed::server
