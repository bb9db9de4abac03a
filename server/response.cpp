#include "server/response.hpp"

#include <algorithm>

namespace litefeed::server {
namespace {

/// Header names of a preflight, as they may be echoed: tokens, commas and blanks.
bool is_name_list(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               c == '-' || c == '_' || c == ',' || c == ' ';
    });
}

}  // namespace

std::string_view trim(std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
    return s;
}

bool same_word(std::string_view a, std::string_view b) {
    const auto lower = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c;
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](char x, char y) { return lower(x) == lower(y); });
}

void response::field(std::string_view name, std::string_view value) {
    fields.append(name).append(": ").append(value).append("\r\n");
}

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 303:
            return "See Other";
        case 304:
            return "Not Modified";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Timeout";
        case 410:
            return "Gone";
        case 413:
            return "Content Too Large";
        case 414:
            return "URI Too Long";
        case 417:
            return "Expectation Failed";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 503:
            return "Service Unavailable";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "Unknown";
    }
}

response to_response(const problem& p) {
    response out;
    out.status = status_of(p.kind);
    out.content_type = "application/problem+json";
    out.body = to_json(p);
    out.field("Cache-Control", "no-store");
    // RFC 6750, 3: the error is named only to who brought a token.
    if (p.kind == problem_kind::token_required) out.field("WWW-Authenticate", "Bearer");
    if (p.kind == problem_kind::invalid_token)
        out.field("WWW-Authenticate", R"(Bearer error="invalid_token")");
    if (p.retry_after.count() > 0) out.field("Retry-After", std::to_string(p.retry_after.count()));
    return out;
}

std::string head_of(const response& r, const request& to, std::string_view date) {
    std::string out;
    out.reserve(256 + r.fields.size());
    out.append("HTTP/1.1 ").append(std::to_string(r.status)).append(" ");
    out.append(reason_phrase(r.status)).append("\r\nDate: ").append(date).append("\r\n");
    if (!r.content_type.empty()) out.append("Content-Type: ").append(r.content_type).append("\r\n");
    if (r.status != 304)
        out.append("Content-Length: ").append(std::to_string(r.body.size())).append("\r\n");
    out.append("X-Content-Type-Options: nosniff\r\n");
    out.append(r.fields);
    if (r.close || !to.keep_alive)
        out.append("Connection: close\r\n");
    else if (to.version < 11)
        out.append("Connection: keep-alive\r\n");
    out.append("\r\n");
    return out;
}

std::string cors_fields(const request& r, const std::vector<std::string>& origins) {
    if (origins.empty()) return {};
    std::string out = "Vary: Origin\r\n";
    if (!r.origin || std::find(origins.begin(), origins.end(), *r.origin) == origins.end())
        return out;
    out.append("Access-Control-Allow-Origin: ").append(*r.origin).append("\r\n");
    out.append("Access-Control-Allow-Credentials: true\r\n");
    out.append(
        "Access-Control-Expose-Headers: Litefeed-Head, Litefeed-Cursor, Litefeed-More, "
        "Litefeed-Next, Litefeed-Reset, ETag, Last-Event-ID, Retry-After\r\n");
    if (r.method == method::options && !r.asked_method.empty()) {
        out.append("Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n");
        if (!r.asked_headers.empty() && is_name_list(r.asked_headers))
            out.append("Access-Control-Allow-Headers: ").append(r.asked_headers).append("\r\n");
        out.append("Access-Control-Max-Age: 600\r\n");
    }
    return out;
}

bool accepts(std::string_view accept, std::string_view type) {
    while (!accept.empty()) {
        const auto comma = accept.find(',');
        auto range = accept.substr(0, comma);
        accept = comma == std::string_view::npos ? std::string_view{} : accept.substr(comma + 1);
        const auto semicolon = range.find(';');
        if (!same_word(trim(range.substr(0, semicolon)), type)) continue;
        if (semicolon == std::string_view::npos) return true;
        const auto q = range.find("q=", semicolon);
        if (q == std::string_view::npos) return true;
        return range.substr(q + 2).find_first_of("123456789") != std::string_view::npos;
    }
    return false;
}

}  // namespace litefeed::server
