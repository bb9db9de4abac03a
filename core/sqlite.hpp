#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/errc.hpp"

// Thin RAII over SQLite's C API. Inside the core SQLite's refusals are thrown as `sqlite_error`; `feed` and `keeper`,
// the two doors, turn them into results, so that no statement in between has to pass them on.
namespace litefeed {

/// SQLite said no. `code()` is in `sqlite_category()`, or errc::busy for BUSY, LOCKED, PROTOCOL and INTERRUPT; `what()` has SQLite's
/// words.
class sqlite_error : public std::runtime_error {
  public:
    sqlite_error(int extended_code, const std::string& message);
    [[nodiscard]] error_code code() const noexcept { return code_; }
    /// Whether it is that (extended) code of SQLite's.
    [[nodiscard]] bool is(int extended_code) const noexcept {
        return code_ == error_code(extended_code, sqlite_category());
    }

  private:
    error_code code_;
};

/// One prepared statement. Used by its connection's thread; must not outlive the connection.
class statement {
  public:
    statement() = default;
    statement(sqlite3* db, std::string_view sql);

    /// Steps to the next row; false when there is none, and then the statement is reset by itself.
    bool step();
    /// Steps through to the end; for statements that return nothing.
    void run();
    void reset() noexcept;

    statement& bind(int index, std::int64_t value);
    statement& bind(int index, int value) { return bind(index, static_cast<std::int64_t>(value)); }
    statement& bind(int index, double value);
    /// Text and blobs are copied.
    statement& bind_text(int index, std::string_view value);
    statement& bind_blob(int index, std::string_view value);
    statement& bind_null(int index);

    [[nodiscard]] int type(int column) const { return sqlite3_column_type(get(), column); }
    [[nodiscard]] bool is_null(int column) const { return type(column) == SQLITE_NULL; }
    [[nodiscard]] std::int64_t integer(int column) const {
        return sqlite3_column_int64(get(), column);
    }
    [[nodiscard]] double real(int column) const { return sqlite3_column_double(get(), column); }
    /// Valid until the next step, reset or conversion of this column. NULL reads as an empty text.
    [[nodiscard]] std::string_view text(int column) const;
    [[nodiscard]] std::string_view blob(int column) const;
    [[nodiscard]] sqlite3_stmt* get() const noexcept { return handle_.get(); }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

  private:
    struct finalize {
        void operator()(sqlite3_stmt* s) const noexcept { sqlite3_finalize(s); }
    };
    std::unique_ptr<sqlite3_stmt, finalize> handle_;
};

/// Resets a statement when a scope ends, so that no read transaction hangs on it.
class use {
  public:
    explicit use(statement& s) noexcept : statement_(s) { statement_.reset(); }
    ~use() { statement_.reset(); }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    statement* operator->() const noexcept { return &statement_; }

  private:
    statement& statement_;
};

class connection {
  public:
    enum class access { read_only, read_write };
    /// Opens an existing file; never creates one. The connection is defensive. trusted_schema stays on: without it
    /// SQLite 3.40 reads no schema whose CHECKs, indexes or generated columns call JSON functions, and what it protects,
    /// functions of a program's own, is nothing that we register. Throws sqlite_error.
    connection(const std::string& path, access how, int busy_timeout_ms);

    [[nodiscard]] statement prepare(std::string_view sql) const { return {get(), sql}; }
    void execute(const std::string& sql) const;
    /// The first column of the first row, 0 without one.
    [[nodiscard]] std::int64_t integer(std::string_view sql) const;
    [[nodiscard]] std::string text(std::string_view sql) const;
    [[nodiscard]] sqlite3* get() const noexcept { return handle_.get(); }

  private:
    friend class transaction;
    struct close {
        void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
    };
    std::unique_ptr<sqlite3, close> handle_;
    mutable statement begin_, begin_immediate_, commit_, rollback_;  // a read is a transaction
};

/// A transaction that rolls back unless it was committed.
class transaction {
  public:
    enum class kind { deferred, immediate };
    transaction(const connection& db, kind how);
    ~transaction();
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
    void commit();

  private:
    const connection& db_;
    bool open_ = true;
};

}  // namespace litefeed
