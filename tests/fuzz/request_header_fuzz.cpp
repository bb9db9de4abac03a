// The header of a request. However the bytes are cut, the outcome is the same. What is accepted leaves a second reader no
// other choice: lines end with CR and LF, one Host is one line, and every body is seen. Nothing of a request becomes a
// line of its answer. Only a loopback name passes as one.
#include <arpa/inet.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <vector>

#include "server/host.hpp"
#include "server/response.hpp"

using namespace litefeed::server;

namespace {

// Small, so that short inputs reach them.
constexpr request_limits limits{.target_bytes_max = 96, .header_bytes_max = 512};

using parts = std::vector<std::string>;

parts lines_of(std::string_view text) {
    parts out;
    while (!text.empty()) {
        const auto end = text.find("\r\n");
        assert(end != std::string_view::npos);
        out.emplace_back(text.substr(0, end));
        text.remove_prefix(end + 2);
    }
    return out;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c; });
    return out;
}

// The values under one name, by the plainest reading there is.
parts values(const parts& lines, std::string_view name) {
    parts out;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        const auto colon = lines[i].find(':');
        if (lower(lines[i].substr(0, colon)) != name) continue;
        auto value = lines[i].substr(colon + 1);
        value.erase(0, value.find_first_not_of(" \t"));
        value.erase(value.find_last_not_of(" \t") + 1);
        out.push_back(lower(value));
    }
    return out;
}

void check_body(const request& r, const parts& lines) {
    const auto lengths = values(lines, "content-length");
    const auto codings = values(lines, "transfer-encoding");
    if (!codings.empty())
        assert(r.has_body && r.version == 11 && lengths.empty() &&
               codings.back().ends_with("chunked"));
    else
        assert(r.has_body == std::any_of(lengths.begin(), lengths.end(), [](const auto& length) {
                   return length.find_first_of("123456789") != std::string::npos;
               }));
    for (const auto& length : lengths)
        assert(!length.empty() && length.find_first_not_of("0123456789, \t") == std::string::npos);
}

void check_accepted(std::string_view bytes, const request_read& read) {
    auto header = bytes.substr(0, read.bytes);
    while (header.starts_with("\r\n")) header.remove_prefix(2);
    assert(header.find("\r\n\r\n") == header.size() - 4);
    const auto lines = lines_of(header.substr(0, header.size() - 2));
    for (const auto& line : lines)
        assert(line.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);

    const request& r = read.request;
    assert(lines[0].find(" " + r.target + " HTTP/1." + (r.version == 11 ? "1" : "0")) ==
           lines[0].find(' '));
    for (std::size_t i = 1; i < lines.size(); ++i) {
        const auto colon = lines[i].find(':');
        assert(colon != std::string::npos && colon > 0);
        assert(lines[i].find_first_of(" \t") > colon);
    }
    const auto hosts = values(lines, "host");
    assert(static_cast<std::size_t>(r.hosts) == hosts.size());
    if (r.hosts == 1) assert(lower(r.host) == hosts[0]);
    check_body(r, lines);
}

// What an answer says back of the request is lines of ours only.
void check_answer(const request& r) {
    response out;
    out.fields = cors_fields(r, {"https://a.example"});
    auto head = head_of(out, r, "now");
    assert(head.find("\r\n\r\n") == head.size() - 4);
    head.resize(head.size() - 2);
    for (const auto& line : lines_of(head))
        assert(line.starts_with("HTTP/1.1 200 OK") || line.starts_with("Date: ") ||
               line.starts_with("Content-Length: ") || line.starts_with("Connection: ") ||
               line.starts_with("X-Content-Type-Options: ") || line.starts_with("Vary: ") ||
               line.starts_with("Access-Control-"));
}

bool resolves_to_loopback(const std::string& name) {
    in6_addr v6{};
    in_addr v4{};
    if (name == "localhost" || name.ends_with(".localhost")) return true;
    if (inet_pton(AF_INET, name.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, name.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

void check_host(std::string_view host) {
    const auto name = host_name(host);
    assert(host_allowed(host, {}) == (name && resolves_to_loopback(*name)));
    assert(host_allowed(host, {std::string(host)}) == name.has_value());
    if (!name) return;
    assert(!name->empty() && lower(*name) == *name);
    const bool bracketed = host.starts_with('[');
    assert(host_name(bracketed ? "[" + *name + "]:80" : *name + ".:80") == name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto whole = read_request(bytes, limits);
    for (std::size_t kept = 0; kept < size; ++kept) {
        const auto step = read_request(bytes.substr(0, kept), limits);
        if (std::holds_alternative<need_more>(step)) continue;
        assert(step.index() == whole.index());
        if (const auto* p = std::get_if<problem>(&step))
            assert(p->kind == std::get<problem>(whole).kind);
        else
            assert(std::get<request_read>(step).bytes == std::get<request_read>(whole).bytes);
    }
    if (const auto* read = std::get_if<request_read>(&whole)) {
        check_accepted(bytes, *read);
        check_answer(read->request);
        check_host(read->request.host);
    }
    check_host(bytes.substr(0, 64));
    return 0;
}
