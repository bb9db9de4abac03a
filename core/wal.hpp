#pragma once

#include <cstdint>

#include "core/sqlite.hpp"

namespace litefeed {

/// How many frames of the write-ahead log count at the moment; 0 without one. Its file is longer after a reset, since
/// SQLite writes over it from the start, so its length alone says nothing. Read through SQLite's own descriptor.
/// In a transaction of `db`, or right after one. Throws sqlite_error.
[[nodiscard]] std::int64_t wal_frames(const connection& db);

}  // namespace litefeed
