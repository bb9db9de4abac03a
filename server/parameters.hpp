#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/problem.hpp"

namespace litefeed::server {

/// The parameters of one request, checked against the names that its resource knows.
class parameters {
  public:
    /// Names that begin with `_` and `org.htmx.cache-buster` are dropped. Problems: unknown_parameter,
    /// repeated_parameter (`table` alone may come again).
    [[nodiscard]] static outcome<parameters> check(
        std::vector<std::pair<std::string, std::string>> query,
        std::initializer_list<std::string_view> known);

    [[nodiscard]] const std::string* find(std::string_view name) const;
    [[nodiscard]] std::vector<std::string> all(std::string_view name) const;

    /// Digits only, within the bounds; `otherwise` when absent.
    [[nodiscard]] outcome<std::int64_t> number(std::string_view name, std::int64_t low,
                                               std::int64_t high, std::int64_t otherwise) const;
    /// `0` or `1`; false when absent.
    [[nodiscard]] outcome<bool> flag(std::string_view name) const;
    /// Index into `words`; 0 when absent.
    [[nodiscard]] outcome<std::size_t> choice(std::string_view name,
                                              std::initializer_list<std::string_view> words) const;

  private:
    std::vector<std::pair<std::string, std::string>> pairs_;
};

/// Digits only: no sign, no blank, nothing above `high`.
[[nodiscard]] std::optional<std::int64_t> parse_digits(std::string_view text, std::int64_t high);

[[nodiscard]] problem bad_parameter(std::string_view name, std::string detail);

}  // namespace litefeed::server
