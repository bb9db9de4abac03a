#pragma once

#include <string>

#include "core/sqlite.hpp"

namespace litefeed {

/// Opens the owner's file and proves that it is a database. Throws `cannot` with a sentence for the user: missing, a
/// directory, no rights, not a database, a feed of a later litefeed.
[[nodiscard]] connection open_database(const std::string& path, connection::access how,
                                       int busy_timeout_ms);

/// Throws sqlite_error when the path names another file than the one that is open, or none: whoever holds the connection
/// opens it anew and verifies. One stat. (SQLITE_FCNTL_HAS_MOVED: the path is never opened outside SQLite, since closing
/// it would drop the process's locks.)
void refuse_moved(const connection& db);

/// From now on this connection never checkpoints, not at close either: two processes that checkpoint and write in an
/// unlucky moment can lose pages with SQLite up to 3.51.2, and the owner does it anyway.
void never_checkpoint(const connection& db);

}  // namespace litefeed
