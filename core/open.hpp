#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/sqlite.hpp"

namespace litefeed {

/// Opens the owner's file and proves that it is a database. The connection runs nothing of the owner's: neither triggers
/// nor views. Throws `cannot` with a sentence for the user: missing, no file, no rights, not a database, a feed of a later
/// litefeed, or files beside it that its owner could not write; `not_now` for what passes.
[[nodiscard]] connection open_database(const std::string& path, connection::access how,
                                       int busy_timeout_ms);

/// As a command reads: closes as any program does, so that no -wal is left where this user may write.
[[nodiscard]] connection open_for_command(const std::string& path, int busy_timeout_ms);

/// As a server reads: never writes, never checkpoints. But a journal that a dead program left is rolled back first, as any
/// reader does that may write, unless `hands_off`.
[[nodiscard]] connection open_for_serving(const std::string& path, int busy_timeout_ms,
                                          bool hands_off);

/// "cannot read FILE" or the like, why, and what it left: `not_now` for what passes, else `cannot`.
[[noreturn]] void throw_cannot(const std::string& what, const sqlite_error& why,
                               const std::string& left = {});

/// What a path named when its connection was opened. By stat alone: the path is never opened outside SQLite, since closing
/// it would drop the process's locks.
class named_file {
  public:
    named_file(std::string path, const connection& db);
    /// Throws sqlite_error when the path names another file by now, or none: whoever holds the connection opens it anew
    /// and verifies.
    void refuse_moved();
    /// Whether the file's length or time is another one than when this was asked before.
    [[nodiscard]] bool touched() const { return touched_; }

  private:
    struct looks {
        std::uint64_t device{}, inode{};
        std::int64_t bytes{}, seconds{}, nanoseconds{};
        friend bool operator==(const looks&, const looks&) = default;
    };
    static std::optional<looks> look_at(const std::string& path);

    std::string path_;
    looks opened_, last_;
    bool touched_ = false;
};

/// Whether files that this user makes beside the database could not be written by its owner, who then could not open the
/// database either. SQLite gives them the database's permissions, but the user that runs; root's are given to the owner.
[[nodiscard]] bool is_foreign(const connection& db);

/// For a foreign reader, before each read: throws sqlite_error when reading would make a -wal or a -shm.
void refuse_side_files(const connection& db);

/// From now on this connection never checkpoints, not at close either: two processes that checkpoint and write in an
/// unlucky moment can lose pages with SQLite up to 3.51.2, and the owner does it anyway.
void never_checkpoint(const connection& db);

}  // namespace litefeed
