#include "core/schema_drift.hpp"

#include <algorithm>

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

}  // namespace

schema read_verified_schema(const connection& db) {
    schema out;
    out.version = db.integer("SELECT schema_version FROM main.litefeed_meta WHERE id = 0");
    statement rows = db.prepare(
        "SELECT place, type, name, tbl_name, sql, rootpage FROM main.litefeed_schema ORDER BY "
        "place");
    while (rows.step()) {
        out.entries.push_back({rows.integer(0), std::string(rows.text(1)),
                               std::string(rows.text(2)), std::string(rows.text(3)),
                               std::string(rows.text(4)), rows.integer(5)});
    }
    return out;
}

std::int64_t explained_steps(const schema& before, const schema& after) {
    std::int64_t steps = 0;
    for (const schema_entry& e : before.entries) {
        if (is_automatic(e) || same_entry(after, e) != nullptr) continue;
        // What hung on a table that is gone went with it.
        if (e.type == "table" || e.type == "view" || has_table(after, e.table)) ++steps;
    }
    for (const schema_entry& e : after.entries) {
        if (is_automatic(e)) continue;
        const schema_entry* old = same_entry(before, e);
        if (old == nullptr) {
            ++steps;
        } else if (e.type == "table" && e.sql != old->sql) {
            // One ALTER at least; each added or dropped column is one more.
            const auto commas = [](const std::string& sql) {
                return std::count(sql.begin(), sql.end(), ',');
            };
            steps += std::max<std::int64_t>(1, std::abs(commas(e.sql) - commas(old->sql)));
        } else if (e.sql != old->sql) {
            steps += 2;  // dropped and made anew
        }
    }
    return steps;
}

bool moved_unexplained(const schema& before, const schema& after) {
    const std::int64_t moved = after.version - before.version;
    return moved < 0 || moved > explained_steps(before, after);
}

}  // namespace litefeed
