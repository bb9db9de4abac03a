#pragma once

#include "core/feed.hpp"
#include "core/plan.hpp"
#include "core/snapshot.hpp"

namespace litefeed {

/// Answers one question in one snapshot: checks the cursor, tells what starts over, then the delta, page by page.
/// Errors are thrown: errc::unknown_table, errc::too_long as boost::system::system_error; sqlite_error.
[[nodiscard]] answer answer_changes(const feed_view::snapshot& now, plan_cache& plans,
                                    const question& q);

/// One page of a table. Errors beside the above: errc::malformed_cursor, errc::page_gone.
[[nodiscard]] rows_page answer_rows(const feed_view::snapshot& now, const rows_question& q);

/// What an ETag needs beside the request.
[[nodiscard]] std::string version_of(const feed_view::snapshot& now);

/// Why a place cannot be continued here, or nothing. Pure but for the digests, which are read from the log.
[[nodiscard]] std::optional<reset_reason> check_cursor(const feed_view::snapshot& now,
                                                       const rest_cursor& at);
[[nodiscard]] std::optional<reset_reason> check_bare_stamp(const feed_view::snapshot& now,
                                                           stamp at);

}  // namespace litefeed
