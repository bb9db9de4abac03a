#include "core/sqlite.hpp"

namespace litefeed {
namespace {

error_code code_of(int extended_code) {
    const int primary = extended_code & 0xff;
    // An interrupt says nothing about the file: whoever asks again is answered.
    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED || primary == SQLITE_PROTOCOL ||
        primary == SQLITE_INTERRUPT)
        return make_error_code(errc::busy);
    return {extended_code, sqlite_category()};
}

[[noreturn]] void fail(sqlite3* db, int code) {
    const int extended = db != nullptr ? sqlite3_extended_errcode(db) : code;
    throw sqlite_error(extended, db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code));
}

void check(sqlite3* db, int code) {
    if (code != SQLITE_OK) fail(db, code);
}

}  // namespace

// An interrupt that meets the parser inside another statement comes out as a plain error, with its own words.
sqlite_error::sqlite_error(int extended_code, const std::string& message)
    : std::runtime_error(message),
      code_(code_of(extended_code == SQLITE_ERROR && message == sqlite3_errstr(SQLITE_INTERRUPT)
                        ? SQLITE_INTERRUPT
                        : extended_code)) {}

statement::statement(sqlite3* db, std::string_view sql) {
    sqlite3_stmt* raw = nullptr;
    check(db, sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()),
                                 SQLITE_PREPARE_PERSISTENT, &raw, nullptr));
    handle_.reset(raw);
}

bool statement::step() {
    const int code = sqlite3_step(get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) {
        sqlite3_reset(get());
        return false;
    }
    sqlite3* db = sqlite3_db_handle(get());
    const int extended = sqlite3_extended_errcode(db);
    const std::string message = sqlite3_errmsg(db);
    sqlite3_reset(get());
    throw sqlite_error(extended, message);
}

void statement::run() {
    while (step()) {
    }
}

void statement::reset() noexcept { sqlite3_reset(get()); }

statement& statement::bind(int index, std::int64_t value) {
    check(sqlite3_db_handle(get()), sqlite3_bind_int64(get(), index, value));
    return *this;
}

statement& statement::bind(int index, double value) {
    check(sqlite3_db_handle(get()), sqlite3_bind_double(get(), index, value));
    return *this;
}

statement& statement::bind_text(int index, std::string_view value) {
    check(sqlite3_db_handle(get()),
          sqlite3_bind_text64(get(), index, value.data() != nullptr ? value.data() : "",
                              value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
    return *this;
}

statement& statement::bind_blob(int index, std::string_view value) {
    check(sqlite3_db_handle(get()),
          sqlite3_bind_blob64(get(), index, value.data() != nullptr ? value.data() : "",
                              value.size(), SQLITE_TRANSIENT));
    return *this;
}

statement& statement::bind_null(int index) {
    check(sqlite3_db_handle(get()), sqlite3_bind_null(get(), index));
    return *this;
}

std::string_view statement::text(int column) const {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(get(), column));
    return data != nullptr
               ? std::string_view(data,
                                  static_cast<std::size_t>(sqlite3_column_bytes(get(), column)))
               : std::string_view();
}

std::string_view statement::blob(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(get(), column));
    return data != nullptr
               ? std::string_view(data,
                                  static_cast<std::size_t>(sqlite3_column_bytes(get(), column)))
               : std::string_view();
}

connection::connection(const std::string& path, access how, int busy_timeout_ms) {
    // SQLite's count of its memory costs a lock at each allocation, and nobody reads it.
    [[maybe_unused]] static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3* raw = nullptr;
    const int flags = (how == access::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
    handle_.reset(raw);
    check(raw, code);
    sqlite3_busy_timeout(raw, busy_timeout_ms);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    begin_ = prepare("BEGIN");
    begin_immediate_ = prepare("BEGIN IMMEDIATE");
    commit_ = prepare("COMMIT");
    rollback_ = prepare("ROLLBACK");
}

void connection::execute(const std::string& sql) const {
    check(get(), sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr));
}

std::int64_t connection::integer(std::string_view sql) const {
    statement s = prepare(sql);
    return s.step() ? s.integer(0) : 0;
}

std::string connection::text(std::string_view sql) const {
    statement s = prepare(sql);
    return s.step() ? std::string(s.text(0)) : std::string();
}

transaction::transaction(const connection& db, kind how) : db_(db) {
    (how == kind::immediate ? db_.begin_immediate_ : db_.begin_).run();
}

transaction::~transaction() {
    // An error may have rolled it back already (full disk, I/O); a second ROLLBACK would only fail.
    if (open_ && sqlite3_get_autocommit(db_.get()) == 0) {
        // What interrupted the read may meet this, too.
        while (sqlite3_step(db_.rollback_.get()) == SQLITE_INTERRUPT) db_.rollback_.reset();
        db_.rollback_.reset();
    }
}

void transaction::commit() {
    db_.commit_.run();
    open_ = false;
}

}  // namespace litefeed
