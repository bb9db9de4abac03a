#pragma once

#include "core/feed.hpp"
#include "core/plan.hpp"
#include "core/snapshot.hpp"

namespace litefeed {

/// Answers one question in one snapshot: checks the cursor, tells what starts over, then the delta, page by page.
/// Errors are thrown: errc::unknown_table, errc::too_long as boost::system::system_error; sqlite_error.
[[nodiscard]] answer answer_changes(const feed_view::snapshot& now, plan_cache& plans,
                                    const question& q);

}  // namespace litefeed
