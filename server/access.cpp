#include "server/access.hpp"

#include <algorithm>

namespace litefeed::server {
namespace {

constexpr std::string_view cookie_name = "litefeed_token";

outcome<const token*> find_or_refuse(const token_list& list, std::string_view given) {
    if (const auto* found = find_token(list, given)) return found;
    return problem{.kind = problem_kind::invalid_token,
                   .detail = "The token is none of this server's, or not any more."};
}

}  // namespace

std::optional<std::string_view> bearer_token(std::string_view authorization) {
    const auto end = std::min(authorization.find_first_of(" \t"), authorization.size());
    if (!same_word(authorization.substr(0, end), "Bearer")) return std::nullopt;
    return trim(authorization.substr(end));
}

std::optional<std::string> cookie_token(std::string_view cookies) {
    for (;;) {
        const auto end = cookies.find(';');
        const auto pair = cookies.substr(0, end);
        const auto equals = pair.find('=');
        if (equals != std::string_view::npos && trim(pair.substr(0, equals)) == cookie_name) {
            auto value = trim(pair.substr(equals + 1));
            if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
                value = value.substr(1, value.size() - 2);
            // No token has a percent sign, so an escape that is none makes no token of it either.
            return percent_decode(value, false).value_or("");
        }
        if (end == std::string_view::npos) return std::nullopt;
        cookies.remove_prefix(end + 1);
    }
}

outcome<const token*> holder_of(const request& asked, const token_list& list) {
    if (asked.token) return find_or_refuse(list, *asked.token);
    return problem{.kind = problem_kind::token_required,
                   .detail =
                       "Send `Authorization: Bearer TOKEN`; with a browser, open /?token=TOKEN "
                       "once."};
}

std::optional<response> answer_visit(const request& asked, const target& at,
                                     const token_list& list) {
    if (asked.method != method::get && asked.method != method::head) return std::nullopt;
    if (at.path.size() != 1 || !at.path[0].empty()) return std::nullopt;
    const std::string* given = nullptr;
    for (const auto& [name, value] : at.query)
        if (name == "token" && given == nullptr) given = &value;
    if (given == nullptr) return std::nullopt;
    if (const auto holder = find_or_refuse(list, *given); !holder)
        return to_response(holder.error());
    response out;
    if (asked.cross_site) {
        // A browser keeps a strict cookie back all along a redirect that another site began; a page of ours begins anew.
        out.content_type = "text/html";
        out.field("Refresh", "0; url=/");
    } else {
        out.status = 303;
        out.field("Location", "/");
    }
    // Every character of a token may stand in a cookie as it is. Whoever lies about https only limits the own cookie.
    out.field("Set-Cookie", std::string(cookie_name) + "=" + *given +
                                "; Path=/; HttpOnly; SameSite=Strict" +
                                (asked.forwarded_https ? "; Secure" : ""));
    out.field("Cache-Control", "no-store");
    out.field("Referrer-Policy", "no-referrer");
    return out;
}

}  // namespace litefeed::server
