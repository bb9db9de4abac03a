#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/cursor.hpp"
#include "core/errc.hpp"
#include "core/stamp.hpp"

namespace litefeed {

enum class change_op { insert, update, remove, read, truncate };
/// The word on the wire: insert, update, delete, read, truncate.
std::string_view to_word(change_op);

enum class reset_reason {
    below_floor,
    ahead_of_head,
    restored,
    malformed,
    enabled,
    schema_changed,
    triggers_restored,
    feed_restored,
    contract_upgraded,
    bulk_load,
};
std::string_view to_word(reset_reason);
std::ostream& operator<<(std::ostream&, reset_reason);

/// "Your cursor cannot be continued for these tables: read them again."
struct reset {
    reset_reason reason{};
    std::vector<std::string> tables;  ///< names, UTF-8 as SQLite has them, not escaped
    stamp floor;
};

/// One change of a delta. `key` and `row` are places in `delta::bytes`, each a complete JSON object.
struct change {
    struct span {
        std::size_t begin{}, size{};
    };
    std::uint32_t table{};  ///< index into `delta::tables`
    change_op op{};
    stamp at;                 ///< 0 for `read`
    span key;                 ///< empty for `truncate`
    span row;                 ///< empty for `delete` and `truncate`, `too_large` and `unreadable`
    std::size_t too_large{};  ///< bytes of a row over `row_bytes_max`; else 0
    bool unreadable = false;  ///< SQLite cannot compute a generated column of the row
};

/// Changes in the order to apply them. Owns its bytes; move it freely.
struct delta {
    std::vector<std::string> tables;  ///< names as they are
    std::vector<change> changes;
    std::string bytes;
    [[nodiscard]] std::string_view text(change::span s) const {
        return std::string_view(bytes).substr(s.begin, s.size);
    }
};

/// Which tables a reader follows. Empty `tables`: every watched one, those watched later included.
struct selection {
    std::vector<std::string> tables;
    friend bool operator==(const selection&, const selection&) = default;
    friend auto operator<=>(const selection&, const selection&) = default;
};

struct question {
    position from;
    selection want;
    int rows_max = 10'000;  ///< changes in one answer, 1 to 100000
    std::size_t bytes_max =
        16 * 1024 * 1024;   ///< an answer ends early once its rows hold this many bytes
    bool snapshot = false;  ///< what is reset comes as truncate + read in the same run
    /// Log entries and rows that may be looked at before errc::too_long; 0: no bound. A bounded question never blocks
    /// its loop for long; an unbounded one belongs on a thread that may block.
    std::int64_t effort_max = 0;
};

struct answer {
    stamp head;         ///< of the read
    position next;      ///< a rest_cursor or a page_cursor
    bool more = false;  ///< false only if `next` is the head of the read
    delta changes;
    std::optional<litefeed::reset> reset;
    [[nodiscard]] std::string cursor() const;  ///< `next` as text
};

struct rows_question {
    std::string table;
    int rows_max = 1000;
    std::size_t bytes_max = 16 * 1024 * 1024;
    std::string after;          ///< a page token (`rows_page::next`); empty: the first page
    std::string known_version;  ///< when it equals `version` the rows are not read (`unchanged`)
    std::int64_t effort_max = 0;
};

struct rows_page {
    stamp head;
    std::string cursor;  ///< of the first page, on all pages
    delta rows;          ///< every change a `read`
    std::optional<std::string> next;
    std::string
        version;  ///< moves with all that an answer can hold: what an ETag needs beside the request; `[0-9a-f.]`
    bool unchanged = false;
};

struct table_status {
    std::string name;
    std::vector<std::string>
        key;  ///< column names in key order; {"rowid"} (or its alias) without one
    bool keyed_by_rowid = false;  ///< VACUUM renumbers: a warning to show
    std::vector<std::pair<std::string, std::string>>
        columns;  ///< name and declared type, hidden ones left out
    std::int64_t generation{};
    std::string generation_id;
    std::string reason;  ///< why the generation began: a reset_reason's word
    stamp generation_at;
    std::int64_t generation_ms{};  ///< UTC Unix ms
    // Only where they were asked for:
    stamp head;                         ///< newest entry of this table; 0: none
    std::int64_t entries{}, touched{};  ///< touched: entries that only guards wrote
    std::int64_t contract{};
    std::string keep;                    ///< "window" or "latest"
    std::int64_t retention_s{};          ///< its window, or the file's
    std::optional<std::string> problem;  ///< why it cannot be answered truly now
};

struct tables_question {
    bool counts = false;          ///< the log's entries of each table, too: reads the whole log
    std::int64_t effort_max = 0;  ///< as in `question`
};

struct tables_status {
    stamp head;
    std::vector<table_status> tables;
};

struct feed_status {
    std::string path, lineage, journal_mode, sqlite_version;
    std::int64_t format{}, schema_version{}, entries{}, file_bytes{}, wal_bytes{}, page_bytes{};
    stamp head, floor;
    std::int64_t folded{}, entries_max{}, retention_s{};
    std::int64_t installed_ms{}, compacted_ms{};  ///< UTC Unix ms; 0: never
    bool read_only = false;
    std::vector<std::string> problems;  ///< empty: every watched table can be answered truly
};

/// What `look` saw.
struct sight {
    stamp head;
    /// Every reader should ask again although no stamp need have moved: the history is another one, or (read-only) the
    /// capture was found broken or well again. A false alarm costs one read.
    bool ask_again = false;
    /// The owner changed the schema and capture stands: have the keeper `repair` all the same, at its leisure, so that
    /// the next change is judged against this sight.
    bool unrecorded = false;
    /// The history that was known is not in the file any more, under the same lineage: it was restored, or its log was
    /// emptied. Have the keeper begin a new one above `known`, so that nobody goes on over the gap.
    std::optional<rest_cursor> gone{};
    /// The tables that are watched, when that was read anew.
    std::optional<std::vector<std::string>> watched{};
};

/// Which columns leave the house. A key column cannot be hidden.
struct column_rules {
    std::map<std::string, std::vector<std::string>> hide;  ///< table → columns left out
    std::map<std::string, std::vector<std::string>>
        only;  ///< table → columns kept (beside the key)
};

struct feed_options {
    column_rules columns{};
    /// Nobody repairs drift: answer with resets instead of errc::drifted.
    bool read_only = false;
    /// For the server's lifetime: opened read-only, never checkpoints. Else a command, which closes as any program does.
    bool serving = false;
    /// Never writes, not even what any reader may: no rollback of a dead program's journal, no checkpoint.
    bool hands_off = false;
    /// A larger row comes as its key; what it holds is not read into memory.
    std::size_t row_bytes_max = 64 * 1024 * 1024;
    std::chrono::milliseconds busy_timeout{0};
};

/// The log read by one thread: a read-only connection, its prepared statements, and the schema it has verified.
/// No transaction, statement or lock outlives a call. Movable; not to be shared between threads at the same time, but for
/// `interrupt`.
/// Errors of every call: errc::busy (ask again), errc::drifted (repair, ask again; never with `read_only`),
/// errc::damaged, errc::newer_format, sqlite category (the file is unusable until it is opened anew; SQLITE_ERROR: this one
/// question cannot be answered).
class feed {
  public:
    /// Throws `cannot` with a sentence for the user when the file cannot be opened or is no database.
    /// A file that carries no litefeed tables opens; its feed has no tables and head 0.
    static feed open(const std::string& path, feed_options options = {});
    feed(feed&&) noexcept;
    feed& operator=(feed&&) noexcept;
    ~feed();

    /// Whether the file may have changed since the last call: one stat and one `PRAGMA data_version`, about 4 µs. May be
    /// true without a change. Remembers what it saw, so call `look` when it is true.
    [[nodiscard]] result<bool> moved();

    /// Reads what came since the last look, so that `newest` answers. Cheap: the new entries only. `known`: the bookmark
    /// of an earlier feed of this path, for the first look.
    [[nodiscard]] result<sight> look(const std::optional<rest_cursor>& known = {});

    /// The newest stamp, as of the last `look`, that tells a reader of `want` something (an entry that is not only a
    /// touch). A reader whose cursor is at or above it has nothing to be told. Unknown names count as nothing.
    [[nodiscard]] stamp newest(const selection& want) const;
    /// The head at which this feed last found capture in order, for keeper::repair.
    [[nodiscard]] rest_cursor verified_through() const;
    /// Head as of the last `look`.
    [[nodiscard]] stamp head() const;
    /// The cursor at the head of the last `look` (for bookmarks of quiet streams). Only for readers that have been told
    /// everything up to `newest` of their selection.
    [[nodiscard]] rest_cursor bookmark() const;

    /// Errors beside the common ones: errc::unknown_table (of `want`; see `unknown`), errc::too_long.
    [[nodiscard]] result<answer> changes(const question& q);
    /// Errors beside the common ones: errc::unknown_table, errc::malformed_cursor, errc::page_gone, errc::too_long.
    [[nodiscard]] result<rows_page> rows(const rows_question& q);

    /// The first name of `want` that is not known to the log, if any. Reads the schema when it moved.
    [[nodiscard]] result<std::optional<std::string>> unknown(const selection& want);
    /// The tables that are watched. Errors beside the common ones: errc::too_long.
    [[nodiscard]] result<tables_status> tables(const tables_question& q = {});
    [[nodiscard]] result<feed_status> status();
    /// Moves with all that `tables` and `rows` say, for ETags.
    [[nodiscard]] result<std::string> version();

    /// Any thread, while the feed stands: what it reads now ends with errc::busy. May fall between two statements, where
    /// nothing hears it; whoever must see an end calls it until there is one.
    void interrupt() noexcept;

  private:
    struct impl;
    explicit feed(std::unique_ptr<impl>);
    std::unique_ptr<impl> impl_;
};

}  // namespace litefeed
