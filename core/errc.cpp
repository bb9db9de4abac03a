#include "core/errc.hpp"

#include <sqlite3.h>

#include <string>

namespace litefeed {
namespace {

class core_category final : public boost::system::error_category {
  public:
    const char* name() const noexcept override { return "litefeed"; }
    std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
            case errc::busy:
                return "another connection holds the database locked; ask again";
            case errc::malformed_cursor:
                return "this is not a cursor of this feed";
            case errc::unknown_table:
                return "no table of this name is watched";
            case errc::page_gone:
                return "the file was restored or the table began anew; read the table from its "
                       "first page";
            case errc::too_long:
                return "the read would take long";
            case errc::drifted:
                return "the schema moved under the capture";
            case errc::newer_format:
                return "the feed in this file was made by a later litefeed";
            case errc::damaged:
                return "litefeed's own tables in it are damaged; litefeed watch begins the feed "
                       "again, and so does a server that may write";
        }
        return "unknown";
    }
};

class sqlite_error_category final : public boost::system::error_category {
  public:
    const char* name() const noexcept override { return "sqlite"; }
    std::string message(int value) const override {
        switch (value) {
            case SQLITE_READONLY_DBMOVED:
                return "it was replaced or removed";
            case SQLITE_READONLY_ROLLBACK:
                return "a program died while it wrote it, and the journal beside it must be rolled "
                       "back first; its program does that when it opens it, or litefeed, run as a "
                       "user who may write it";
            case SQLITE_IOERR_WRITE:
            case SQLITE_IOERR_SHMSIZE:
                return "it, or a file beside it, could not be written; the disk or a quota may be "
                       "full";
            default:
                break;
        }
        switch (value & 0xff) {
            case SQLITE_NOTADB:
                return "it is no SQLite database, or an encrypted one";
            case SQLITE_CANTOPEN:
            case SQLITE_PERM:
                return "it, or the directory that must hold its -wal and -shm, may not be opened "
                       "by this user";
            case SQLITE_READONLY:
                return "this user may not write it or the directory that must hold its -wal and "
                       "-shm; a file in WAL mode cannot even be read without them, so run as its "
                       "owner, or while its program runs";
            case SQLITE_CORRUPT:
                return "it is damaged (" + std::string(sqlite3_errstr(value)) +
                       "); restore a copy of it, or try .recover in the sqlite3 shell";
            case SQLITE_FULL:
                return "the disk is full";
            default:
                return sqlite3_errstr(value);
        }
    }
};

}  // namespace

const boost::system::error_category& litefeed_category() noexcept {
    static const core_category category;
    return category;
}

const boost::system::error_category& sqlite_category() noexcept {
    static const sqlite_error_category category;
    return category;
}

}  // namespace litefeed
