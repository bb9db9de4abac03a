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

[[noreturn]] void malformed() {
    throw boost::system::system_error(make_error_code(errc::malformed_cursor));
}

}  // namespace

row_reader::row_reader(const connection& db, const table_definition& table,
                       const std::vector<const column_definition*>& visible,
                       std::size_t row_bytes_max)
    : db_(db),
      table_("main." + quote_identifier(table.name)),
      key_(table.key),
      row_bytes_max_(row_bytes_max) {
    std::vector<std::string> names, key_names;
    for (const column_definition* c : visible) {
        names.push_back(c->name);
        affinity_.push_back(c->kind);
        columns_ += (columns_.empty() ? "" : ", ") + quote_identifier(c->name);
    }
    if (columns_.empty()) columns_ = "1";
    for (const key_column& k : key_) key_names.push_back(k.name);
    member_ = object_members(names);
    key_member_ = object_members(key_names);
    const bool is_rowid = table.integer_key || table.keyed_by_rowid;
    find_ =
        db.prepare("SELECT " + columns_ + " FROM " + table_ + " WHERE " + exactly(key_, is_rowid));
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

bool row_reader::find(const statement& from, int first_column, change& to, std::string& bytes) {
    use row(find_);
    for (std::size_t i = 0; i < key_.size(); ++i) {
        sqlite3_bind_value(find_.get(), static_cast<int>(i) + 1,
                           sqlite3_column_value(from.get(), first_column + static_cast<int>(i)));
    }
    if (!row->step()) return false;
    append_row(find_, to, bytes);
    return true;
}

void row_reader::append_row(const statement& row, change& to, std::string& bytes) const {
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

statement row_reader::scan_statement(const std::string& where) const {
    std::string key;
    for (const key_column& k : key_) key += ", " + quote_identifier(k.name);
    return db_.prepare("SELECT " + columns_ + key + " FROM " + table_ +
                       (where.empty() ? "" : " WHERE " + where) + " ORDER BY " + order());
}

void row_reader::scan(const place& from, const std::function<bool(const statement&, int)>& each) {
    const int key_column_index = std::max(1, static_cast<int>(member_.size()));
    row_key key;
    bool cut = false;
    if (!decode(from.last_key, key, cut) || key.size() > key_.size() || cut != (from.cut && cut))
        malformed();
    if (!from.cut && !from.last_key.empty() && key.size() != key_.size()) malformed();
    if (cut && !key.empty() && std::holds_alternative<std::string>(key.back()))
        trim_partial_character(std::get<std::string>(key.back()));
    statement rows =
        scan_statement(key.empty() ? "" : behind(key.size(), from.cut ? " >= " : " > "));
    const auto start = [&] {
        rows.reset();
        for (std::size_t i = 0; i < key.size(); ++i)
            bind_value(rows, static_cast<int>(i) + 1, key[i]);
    };
    start();
    bool standing = rows.step();
    if (from.cut) {
        // Look for the very row behind which to go on; without it, begin again at the prefix.
        bool found = false;
        while (standing && !found) {
            if (!shares_prefix(rows, key_column_index, key)) break;
            std::string encoded;
            encode_columns(rows, key_column_index, static_cast<int>(key_.size()), encoded);
            found = XXH64(encoded.data(), encoded.size(), 0) == from.hash;
            standing = rows.step();
        }
        if (!found) {
            start();
            standing = rows.step();
        }
    }
    while (standing && each(rows, key_column_index)) standing = rows.step();
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
