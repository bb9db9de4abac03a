#include "core/schema_drift.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/sql_text.hpp"

#include "core/format.hpp"

namespace litefeed {
namespace {

const schema_entry* same_entry(const schema& in, const schema_entry& e) {
    const auto found = std::find_if(
        in.entries.begin(), in.entries.end(),
        [&](const schema_entry& other) { return other.type == e.type && other.name == e.name; });
    return found == in.entries.end() ? nullptr : &*found;
}

bool has_table(const schema& in, const std::string& name) {
    return in.find("table", name) != nullptr;
}

bool is_automatic(const schema_entry& e) {
    return e.sql.empty();  // the indexes of UNIQUE and PRIMARY KEY come and go with their table
}

// A VACUUM puts the tables first and closes gaps, so only a table that was dropped and made again comes to stand later.
bool was_made_anew(const schema_entry& table, const schema& after) {
    const schema_entry* now = same_entry(after, table);
    return now != nullptr && now->place > table.place;
}
constexpr std::int64_t drop_and_create = 2;

// Columns and constraints of a CREATE TABLE, less one.
std::int64_t members(const std::string& create_table) {
    const auto tokens = sql_tokens(create_table);
    return std::count_if(tokens.begin(), tokens.end(),
                         [](const sql_token& t) { return t.depth == 1 && t.source == ","; });
}

}  // namespace

schema read_verified_schema(const connection& db) {
    schema out;
    statement version =
        prepare_own(db, "SELECT schema_version FROM main.litefeed_meta WHERE id = 0");
    if (version.step()) out.version = version.integer(0);
    statement rows = prepare_own(
        db,
        "SELECT place, type, name, tbl_name, sql, rootpage FROM main.litefeed_schema ORDER BY "
        "place");
    while (rows.step()) {
        out.entries.push_back({rows.integer(0), std::string(rows.text(1)),
                               std::string(rows.text(2)), std::string(rows.text(3)),
                               std::string(rows.text(4)), rows.integer(5)});
    }
    return out;
}

// What a difference can have come from in the fewest steps.
std::int64_t explained_steps(const schema& before, const schema& after) {
    std::int64_t steps = 0, gone_tables = 0, new_tables = 0, rewritten = 0;
    std::map<std::string, std::int64_t> gone_from;  // table that is there → what hung on it
    bool tables_differ = false;
    for (const schema_entry& e : before.entries) {
        if (is_automatic(e)) continue;
        const schema_entry* now = same_entry(after, e);
        const schema_entry* table = before.find("table", e.table);
        const bool made_anew = now != nullptr && table != nullptr && was_made_anew(*table, after);
        if (now != nullptr && now->sql == e.sql && !made_anew) continue;
        if (e.type == "table") {
            tables_differ = true;
            if (now == nullptr) {
                ++gone_tables;
            } else {
                // Each added or dropped column is an ALTER of its own.
                const auto altered =
                    std::max<std::int64_t>(1, std::abs(members(now->sql) - members(e.sql)));
                steps += made_anew ? drop_and_create : altered;
            }
        } else if (made_anew) {
            ++steps;  // it went with its table
        } else if (now != nullptr) {
            ++rewritten;
        } else if (e.type == "view") {
            ++steps;
        } else if (has_table(after, e.table)) {
            ++gone_from[e.table];
        }
    }
    for (const schema_entry& e : after.entries) {
        if (is_automatic(e) || same_entry(before, e) != nullptr) continue;
        ++(e.type == "table" ? new_tables : steps);
    }
    // One that is gone and one that is new can be one RENAME.
    steps += std::max(gone_tables, new_tables);
    // DROP TABLE and CREATE TABLE take away all that hung on it.
    for (const auto& [name, count] : gone_from) {
        const schema_entry* table = before.find("table", name);
        if (table != nullptr && was_made_anew(*table, after)) continue;
        steps += std::min<std::int64_t>(count, drop_and_create);
    }
    // A RENAME rewrites what names the table or column; else it was dropped and made anew.
    if (!tables_differ && new_tables == 0) steps += 2 * rewritten;
    return steps;
}

void unseen_edits::add(const unseen_edits& other) {
    steps = std::max(steps, other.steps);
    made_anew.insert(made_anew.end(), other.made_anew.begin(), other.made_anew.end());
}

unseen_edits unseen_between(const schema& before, const schema& after) {
    unseen_edits out;
    const std::int64_t moved = after.version - before.version;
    // Somebody may have emptied what was written down; then nothing tells one edit from another.
    const bool unknown = moved < 0 || (moved > 0 && before.entries.empty());
    out.steps = unknown ? steps_that_cancel_out
                        : std::max<std::int64_t>(0, moved - explained_steps(before, after));
    for (const schema_entry& e : before.entries)
        if (e.type == "table" && was_made_anew(e, after)) out.made_anew.push_back(e.name);
    return out;
}

}  // namespace litefeed
