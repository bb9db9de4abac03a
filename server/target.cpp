#include "server/target.hpp"

#include <array>

namespace litefeed::server {
namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

problem bad_escape() {
    return {.kind = problem_kind::bad_request,
            .detail = "A percent sign in the target must be followed by two hex digits."};
}

/// What follows `http://` and stands before the path, if the target is in absolute form. Scheme in any case.
std::optional<std::size_t> scheme_length(std::string_view text) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (text.size() < scheme.size()) continue;
        bool same = true;
        for (std::size_t i = 0; i < scheme.size(); ++i)
            same = same && (text[i] | (scheme[i] >= 'a' ? 0x20 : 0)) == scheme[i];
        if (same) return scheme.size();
    }
    return std::nullopt;
}

template <class Each>
void split(std::string_view text, char at, Each each) {
    for (;;) {
        const auto end = text.find(at);
        each(text.substr(0, end));
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + 1);
    }
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+' && plus_is_space) {
            out += ' ';
        } else if (text[i] != '%') {
            out += text[i];
        } else {
            if (i + 2 >= text.size()) return std::nullopt;
            const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
            if (high < 0 || low < 0) return std::nullopt;
            out += static_cast<char>(high * 16 + low);
            i += 2;
        }
    }
    return out;
}

std::string percent_encode(std::string_view text) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto u = static_cast<unsigned char>(c);
        const bool plain = (u >= '0' && u <= '9') || (u >= 'A' && u <= 'Z') ||
                           (u >= 'a' && u <= 'z') || u == '-' || u == '.' || u == '_' || u == '~';
        if (plain) {
            out += c;
        } else {
            out += '%';
            out += hex[u >> 4];
            out += hex[u & 15];
        }
    }
    return out;
}

outcome<target> parse_target(std::string_view text) {
    target out;
    if (text == "*") {
        out.asterisk = true;
        return out;
    }
    if (const auto scheme = scheme_length(text)) {
        text.remove_prefix(*scheme);
        const auto end = text.find_first_of("/?");
        out.authority = std::string(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end);
        if (text.empty()) text = "/";
        if (text.front() == '?') {
            out.path.emplace_back();
        }
    }
    if (out.path.empty() && !text.starts_with('/'))
        return problem{.kind = problem_kind::bad_request,
                       .detail = "The target must begin with a slash."};
    if (text.find('#') != std::string_view::npos)
        return problem{.kind = problem_kind::bad_request,
                       .detail = "A target has no fragment; write # as %23."};

    const auto question = text.find('?');
    bool sound = true;
    if (out.path.empty())
        split(text.substr(1, question == std::string_view::npos ? question : question - 1), '/',
              [&](std::string_view piece) {
                  auto decoded = percent_decode(piece, false);
                  sound = sound && decoded;
                  out.path.push_back(std::move(decoded).value_or(""));
              });
    if (question != std::string_view::npos)
        split(text.substr(question + 1), '&', [&](std::string_view piece) {
            if (piece.empty()) return;
            const auto equals = piece.find('=');
            auto name = percent_decode(piece.substr(0, equals), true);
            auto value = percent_decode(
                equals == std::string_view::npos ? std::string_view{} : piece.substr(equals + 1),
                true);
            sound = sound && name && value;
            out.query.emplace_back(std::move(name).value_or(""), std::move(value).value_or(""));
        });
    if (!sound) return bad_escape();
    return out;
}

}  // namespace litefeed::server
