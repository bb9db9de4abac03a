#pragma once

#include <string>

#include "core/sqlite.hpp"

namespace litefeed {

/// Opens the owner's file and proves that it is a database. Throws `cannot` with a sentence for the user: missing, a
/// directory, no rights, not a database, a feed of a later litefeed.
[[nodiscard]] connection open_database(const std::string& path, connection::access how, int busy_timeout_ms);

/// From now on this connection never checkpoints, not at close either: two processes that checkpoint and write in an
/// unlucky moment can lose pages with SQLite up to 3.51.2, and the owner does it anyway.
void never_checkpoint(const connection& db);

}  // namespace litefeed
