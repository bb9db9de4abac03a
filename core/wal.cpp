#include "core/wal.hpp"

#include <array>
#include <cstring>

namespace litefeed {
namespace {

// SQLite's file format, "The Write-Ahead Log".
constexpr std::int64_t header_bytes = 32, frame_header_bytes = 24;
constexpr std::size_t salt_in_header = 16, salt_in_frame = 8, salt_bytes = 8;

using salt = std::array<unsigned char, salt_bytes>;

bool read(sqlite3_file* file, std::int64_t at, salt& to) {
    return file->pMethods->xRead(file, to.data(), static_cast<int>(to.size()), at) == SQLITE_OK;
}

}  // namespace

std::int64_t wal_frames(const connection& db) {
    if (db.text("PRAGMA main.journal_mode") != "wal") return 0;
    const std::int64_t frame_bytes = frame_header_bytes + db.integer("PRAGMA main.page_size");
    sqlite3_file* file = nullptr;
    if (sqlite3_file_control(db.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK ||
        file == nullptr || file->pMethods == nullptr)
        return 0;
    sqlite3_int64 bytes = 0;
    salt current{};
    if (file->pMethods->xFileSize(file, &bytes) != SQLITE_OK || bytes < header_bytes ||
        !read(file, salt_in_header, current))
        return 0;
    // The frames of this round come first and share the header's salt.
    std::int64_t sure = 0, end = (bytes - header_bytes) / frame_bytes;
    while (sure < end) {
        const std::int64_t middle = sure + (end - sure) / 2;
        salt its{};
        const std::int64_t at =
            header_bytes + middle * frame_bytes + static_cast<std::int64_t>(salt_in_frame);
        if (read(file, at, its) && its == current)
            sure = middle + 1;
        else
            end = middle;
    }
    return sure;
}

}  // namespace litefeed
