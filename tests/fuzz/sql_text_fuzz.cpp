// SQL as text. Tokens cover all of it but blanks and comments, and each is one token by itself; a quoted name comes back.
// Of whatever schema SQLite takes, we read the indexes and generated columns that its pragmas list, as expressions that it
// parses, and miss no column that it reads in them.
#include "core/sql_text.hpp"

#include <algorithm>
#include <cassert>
#include <set>

#include "core/schema.hpp"
#include "tests/fuzz/owner_schema.hpp"

using namespace litefeed;

namespace {

void check_tokens(std::string_view sql) {
    const char* at = sql.data();
    for (const auto& t : sql_tokens(sql)) {
        assert(!t.source.empty() && t.depth >= 0);
        assert(at <= t.source.data() &&
               t.source.data() + t.source.size() <= sql.data() + sql.size());
        assert(sql_tokens({at, t.source.data()}).empty());
        at = t.source.data() + t.source.size();
        const auto alone = sql_tokens(t.source);
        assert(alone.size() == 1 && alone[0].what == t.what && alone[0].source == t.source);
    }
    assert(sql_tokens({at, sql.data() + sql.size()}).empty());
}

void check_quotes(std::string_view name) {
    const auto identifier = quote_identifier(name), text = quote_text(name);
    const auto of_identifier = sql_tokens(identifier), of_text = sql_tokens(text);
    assert(of_identifier.size() == 1 && of_identifier[0].value == name);
    assert(of_identifier[0].what == sql_token::kind::identifier);
    assert(of_text.size() == 1 && of_text[0].what == sql_token::kind::text);
}

int note_read(void* names, int what, const char*, const char* column, const char*, const char*) {
    // An empty one is said for a table of which nothing is read.
    if (what == SQLITE_READ && *column != '\0')
        static_cast<std::set<std::string>*>(names)->insert(column);
    return SQLITE_OK;
}

// SQLite takes a table whose generated columns go round in a loop, and then no statement about it.
bool readable(const connection& db, const schema_entry& of) {
    try {
        return static_cast<bool>(db.prepare("SELECT * FROM " + quote_identifier(of.table)));
    } catch (const sqlite_error&) {
        return false;
    }
}

// SQLite parses the expression by itself, and reads no column that is not among its names.
void check_expression(const connection& db, std::string_view table, const std::string& expression) {
    assert(!expression.empty());
    std::set<std::string> read;
    sqlite3_set_authorizer(db.get(), note_read, &read);
    const auto parsed = db.prepare("SELECT (" + expression + "\n) FROM " + quote_identifier(table));
    sqlite3_set_authorizer(db.get(), nullptr, nullptr);
    const auto names = names_in(expression);
    for (const auto& column : read)
        assert(std::any_of(names.begin(), names.end(),
                           [&](const auto& name) { return same_name(name, column); }));
}

void check_table(const connection& db, const schema_entry& table) {
    auto columns = db.prepare("SELECT name, hidden FROM pragma_table_xinfo(?1, 'main')");
    columns.bind_text(1, table.name);
    for (std::size_t position = 0; columns.step(); ++position) {
        const auto expression = generated_expression(table.sql, position);
        if (columns.integer(1) > 1)
            check_expression(db, table.name, expression);
        else
            assert(expression.empty());
    }
}

void check_index(const connection& db, const schema_entry& index) {
    const auto read = read_create_index(index.sql);
    auto columns = db.prepare(
        "SELECT cid, (SELECT partial FROM pragma_index_list(?2, 'main') WHERE name = ?1) "
        "FROM pragma_index_xinfo(?1, 'main') WHERE key");
    columns.bind_text(1, index.name).bind_text(2, index.table);
    std::size_t position = 0;
    for (; columns.step(); ++position) {
        assert(position < read.terms.size());
        check_expression(db, index.table, read.terms[position].expression);
        if (columns.integer(1) != 0)
            check_expression(db, index.table, read.predicate);
        else
            assert(read.predicate.empty());
    }
    assert(position == read.terms.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    check_tokens(text);
    check_quotes(text);
    const fuzz::owner_schema owner(text);
    for (const auto& entry : read_schema(owner.db).entries) {
        if (entry.sql.empty() || !readable(owner.db, entry)) continue;
        if (entry.type == "table") check_table(owner.db, entry);
        if (entry.type == "index") check_index(owner.db, entry);
    }
    return 0;
}
