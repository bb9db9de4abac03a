#pragma once

#include <optional>

#include "core/cursor.hpp"
#include "core/feed.hpp"
#include "core/snapshot.hpp"

// Why a place cannot be continued in this snapshot, or nothing. Pure but for the digests, which are read from the log.
namespace litefeed {

/// Nothing but its number can be judged.
[[nodiscard]] std::optional<reset_reason> check_cursor(const feed_view::snapshot& now, stamp at);
[[nodiscard]] std::optional<reset_reason> check_cursor(const feed_view::snapshot& now,
                                                       const rest_cursor& at);
/// Where the run began, its ceiling, and the highest head that a page of it was read at.
[[nodiscard]] std::optional<reset_reason> check_cursor(const feed_view::snapshot& now,
                                                       const page_cursor& at);

}  // namespace litefeed
