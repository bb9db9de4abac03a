#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/problem.hpp"

namespace litefeed::server {

enum class method { get, head, options, other };

/// The header of one HTTP/1.x request: what this server looks at, and nothing else. Owns its bytes.
struct request {
    server::method method = method::other;
    std::string target;
    int version = 11;  ///< 10 or 11
    bool keep_alive = false;
    bool has_body = false;  ///< bytes follow the header
    int hosts = 0;          ///< how many Host fields came
    std::string host;
    std::optional<std::string> last_event_id, origin, if_none_match, expect;
    int authorizations = 0;            ///< how many Authorization fields came
    std::optional<std::string> token;  ///< of Authorization: Bearer; without it, of our cookie
    bool forwarded_https = false;      ///< a proxy says that its client came by https
    bool cross_site = false;           ///< a browser says that another site led here
    std::string accept, asked_method, asked_headers;  ///< the latter two of a CORS preflight

    [[nodiscard]] bool is_head() const { return method == server::method::head; }
};

struct request_limits {
    std::size_t target_bytes_max = 8 * 1024;
    std::size_t header_bytes_max = 16 * 1024;
};

/// The header has not ended yet.
struct need_more {};

struct request_read {
    server::request request;
    std::size_t bytes = 0;  ///< the header's; what follows belongs to the next request
};

using request_step = std::variant<need_more, request_read, problem>;

/// Reads one request header from the front of `bytes`. Pure; call again with more when it says need_more.
/// After a problem nothing on the connection can be trusted: answer and close.
[[nodiscard]] request_step read_request(std::string_view bytes, const request_limits& limits = {});

}  // namespace litefeed::server
