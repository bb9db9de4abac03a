#include "core/schema.hpp"

#include <algorithm>

#include "core/sql_text.hpp"

namespace litefeed {

const schema_entry* schema::find(std::string_view type, std::string_view name) const {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const schema_entry& e) {
        return e.type == type && same_name(e.name, name);
    });
    return found == entries.end() ? nullptr : &*found;
}

schema read_schema(const connection& db) {
    schema out;
    out.version = db.integer("PRAGMA main.schema_version");
    statement rows = db.prepare(
        "SELECT rowid, type, name, tbl_name, rootpage, sql FROM main.sqlite_schema ORDER BY rowid");
    while (rows.step()) {
        out.entries.push_back({rows.integer(0), std::string(rows.text(1)),
                               std::string(rows.text(2)), std::string(rows.text(3)),
                               std::string(rows.text(5)), rows.integer(4)});
    }
    return out;
}

}  // namespace litefeed
