#pragma once

#include <boost/system/result.hpp>
#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace litefeed::server {

/// The kinds of refusal a client can meet; each is `/problems/<name>` on the wire (server/WIRE.md lists them).
enum class problem_kind {
    bad_request,
    bad_host,
    bad_parameter,
    unknown_parameter,
    repeated_parameter,
    malformed_cursor,
    token_required,
    invalid_token,
    host_not_allowed,
    not_found,
    unknown_table,
    method_not_allowed,
    request_timeout,
    page_gone,
    body_not_allowed,
    target_too_long,
    expectation_failed,
    header_too_large,
    version_not_supported,
    internal,
    busy,
    unavailable,
    full,
};

/// Why a request is not answered, in the words of RFC 9457.
struct problem {
    problem_kind kind{};
    std::string detail;                         ///< one sentence for a person: what to do
    std::optional<std::string> parameter = {};  ///< the one at fault, where one is
    std::chrono::seconds retry_after{0};        ///< above 0: the trouble passes
};

/// Either what was asked for or the problem with it.
template <class T>
using outcome = boost::system::result<T, problem>;

[[nodiscard]] std::string_view name_of(problem_kind);
[[nodiscard]] int status_of(problem_kind);
std::ostream& operator<<(std::ostream&, problem_kind);

/// The body of the answer, `application/problem+json`.
[[nodiscard]] std::string to_json(const problem&);

}  // namespace litefeed::server
