#pragma once

#include <cstdint>
#include <string_view>

// Which objects of the owner's file are litefeed's. Whatever else is named so or so is the owner's, and is never dropped.
namespace litefeed {

/// One of format 1's tables.
[[nodiscard]] bool is_own_table(std::string_view name) noexcept;

/// The table_id in the name of a capture's trigger (`litefeed_7_insert` → 7); 0 for another name.
[[nodiscard]] std::int64_t table_id_in(std::string_view trigger_name) noexcept;

/// A capture's trigger, or one of those that guard litefeed_consumers.
[[nodiscard]] bool is_own_trigger(std::string_view name) noexcept;

}  // namespace litefeed
