#include "server/host.hpp"
#include "server/router.hpp"

namespace litefeed::server {

std::optional<problem> check_request(const request& r, const target& t,
                                     const std::vector<std::string>& allow_hosts) {
    if (r.hosts > 1 || (r.hosts == 0 && r.version >= 11))
        return problem{.kind = problem_kind::bad_host, .detail = "Send one Host header."};
    const auto refused = [&](std::string_view host) -> std::optional<problem> {
        if (host_allowed(host, allow_hosts)) return std::nullopt;
        const auto name = host_name(host);
        if (!name)
            return problem{.kind = problem_kind::bad_host, .detail = "The Host header is no host."};
        return problem{.kind = problem_kind::host_not_allowed,
                       .detail =
                           "Only loopback names are served. If this name is yours, start "
                           "litefeed with --allow-host " +
                           *name + "."};
    };
    if (r.hosts == 1)
        if (auto p = refused(r.host)) return p;
    if (t.authority)
        if (auto p = refused(*t.authority)) return p;
    if (r.authorizations > 1)
        return problem{.kind = problem_kind::bad_request,
                       .detail = "Send one Authorization header."};
    if (r.expect && !same_word(*r.expect, "100-continue"))
        return problem{.kind = problem_kind::expectation_failed,
                       .detail = "No expectation but 100-continue is known."};
    return std::nullopt;
}

}  // namespace litefeed::server
