#include "core/row_reader.hpp"

#include <xxhash.h>

#include <algorithm>

#include "core/json.hpp"
#include "core/sql_text.hpp"

namespace litefeed {
namespace {

std::vector<std::string> object_members(const std::vector<std::string>& names) {
    std::vector<std::string> out;
    for (const std::string& name : names) {
        std::string member = out.empty() ? "{" : ",";
        append_json_text(name, member);
        member += ':';
        out.push_back(std::move(member));
    }
    return out;
}

// What makes the row of one key: the index's own comparison finds it, class and bytes confirm it.
std::string exactly(const std::vector<key_column>& key, bool is_rowid) {
    std::string out;
    int number = 0;
    for (const key_column& k : key) {
        const std::string name = quote_identifier(k.name);
        const std::string value = "?" + std::to_string(++number);
        if (!out.empty()) out += " AND ";
        out += name + " = " + value;
        if (!is_rowid) {
            out += " COLLATE " + k.collation + " AND " + name + " COLLATE BINARY IS " + value +
                   " AND typeof(" + name + ") = typeof(" + value + ")";
        }
    }
    return out;
}

// A cut may fall inside a UTF-8 sequence, which a UTF-16 database would turn into something that sorts elsewhere.
void trim_partial_character(std::string& text) {
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80)
        text.pop_back();
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0) text.pop_back();
}

std::string_view bytes_of(const value& v) {
    if (const auto* t = std::get_if<std::string>(&v)) return *t;
    if (const auto* b = std::get_if<blob_bytes>(&v)) return b->bytes;
    return {};
}

// Whether a row can still be the one whose key was cut to `prefix`, or one before it, in any of SQLite's own collations
// (so letters' case is not looked at, nor trailing blanks): rows that share the prefix stand together.
bool shares_prefix(const statement& row, int first_column, const row_key& prefix) {
    for (std::size_t i = 0; i < prefix.size(); ++i) {
        const value v = column_value(row, first_column + static_cast<int>(i));
        if (v.index() != prefix[i].index()) return false;
        std::string_view wanted = bytes_of(prefix[i]);
        while (!wanted.empty() && wanted.back() == ' ') wanted.remove_suffix(1);
        if (!same_name(bytes_of(v).substr(0, wanted.size()), wanted)) return false;
        if (wanted.empty() && bytes_of(prefix[i]).empty() && v != prefix[i]) return false;
    }
    return true;
}

// While it stands, SQLite refuses a record of more bytes, before it loads anything of it.
class record_limit {
  public:
    record_limit(const connection& db, int bytes)
        : db_(db), before_(sqlite3_limit(db.get(), SQLITE_LIMIT_LENGTH, bytes)) {}
    ~record_limit() { sqlite3_limit(db_.get(), SQLITE_LIMIT_LENGTH, before_); }
    record_limit(const record_limit&) = delete;
    record_limit& operator=(const record_limit&) = delete;

  private:
    const connection& db_;
    int before_;
};

// What a record may hold without being looked at more closely. It bounds memory, so it may be generous: an answer's bound
// is `row_bytes_max`. Never so low that SQLite could not read its own schema.
int record_limit_for(const connection& db, std::size_t row_bytes_max, bool utf16) {
    constexpr std::size_t least = 1024 * 1024, numbers_and_header = 64 * 1024;
    const auto most = static_cast<std::size_t>(sqlite3_limit(db.get(), SQLITE_LIMIT_LENGTH, -1));
    const std::size_t bytes =
        std::min(std::max(row_bytes_max, least), most) * (utf16 ? 2 : 1) + numbers_and_header;
    return static_cast<int>(std::min(bytes, most));
}

// The bytes of a text in a table with a rowid, without reading it; none where SQLite cannot tell.
std::optional<std::size_t> text_bytes(const connection& db, const std::string& table,
                                      const std::string& column, std::int64_t rowid) {
    sqlite3_blob* text = nullptr;
    std::optional<std::size_t> out;
    if (sqlite3_blob_open(db.get(), "main", table.c_str(), column.c_str(), rowid, 0, &text) ==
        SQLITE_OK)
        out = static_cast<std::size_t>(sqlite3_blob_bytes(text));
    sqlite3_blob_close(text);
    return out;
}

[[noreturn]] void malformed() {
    throw boost::system::system_error(make_error_code(errc::malformed_cursor));
}

}  // namespace

row_reader::row_reader(const connection& db, const table_definition& table,
                       const std::vector<const column_definition*>& visible,
                       std::size_t row_bytes_max)
    : db_(db),
      name_(table.name),
      table_("main." + quote_identifier(table.name)),
      key_(table.key),
      row_bytes_max_(row_bytes_max),
      rowid_alias_(table.rowid_alias),
      utf16_(db.text("PRAGMA main.encoding") != "UTF-8"),
      record_bytes_max_(record_limit_for(db, row_bytes_max, utf16_)) {
    std::vector<std::string> key_names;
    for (const column_definition* c : visible) {
        names_.push_back(c->name);
        affinity_.push_back(c->kind);
        columns_ += (columns_.empty() ? "" : ", ") + quote_identifier(c->name);
    }
    if (columns_.empty()) columns_ = "1";
    for (const key_column& k : key_) key_names.push_back(k.name);
    member_ = object_members(names_);
    key_member_ = object_members(key_names);
    where_key_ =
        " FROM " + table_ + " WHERE " + exactly(key_, table.integer_key || table.keyed_by_rowid);
    find_ = db.prepare("SELECT " + columns_ + where_key_);
    too_wide_ = member_.size() + key_.size() >
                static_cast<std::size_t>(sqlite3_limit(db.get(), SQLITE_LIMIT_COLUMN, -1));
}

change::span row_reader::append_key(const statement& from, int first_column,
                                    std::string& bytes) const {
    const std::size_t begin = bytes.size();
    for (std::size_t i = 0; i < key_.size(); ++i) {
        const int column = first_column + static_cast<int>(i);
        bytes += key_member_[i];
        if (from.type(column) == SQLITE_FLOAT && from.real(column) == 0.0) {
            bytes += "0.0";  // -0.0 names the same row
        } else {
            append_json(from, column, key_[i].kind, bytes);
        }
    }
    bytes += '}';
    return {begin, bytes.size() - begin};
}

void row_reader::bind_key(statement& to, const statement& from, int first_column) const {
    for (std::size_t i = 0; i < key_.size(); ++i) {
        sqlite3_bind_value(to.get(), static_cast<int>(i) + 1,
                           sqlite3_column_value(from.get(), first_column + static_cast<int>(i)));
    }
}

bool row_reader::find(const statement& from, int first_column, change& to, std::string& bytes) {
    const std::size_t before = bytes.size();
    try {
        const std::optional<bool> found = find_small(from, first_column, to, bytes);
        return found ? *found : find_large(from, first_column, to, bytes);
    } catch (const sqlite_error& e) {
        // The row is there, for its key was found; a generated column of it cannot be computed.
        if (!e.is(SQLITE_ERROR)) throw;
    }
    bytes.resize(before);
    to.unreadable = true;
    return true;
}

// Whether the row is there; nothing when it is too large to be loaded unseen.
std::optional<bool> row_reader::find_small(const statement& from, int first_column, change& to,
                                           std::string& bytes) {
    const std::size_t before = bytes.size();
    try {
        use row(find_);
        bind_key(find_, from, first_column);
        const record_limit bound(db_, record_bytes_max_);
        if (!row->step()) return false;
        append_values(find_, to, bytes);
        return true;
    } catch (const sqlite_error& e) {
        if (!e.is(SQLITE_TOOBIG)) throw;
        bytes.resize(before);
    }
    return std::nullopt;
}

// A record beyond the limit: what may leave the house of it can still be little.
bool row_reader::find_large(const statement& from, int first_column, change& to,
                            std::string& bytes) {
    const auto stored = stored_bytes(from, first_column);
    if (!stored) return false;
    // UTF-16 can be shorter in UTF-8, by half at the most.
    if (*stored / (utf16_ ? 2 : 1) > row_bytes_max_) {
        to.too_large = *stored;
        return true;
    }
    use row(find_);
    bind_key(find_, from, first_column);
    if (!row->step()) return false;
    append_values(find_, to, bytes);
    return true;
}

// The bytes of the visible texts and blobs as they are stored; none when the row is gone. One value at a time is read,
// and only where SQLite cannot tell its size otherwise.
std::optional<std::size_t> row_reader::stored_bytes(const statement& from, int first_column) const {
    const std::string rowid =
        rowid_alias_.empty() ? std::string("NULL") : quote_identifier(rowid_alias_);
    std::size_t out = 0;
    for (const std::string& name : names_) {
        const std::string column = quote_identifier(name);
        statement size =
            db_.prepare("SELECT typeof(" + column + "), CASE typeof(" + column +
                        ") WHEN 'blob' THEN length(" + column + ") END, " + rowid + where_key_);
        bind_key(size, from, first_column);
        if (!size.step()) return std::nullopt;
        out += static_cast<std::size_t>(size.integer(1));
        if (size.text(0) != "text") continue;
        std::optional<std::size_t> text;
        if (!size.is_null(2)) text = text_bytes(db_, name_, name, size.integer(2));
        if (!text) {
            statement read =
                db_.prepare("SELECT length(CAST(" + column + " AS BLOB))" + where_key_);
            bind_key(read, from, first_column);
            text = read.step() ? static_cast<std::size_t>(read.integer(0)) : 0;
        }
        out += *text;
    }
    return out;
}

void row_reader::append_row(const statement& row, int key_column, change& to, std::string& bytes) {
    // A statement that begins with the key has nothing else: the row was too large, or has too many columns.
    if (key_column == 0)
        (void)find(row, 0, to, bytes);
    else
        append_values(row, to, bytes);
}

void row_reader::append_values(const statement& row, change& to, std::string& bytes) const {
    const int count = static_cast<int>(member_.size());
    const std::size_t begin = bytes.size();
    std::size_t size = 0;  // of texts and blobs
    for (int i = 0; i < count; ++i) {
        const int type = row.type(i);
        if (type == SQLITE_TEXT || type == SQLITE_BLOB)
            size += static_cast<std::size_t>(sqlite3_column_bytes(row.get(), i));
        if (size > row_bytes_max_) continue;
        bytes += member_[static_cast<std::size_t>(i)];
        append_json(row, i, affinity_[static_cast<std::size_t>(i)], bytes);
    }
    if (size > row_bytes_max_) {
        bytes.resize(begin);
        to.too_large = size;
        return;
    }
    bytes += count == 0 ? "{}" : "}";
    to.row = {begin, bytes.size() - begin};
}

std::string row_reader::order() const {
    std::string out;
    for (const key_column& k : key_) {
        out += (out.empty() ? "" : ", ") + quote_identifier(k.name) + " COLLATE " + k.collation;
    }
    return out;
}

// (k1, k2) > (?1, ?2), over the first `parts` columns of the key.
std::string row_reader::behind(std::size_t parts, const char* comparison) const {
    std::string left, right;
    for (std::size_t i = 0; i < parts; ++i) {
        left +=
            (i == 0 ? "" : ", ") + quote_identifier(key_[i].name) + " COLLATE " + key_[i].collation;
        right += (i == 0 ? "?" : ", ?") + std::to_string(i + 1);
    }
    return parts == 1 ? left + comparison + right
                      : "(" + left + ")" + comparison + "(" + right + ")";
}

void row_reader::read_key(const statement& row, int key_column, row_key& key) const {
    key.clear();
    for (std::size_t i = 0; i < key_.size(); ++i)
        key.push_back(column_value(row, key_column + static_cast<int>(i)));
}

// The rows in key order behind `key`, or all of them: their visible columns and then their key, or the key alone.
statement row_reader::scan_behind(const row_key& key, const char* comparison,
                                  bool keys_only) const {
    std::string columns = keys_only ? "" : columns_;
    for (const key_column& k : key_) {
        if (!columns.empty()) columns += ", ";
        columns += quote_identifier(k.name);
    }
    statement out = db_.prepare("SELECT " + columns + " FROM " + table_ +
                                (key.empty() ? "" : " WHERE " + behind(key.size(), comparison)) +
                                " ORDER BY " + order());
    for (std::size_t i = 0; i < key.size(); ++i) bind_value(out, static_cast<int>(i) + 1, key[i]);
    return out;
}

// The whole key of the row whose key was cut to `prefix`; none when it is gone.
std::optional<row_key> row_reader::find_cut(const row_key& prefix, std::uint64_t hash) const {
    statement keys = scan_behind(prefix, " >= ", true);
    while (keys.step() && shares_prefix(keys, 0, prefix)) {
        std::string encoded;
        encode_columns(keys, 0, static_cast<int>(key_.size()), encoded);
        if (XXH64(encoded.data(), encoded.size(), 0) != hash) continue;
        row_key out;
        read_key(keys, 0, out);
        return out;
    }
    return std::nullopt;
}

void row_reader::scan(const place& from, const gone_key& gone,
                      const std::function<bool(const statement&, int)>& each) {
    const int behind_columns = std::max(1, static_cast<int>(member_.size()));
    row_key key;
    bool cut = false;
    if (!decode(from.last_key, key, cut) || key.size() > key_.size() || cut != (from.cut && cut))
        malformed();
    if (!from.cut && !from.last_key.empty() && key.size() != key_.size()) malformed();
    if (cut && !key.empty() && std::holds_alternative<std::string>(key.back()))
        trim_partial_character(std::get<std::string>(key.back()));
    const char* comparison = " > ";
    if (from.cut) {
        // Behind the very row, there or gone; where nobody knows it any more, again from the prefix.
        auto whole = find_cut(key, from.hash);
        if (!whole) whole = gone(from.hash);
        if (whole)
            key = std::move(*whole);
        else
            comparison = " >= ";
    }
    for (bool keys_only = too_wide_;;) {
        const int key_column = keys_only ? 0 : behind_columns;
        statement rows = scan_behind(key, comparison, keys_only);
        try {
            std::optional<record_limit> bound;
            if (!keys_only) bound.emplace(db_, record_bytes_max_);
            bool standing = rows.step();
            for (; standing; standing = rows.step()) {
                read_key(rows, key_column, key);
                comparison = " > ";
                if (!each(rows, key_column)) return;
                if (keys_only && !too_wide_) break;
            }
            if (!standing) return;
        } catch (const sqlite_error& e) {
            // A row that is too large, or cannot be computed, ended the scan before it was read: it is told by its key,
            // and the scan goes on behind it.
            if (keys_only || (!e.is(SQLITE_TOOBIG) && !e.is(SQLITE_ERROR))) throw;
            keys_only = true;
            continue;
        }
        keys_only = false;
    }
}

row_reader::place row_reader::place_of(const statement& row, int key_column) const {
    place out;
    encode_columns(row, key_column, static_cast<int>(key_.size()), out.last_key);
    if (out.last_key.size() > page_key_bytes_max) {
        out.hash = XXH64(out.last_key.data(), out.last_key.size(), 0);
        out.cut = true;
        out.last_key.resize(page_key_bytes_max);
    }
    return out;
}

}  // namespace litefeed
