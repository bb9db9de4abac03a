#include "core/own_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/sql_text.hpp"

namespace litefeed {
namespace {

constexpr std::array<std::string_view, 8> own_tables{
    "litefeed_log",   "litefeed_meta",      "litefeed_tables",    "litefeed_schema",
    "litefeed_marks", "litefeed_contracts", "litefeed_consumers", "litefeed_shapes"};
constexpr std::string_view capture_prefix = "litefeed_";
constexpr std::string_view consumers_prefix = "litefeed_consumers_";

}  // namespace

bool is_own_table(std::string_view name) noexcept {
    return std::any_of(own_tables.begin(), own_tables.end(),
                       [&](std::string_view own) { return same_name(own, name); });
}

std::int64_t table_id_in(std::string_view trigger_name) noexcept {
    if (!trigger_name.starts_with(capture_prefix)) return 0;
    trigger_name.remove_prefix(capture_prefix.size());
    std::int64_t id = 0;
    const char* const end = trigger_name.data() + trigger_name.size();
    const auto [after, error] = std::from_chars(trigger_name.data(), end, id);
    return error == std::errc{} && after != end && *after == '_' && id > 0 ? id : 0;
}

bool is_own_trigger(std::string_view name) noexcept {
    return table_id_in(name) > 0 || name.starts_with(consumers_prefix);
}

}  // namespace litefeed
