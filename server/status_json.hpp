#pragma once

#include <string>
#include <vector>

#include "core/feed.hpp"

namespace litefeed::server {

/// The body of /tables: `{"head":…,"tables":[…]}`.
[[nodiscard]] std::string tables_json(const tables_status& now);

/// What is known of the file, as /status and `litefeed status --json` say it: two members, `feed` and `file`, without
/// the braces around them.
[[nodiscard]] std::string feed_members(const feed_status&);

/// UTC, `2026-01-31T08:15:00.250Z`.
[[nodiscard]] std::string utc_text(std::int64_t unix_ms);

}  // namespace litefeed::server
