#pragma once

#include <cstdint>
#include <functional>

#include "core/cursor.hpp"
#include "core/feed.hpp"
#include "core/snapshot.hpp"

namespace litefeed {

/// A table that is read in order of its key, page by page.
struct first_read {
    const feed_view::snapshot& now;
    catalog_table& table;
    stamp seen;  ///< the head when the page before was read
};

/// Appends the rows behind `at` to `to`, as changes `read` of its table `name`, and moves `at`, until `full` says so.
/// `spend` is called for each row and each entry that is looked at, and may throw. False: full before the table's end.
/// Throws errc::malformed_cursor, as system_error, when `at` does not fit the table's key; sqlite_error.
[[nodiscard]] bool read_on(const first_read& read, reading_place& at, std::uint32_t name, delta& to,
                           const std::function<bool()>& full, const std::function<void()>& spend);

}  // namespace litefeed
