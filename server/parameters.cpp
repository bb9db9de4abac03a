#include "server/parameters.hpp"

#include <algorithm>

namespace litefeed::server {

problem bad_parameter(std::string_view name, std::string detail) {
    return {.kind = problem_kind::bad_parameter,
            .detail = std::move(detail),
            .parameter = std::string(name)};
}

namespace {

std::string number_words(std::int64_t low, std::int64_t high) {
    std::string out = "A whole number from ";
    out += std::to_string(low);
    out += " to ";
    out += std::to_string(high);
    out += ", digits only.";
    return out;
}

}  // namespace

std::optional<std::int64_t> parse_digits(std::string_view text, std::int64_t high) {
    if (text.empty()) return std::nullopt;
    std::int64_t n = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        const int digit = c - '0';
        if (n > (high - digit) / 10) return std::nullopt;
        n = n * 10 + digit;
    }
    return n;
}

outcome<parameters> parameters::check(std::vector<std::pair<std::string, std::string>> query,
                                      std::initializer_list<std::string_view> known) {
    parameters out;
    for (auto& [name, value] : query) {
        if (name.starts_with('_') || name == "org.htmx.cache-buster") continue;
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            std::string detail =
                known.size() == 0 ? "No parameters are taken here." : "The parameters here are ";
            std::size_t left = known.size();
            for (const auto k : known) {
                detail += k;
                detail += --left == 0 ? "." : ", ";
            }
            return problem{.kind = problem_kind::unknown_parameter,
                           .detail = std::move(detail),
                           .parameter = std::move(name)};
        }
        if (name != "table" && out.find(name) != nullptr)
            return problem{.kind = problem_kind::repeated_parameter,
                           .detail = "Send it once.",
                           .parameter = std::move(name)};
        out.pairs_.emplace_back(std::move(name), std::move(value));
    }
    return out;
}

const std::string* parameters::find(std::string_view name) const {
    for (const auto& [n, value] : pairs_)
        if (n == name) return &value;
    return nullptr;
}

std::vector<std::string> parameters::all(std::string_view name) const {
    std::vector<std::string> out;
    for (const auto& [n, value] : pairs_)
        if (n == name) out.push_back(value);
    return out;
}

outcome<std::int64_t> parameters::number(std::string_view name, std::int64_t low, std::int64_t high,
                                         std::int64_t otherwise) const {
    const auto* text = find(name);
    if (text == nullptr) return otherwise;
    const auto n = parse_digits(*text, high);
    if (!n || *n < low) return bad_parameter(name, number_words(low, high));
    return *n;
}

outcome<bool> parameters::flag(std::string_view name) const {
    const auto* text = find(name);
    if (text == nullptr || *text == "0") return false;
    if (*text == "1") return true;
    return bad_parameter(name, "0 or 1.");
}

outcome<std::size_t> parameters::choice(std::string_view name,
                                        std::initializer_list<std::string_view> words) const {
    const auto* text = find(name);
    if (text == nullptr) return std::size_t{0};
    const auto found = std::find(words.begin(), words.end(), *text);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    std::string detail = "One of";
    for (const auto w : words) detail += " " + std::string(w);
    return bad_parameter(name, detail + ".");
}

}  // namespace litefeed::server
