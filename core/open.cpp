#include "core/open.hpp"

#include <filesystem>
#include <system_error>

#include "core/format.hpp"

namespace litefeed {
namespace {

std::string why_not(const sqlite_error& e) {
    switch (e.code().value() & 0xff) {
        case SQLITE_NOTADB:
            return "it is no SQLite database, or an encrypted one";
        case SQLITE_CANTOPEN:
        case SQLITE_PERM:
            return "it, or the directory that must hold its -wal and -shm, may not be opened by "
                   "this user";
        case SQLITE_READONLY:
            return "this user may not write it or the directory that must hold its -wal and -shm; "
                   "a file in WAL "
                   "mode cannot even be read without them, so run as its owner, or while its "
                   "program runs";
        default:
            break;
    }
    if (e.code() == make_error_code(errc::busy))
        return "another program holds it locked; try again when it is done";
    return e.what();
}

void refuse_missing(const std::string& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found) {
        throw cannot("there is no file " + path +
                     "; litefeed makes no database, so check the path");
    }
    if (status.type() == std::filesystem::file_type::directory) {
        throw cannot(path + " is a directory; name the database file in it");
    }
}

}  // namespace

connection open_database(const std::string& path, connection::access how, int busy_timeout_ms) {
    refuse_missing(path);
    try {
        connection db(path, how, busy_timeout_ms);
        const std::int64_t tables = db.integer("SELECT count(*) FROM main.sqlite_schema");
        if (tables > 0 && is_installed(db)) {
            const std::int64_t format = db.integer("SELECT format FROM main.litefeed_meta");
            if (format > format_number) {
                throw cannot("the feed in " + path + " has format " + std::to_string(format) +
                             ", this litefeed knows " + std::to_string(format_number) +
                             "; use a newer litefeed");
            }
        }
        return db;
    } catch (const sqlite_error& e) {
        throw cannot("cannot open " + path + ": " + why_not(e));
    }
}

void refuse_moved(const connection& db) {
    int moved = 0;
    if (sqlite3_file_control(db.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
        moved != 0) {
        throw sqlite_error(SQLITE_READONLY_DBMOVED, "the file was replaced or removed");
    }
}

void never_checkpoint(const connection& db) {
    sqlite3_wal_autocheckpoint(db.get(), 0);
    sqlite3_db_config(db.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

}  // namespace litefeed
