#include "core/open.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "core/format.hpp"

namespace litefeed {
namespace {

// A quota that is used up is told as a failed write, not as a full disk.
bool passes(const error_code& code) {
    if (code == make_error_code(errc::busy)) return true;
    if (code.category() != sqlite_category()) return false;
    return (code.value() & 0xff) == SQLITE_FULL || code.value() == SQLITE_IOERR_WRITE ||
           code.value() == SQLITE_IOERR_SHMSIZE;
}

std::string why_not(const sqlite_error& e) {
    if (e.code() == make_error_code(errc::busy)) return "another program holds it locked";
    const std::string words = e.code().message();
    return words == sqlite3_errstr(e.code().value()) ? e.what() : words;
}

void refuse_missing(const std::string& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found) {
        const auto parent = std::filesystem::path(path).parent_path();
        if (!parent.empty() && !std::filesystem::exists(parent, error) && !error)
            throw cannot("there is no directory " + parent.string() + " for " + path +
                         "; check the path");
        throw cannot("there is no file " + path +
                     "; litefeed makes no database, so check the path");
    }
    if (status.type() == std::filesystem::file_type::directory) {
        throw cannot(path + " is a directory; name the database file in it");
    }
    // A pipe would be waited for.
    if (std::filesystem::status_known(status) && !std::filesystem::is_regular_file(status))
        throw cannot(path + " is not a file, so it is no database");
}

void run_nothing_of_the_owners(const connection& db) {
    sqlite3_db_config(db.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(db.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
}

std::string path_of(const connection& db) { return sqlite3_db_filename(db.get(), "main"); }

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// By the header, read through SQLite's own descriptor and without a lock: it must be known before anything is made.
bool is_wal(const connection& db) {
    constexpr int reads_wal_at = 19;
    sqlite3_file* file = nullptr;
    std::array<unsigned char, reads_wal_at + 1> head{};
    return sqlite3_file_control(db.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
           file != nullptr && file->pMethods != nullptr &&
           file->pMethods->xRead(file, head.data(), static_cast<int>(head.size()), 0) ==
               SQLITE_OK &&
           head[reads_wal_at] == 2;
}

bool would_make_side_files(const connection& db) {
    const std::string path = path_of(db);
    return is_wal(db) && !(is_there(path + "-wal") && is_there(path + "-shm"));
}

void refuse_foreign(const connection& db, connection::access how, const std::string& path) {
    if (!is_foreign(db)) return;
    if (how == connection::access::read_write && sqlite3_db_readonly(db.get(), "main") == 0)
        throw cannot("cannot write " + path +
                     ": the journal files that this user makes beside it could not be written by "
                     "its owner; run as its owner, or serve with --read-only");
    if (would_make_side_files(db))
        throw cannot("cannot open " + path +
                     ": it is in WAL mode and no program has it open, so this user would make a "
                     "-wal and a -shm that its owner could not write; run as its owner, or while "
                     "its program runs");
}

// Throws sqlite_error where SQLite refuses.
connection open_proven(const std::string& path, connection::access how, int busy_timeout_ms) {
    refuse_missing(path);
    connection db(path, how, busy_timeout_ms);
    run_nothing_of_the_owners(db);
    refuse_foreign(db, how, path);
    const std::int64_t tables = db.integer("SELECT count(*) FROM main.sqlite_schema");
    if (tables > 0 && is_installed(db)) {
        const std::int64_t format = format_of(db);
        if (format > format_number) {
            throw cannot("the feed in " + path + " has format " + std::to_string(format) +
                         ", this litefeed knows " + std::to_string(format_number) +
                         "; use a newer litefeed");
        }
    }
    return db;
}

[[noreturn]] void refuse_replaced() {
    throw sqlite_error(SQLITE_READONLY_DBMOVED, "the file was replaced or removed");
}

// Reading rolls back: SQLite sees whether the journal's writer is alive, and locks everyone out meanwhile.
void roll_back(const std::string& path, int busy_timeout_ms) {
    const connection db(path, connection::access::read_write, busy_timeout_ms);
    run_nothing_of_the_owners(db);
    (void)db.integer("SELECT count(*) FROM main.sqlite_schema");
}

}  // namespace

connection open_database(const std::string& path, connection::access how, int busy_timeout_ms) {
    try {
        return open_proven(path, how, busy_timeout_ms);
    } catch (const sqlite_error& e) {
        throw_cannot("cannot open " + path, e);
    }
}

connection open_for_command(const std::string& path, int busy_timeout_ms) {
    try {
        connection db = open_database(path, connection::access::read_write, busy_timeout_ms);
        db.execute("PRAGMA query_only = 1");
        return db;
    } catch (const not_now&) {
        throw;
    } catch (const cannot&) {
        return open_database(path, connection::access::read_only, busy_timeout_ms);
    }
}

connection open_for_serving(const std::string& path, int busy_timeout_ms, bool hands_off) {
    const auto open = [&] {
        connection db = open_proven(path, connection::access::read_only, busy_timeout_ms);
        never_checkpoint(db);
        return db;
    };
    try {
        try {
            return open();
        } catch (const sqlite_error& e) {
            if (!e.is(SQLITE_READONLY_ROLLBACK) || hands_off) throw;
        }
        roll_back(path, busy_timeout_ms);
        return open();
    } catch (const sqlite_error& e) {
        throw_cannot("cannot open " + path, e);
    }
}

void throw_cannot(const std::string& what, const sqlite_error& why, const std::string& left) {
    const std::string words = what + ": " + why_not(why) + left;
    if (passes(why.code())) throw not_now(left.empty() ? words : words + ", try again");
    throw cannot(words);
}

named_file::named_file(std::string path, const connection& db) : path_(std::move(path)) {
    int moved = 0;
    const bool asked =
        sqlite3_file_control(db.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK;
    // A link may have been pointed elsewhere since; this is what SQLite opened.
    const auto seen = look_at(path_of(db));
    if (!seen || (asked && moved != 0)) refuse_replaced();
    opened_ = last_ = *seen;
}

std::optional<named_file::looks> named_file::look_at(const std::string& path) {
    struct stat s{};
    if (::stat(path.c_str(), &s) != 0) return std::nullopt;
    return looks{s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
}

void named_file::refuse_moved() {
    const auto now = look_at(path_);
    if (!now || now->device != opened_.device || now->inode != opened_.inode) refuse_replaced();
    touched_ = *now != last_;
    last_ = *now;
}

bool is_foreign(const connection& db) {
    struct stat file{}, directory{};
    const std::string path = path_of(db);
    const auto parent = std::filesystem::path(path).parent_path().string();
    if (::geteuid() == 0 || ::stat(path.c_str(), &file) != 0 || file.st_uid == ::geteuid() ||
        (file.st_mode & S_IWOTH) != 0)
        return false;
    if ((file.st_mode & S_IWGRP) == 0 || ::stat(parent.c_str(), &directory) != 0) return true;
    const gid_t group = (directory.st_mode & S_ISGID) != 0 ? directory.st_gid : ::getegid();
    return group != file.st_gid;
}

void refuse_side_files(const connection& db) {
    if (would_make_side_files(db))
        throw sqlite_error(SQLITE_READONLY_CANTINIT, "reading would make a -wal and a -shm");
}

void never_checkpoint(const connection& db) {
    sqlite3_wal_autocheckpoint(db.get(), 0);
    sqlite3_db_config(db.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

}  // namespace litefeed
