#pragma once

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/feed.hpp"
#include "core/keeper.hpp"
#include "core/sqlite.hpp"

// What the tests of the core are made of: a database with an owner, and a reader that believes what
// it is told.
namespace litefeed::test {

/// A database file in a directory of its own, and the owner's connection to it: as SQLite opens it,
/// with none of our settings. Both go when it does.
class owner_file {
  public:
    /// Runs `sql` on the new file, which is in WAL mode unless `sql` begins with a PRAGMA of its
    /// own choice.
    explicit owner_file(const std::string& sql_text = {}) {
        std::string pattern = (std::filesystem::temp_directory_path() / "litefeed-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
        directory_ = pattern;
        path_ = pattern + "/owner.db";
        open();
        if (sql_text.substr(0, 6) != "PRAGMA") sql("PRAGMA journal_mode = wal");
        sql("PRAGMA synchronous = off");
        if (!sql_text.empty()) sql(sql_text);
    }
    ~owner_file() {
        sqlite3_close_v2(db_);
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }
    owner_file(const owner_file&) = delete;
    owner_file& operator=(const owner_file&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] sqlite3* get() const { return db_; }

    void open() {
        constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
        if (sqlite3_open_v2(path_.c_str(), &db_, flags, nullptr) != SQLITE_OK) {
            throw std::runtime_error(sqlite3_errmsg(db_));
        }
        sqlite3_busy_timeout(db_, 2000);
    }
    void close() { sqlite3_close_v2(std::exchange(db_, nullptr)); }
    void reopen() {
        close();
        open();
        sql("PRAGMA synchronous = off");
    }

    void sql(const std::string& text) const {
        if (const std::string why = refusal(text); !why.empty()) {
            throw std::runtime_error(why + " (" + text + ")");
        }
    }
    /// SQLite's words when it refuses `text`; empty when it ran.
    [[nodiscard]] std::string refusal(const std::string& text) const {
        char* message = nullptr;
        sqlite3_exec(db_, text.c_str(), nullptr, nullptr, &message);
        std::string out = message != nullptr ? message : "";
        sqlite3_free(message);
        return out;
    }
    [[nodiscard]] std::int64_t integer(const std::string& text) const {
        statement s(db_, text);
        return s.step() ? s.integer(0) : 0;
    }
    /// Rows as the shell prints them, with a blank between two: `1|a 2|NULL`.
    [[nodiscard]] std::string rows(const std::string& text) const {
        std::string out;
        statement s(db_, text);
        while (s.step()) {
            if (!out.empty()) out += ' ';
            for (int i = 0; i < sqlite3_column_count(s.get()); ++i) {
                if (i > 0) out += '|';
                out += s.is_null(i) ? std::string("NULL") : std::string(s.text(i));
            }
        }
        return out;
    }

    [[nodiscard]] stamp head() const {
        return {integer("SELECT coalesce(max(seq), 0) FROM litefeed_log")};
    }
    /// Entries above `after`: `i[1] t['abc'] d[1,x'00']`. Generations and ends are `g` and `x`.
    [[nodiscard]] std::string log(stamp after) const {
        std::vector<std::string> key;
        statement columns(db_,
                          "SELECT name FROM pragma_table_info('litefeed_log') WHERE name GLOB "
                          "'key*' ORDER BY cid");
        while (columns.step()) key.emplace_back(columns.text(0));
        std::string select = "SELECT op";
        for (const std::string& k : key) select += ", quote(" + k + ")";
        statement entries(db_, select + " FROM litefeed_log WHERE seq > ?1 ORDER BY seq");
        entries.bind(1, after.n);
        std::string out;
        while (entries.step()) {
            if (!out.empty()) out += ' ';
            out += entries.text(0);
            std::string values;
            for (int i = 1; i <= static_cast<int>(key.size()); ++i) {
                if (entries.text(i) != "NULL") {
                    values += (i > 1 ? "," : "") + std::string(entries.text(i));
                }
            }
            if (!values.empty()) out += "[" + values + "]";
        }
        return out;
    }
    /// What `text` adds to the log.
    [[nodiscard]] std::string logged(const std::string& text) const {
        const stamp before = head();
        sql(text);
        return log(before);
    }

    /// The schema and the rows of every table, as far as SQL can see them.
    [[nodiscard]] std::string dump() const {
        std::string out =
            rows("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid");
        statement tables(db_, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
        while (tables.step()) {
            const std::string name(tables.text(0));
            out += "\n" + name + ": " + rows("SELECT * FROM \"" + name + "\"");
        }
        return out;
    }
    /// The bytes of the file, and of its WAL.
    [[nodiscard]] std::string bytes() const {
        std::string out;
        for (const std::string& name : {path_, path_ + "-wal"}) {
            std::ifstream in(name, std::ios::binary);
            out.append(std::istreambuf_iterator<char>(in), {});
        }
        return out;
    }

  private:
    std::string directory_, path_;
    sqlite3* db_ = nullptr;
};

/// By SQLite's backup, as `.backup` and `.restore` do.
inline void copy_file(const owner_file& from, const owner_file& to) {
    sqlite3_backup* b = sqlite3_backup_init(to.get(), "main", from.get(), "main");
    REQUIRE(b != nullptr);
    CHECK(sqlite3_backup_step(b, -1) == SQLITE_DONE);
    sqlite3_backup_finish(b);
}

inline keeper keeper_of(const owner_file& file) { return keeper::open(file.path(), false); }
inline feed feed_of(const owner_file& file, feed_options options = {}) {
    return feed::open(file.path(), std::move(options));
}
inline watch_report watch(const owner_file& file, const std::vector<std::string>& tables,
                          watch_options options = {}) {
    return keeper_of(file).watch(tables, options);
}
/// The words with which `work` is refused; empty when it was not.
template <class Work>
std::string cannot_of(Work&& work) {
    try {
        work();
    } catch (const cannot& why) {
        return why.what();
    }
    return {};
}
inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// The values of a key, as JSON, without their names: `1`, `"a",2`.
inline std::string key_values(std::string_view key) {
    std::string out;
    const auto members = nlohmann::ordered_json::parse(key);
    for (const auto& [name, part] : members.items()) {
        out += (out.empty() ? "" : ",") + part.dump();
    }
    return out;
}
/// Changes as words: `insert 1, delete "a",2, truncate`. With more than one table, the table first:
/// `t insert 1`.
inline std::string told(const delta& d) {
    std::string out;
    for (const change& c : d.changes) {
        if (!out.empty()) out += ", ";
        if (d.tables.size() > 1) out += d.tables[c.table] + " ";
        out += to_word(c.op);
        if (c.key.size > 0) out += " " + key_values(d.text(c.key));
    }
    return out;
}
inline std::string told(const answer& a) { return told(a.changes); }
inline std::string row_of(const delta& d, std::size_t change) {
    return std::string(d.text(d.changes.at(change).row));
}
/// A reset as words: `below_floor: a b`; empty without one.
inline std::string reset_of(const answer& a) {
    if (!a.reset) return {};
    std::string out = std::string(to_word(a.reset->reason)) + ":";
    for (const std::string& t : a.reset->tables) out += " " + t;
    return out;
}

struct asking {
    int rows_max = 10'000;
    bool snapshot = false;
    std::vector<std::string> tables{};
};
inline question question_from(position from) {
    question q;
    q.from = std::move(from);
    return q;
}
inline rows_question all_rows(const std::string& table, int rows_max = 1000) {
    rows_question q;
    q.table = table;
    q.rows_max = rows_max;
    return q;
}
inline answer ask(feed& f, position from, const asking& how = {}) {
    question q;
    q.from = std::move(from);
    q.rows_max = how.rows_max;
    q.snapshot = how.snapshot;
    q.want.tables = how.tables;
    auto got = f.changes(q);
    REQUIRE_MESSAGE(got.has_value(), got.error().message());
    return std::move(*got);
}
/// Through text and back, as a client sends it.
inline position again(const answer& a) { return parse_position(a.cursor()).value(); }

/// The rows of a table as feed::rows has them: key → row.
inline std::map<std::string, std::string> rows_of(feed& f, const std::string& table,
                                                  int rows_max = 1000) {
    std::map<std::string, std::string> out;
    rows_question q;
    q.table = table;
    q.rows_max = rows_max;
    while (true) {
        auto page = f.rows(q);
        REQUIRE_MESSAGE(page.has_value(), page.error().message());
        for (const change& c : page->rows.changes) {
            const auto [at, is_new] = out.emplace(page->rows.text(c.key), page->rows.text(c.row));
            REQUIRE_MESSAGE(is_new, "twice in one read: " << at->first);
        }
        if (!page->next) return out;
        q.after = *page->next;
    }
}

/// A reader by the rules of the wire: put by key, remove by key, clear by table.
class replica {
  public:
    explicit replica(feed& f, asking how = {}) : feed_(f), how_(std::move(how)) {
        how_.snapshot = true;
    }

    std::function<void()> between_pages;
    position at = from_nothing{};
    int wrong_hints = 0, answers = 0;
    std::vector<std::string> resets;

    /// Asks until it stands at rest.
    void follow() {
        bool more = true;
        while (more) {
            const answer a = ask(feed_, at, how_);
            ++answers;
            if (a.reset) resets.push_back(reset_of(a));
            apply(a.changes);
            at = again(a);
            more = a.more;
            if (more && between_pages) between_pages();
        }
    }
    void apply(const delta& d) {
        for (const change& c : d.changes) {
            auto& table = tables_[d.tables[c.table]];
            const std::string key(d.text(c.key));
            const bool held = table.find(key) != table.end();
            if (c.op == change_op::truncate) {
                table.clear();
            } else if (c.op == change_op::remove) {
                table.erase(key);
            } else {
                if (c.op == change_op::insert && held) ++wrong_hints;
                if (c.op == change_op::update && !held) ++wrong_hints;
                table[key] = d.text(c.row);
            }
        }
    }
    [[nodiscard]] std::string text(const std::string& table) const {
        const auto found = tables_.find(table);
        return found == tables_.end() ? std::string() : as_text(found->second);
    }
    /// What the table holds now, in the same form.
    [[nodiscard]] std::string truth(const std::string& table) const {
        return as_text(rows_of(feed_, table));
    }

  private:
    static std::string as_text(const std::map<std::string, std::string>& rows) {
        std::string out;
        for (const auto& [key, row] : rows) out += key + " " + row + "\n";
        return out;
    }

    feed& feed_;
    asking how_;
    std::map<std::string, std::map<std::string, std::string>> tables_;
};

}  // namespace litefeed::test

namespace doctest {

template <>
struct StringMaker<litefeed::rest_cursor> {
    static String convert(const litefeed::rest_cursor& c) {
        return ("cursor " + litefeed::to_text(c)).c_str();
    }
};
template <>
struct StringMaker<litefeed::page_cursor> {
    static String convert(const litefeed::page_cursor& c) {
        return ("cursor " + litefeed::to_text(c)).c_str();
    }
};
template <>
struct StringMaker<litefeed::position> {
    static String convert(const litefeed::position& p) {
        using namespace litefeed;
        if (std::holds_alternative<from_now>(p)) return "now";
        if (std::holds_alternative<from_nothing>(p)) return "nothing";
        if (std::holds_alternative<from_malformed>(p)) return "malformed";
        if (const auto* s = std::get_if<stamp>(&p)) return toString(s->n);
        if (const auto* r = std::get_if<rest_cursor>(&p)) return toString(*r);
        return toString(std::get<page_cursor>(p));
    }
};
template <class T>
struct StringMaker<std::vector<T>> {
    static String convert(const std::vector<T>& all) {
        String out = "[";
        for (const T& one : all) out += (out.size() > 1 ? ", " : "") + toString(one);
        return out + "]";
    }
};

}  // namespace doctest
