#pragma once

#include <cstdint>

#include "core/feed.hpp"
#include "core/plan.hpp"
#include "core/snapshot.hpp"

namespace litefeed {

/// A run goes no further at once, so that whoever was away for long costs no more memory than this many plans of rows; the
/// next one goes on from there.
inline constexpr std::int64_t run_entries_max = 250'000;

/// Answers one question in one snapshot: checks the cursor, tells what starts over, then the delta, page by page.
/// Errors are thrown: errc::unknown_table, errc::too_long as boost::system::system_error; sqlite_error.
[[nodiscard]] answer answer_changes(const feed_view::snapshot& now, plan_cache& plans,
                                    const question& q);

}  // namespace litefeed
