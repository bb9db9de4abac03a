#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/feed.hpp"
#include "core/keeper.hpp"
#include "server/feed_request.hpp"

namespace litefeed::server {

// The commands that need no server. Each returns the exit code and throws `cannot`.

int run_watch(const std::string& database, const std::vector<std::string>& tables, bool all,
              const watch_options&, const keeping_wish&);
int run_unwatch(const std::string& database, const std::vector<std::string>& tables, bool all);
/// `entries_max`: kept in the file first; 0: as it is.
int run_compact(const std::string& database, std::int64_t entries_max);
int run_status(const std::string& database, bool as_json);

/// One answer of the feed, as GET /changes gives it.
int run_changes(const std::string& database, question, answer_format);

/// Lines as they come, until SIGTERM, SIGINT or the reader of our output goes away.
int run_tail(const std::string& database, question);

}  // namespace litefeed::server
