#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace litefeed {

/// The name of a file system that may be shared with other machines, by the magic number that statfs(2) gives; empty for
/// any other. There SQLite's WAL mode does not work (its index is shared memory), nor can locks be relied on.
[[nodiscard]] std::string_view network_file_system(std::int64_t magic);

/// The same for the one that holds `path`; empty when it cannot be told.
[[nodiscard]] std::string network_file_system_of(const std::string& path);

}  // namespace litefeed
