#pragma once

#include "core/feed.hpp"
#include "core/snapshot.hpp"

namespace litefeed {

/// One page of a table. Throws as boost::system::system_error: errc::unknown_table, errc::malformed_cursor,
/// errc::page_gone, errc::too_long; sqlite_error.
[[nodiscard]] rows_page answer_rows(const feed_view::snapshot& now, const rows_question& q);

}  // namespace litefeed
