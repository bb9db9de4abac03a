#include "core/capture.hpp"

#include <algorithm>

#include "core/own_names.hpp"
#include "core/sql_text.hpp"

namespace litefeed {
namespace {

using verdict = capture_state::verdict;

bool begins_with(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

std::vector<const schema_entry*> triggers_of(const schema& at, std::int64_t table_id) {
    std::vector<const schema_entry*> out;
    const std::string prefix = trigger_prefix(table_id);
    for (const schema_entry& e : at.entries) {
        if (e.type == "trigger" && begins_with(e.name, prefix)) out.push_back(&e);
    }
    return out;
}

// The newest trigger of the owner's on this table; 0 without one.
std::int64_t newest_other(const schema& at, std::string_view table, const std::string& prefix) {
    std::int64_t newest = 0;
    for (const schema_entry& e : at.entries) {
        if (e.type == "trigger" && same_name(e.table, table) && !begins_with(e.name, prefix))
            newest = std::max(newest, e.place);
    }
    return newest;
}

bool is_guard(const std::string& trigger_name) {
    return trigger_name.find("_guard_") != std::string::npos;
}

struct difference {
    bool guards = false, entries = false;
    std::string first;  // the first one, in words
    void add(bool guard, const std::string& words) {
        (guard ? guards : entries) = true;
        if (first.empty()) first = words;
    }
};

difference compare(const schema& at, const watched_table& table,
                   const table_definition& definition) {
    difference out;
    const auto wanted = capture_triggers(definition, table.table_id, table.options);
    const auto standing = triggers_of(at, table.table_id);
    const std::int64_t other = newest_other(at, definition.name, trigger_prefix(table.table_id));
    for (const trigger& w : wanted) {
        const auto found = std::find_if(standing.begin(), standing.end(),
                                        [&](const schema_entry* e) { return e->name == w.name; });
        if (found == standing.end()) {
            out.add(is_guard(w.name), "the trigger " + w.name + " is missing");
        } else if (!same_trigger((*found)->sql, w.sql)) {
            out.add(is_guard(w.name), "the trigger " + w.name + " is not what it should be");
        } else if ((*found)->place < other) {
            out.add(false, "a trigger of the owner's is newer than " + w.name);
        }
    }
    for (const schema_entry* e : standing) {
        const bool known = std::any_of(wanted.begin(), wanted.end(),
                                       [&](const trigger& w) { return w.name == e->name; });
        if (!known)
            out.add(is_guard(e->name), "the trigger " + e->name + " is not needed any more");
    }
    return out;
}

// As its triggers stand.
watch_options options_of(const connection& db, const schema& at, std::int64_t table_id,
                         const std::string& table) {
    const auto standing = triggers_of(at, table_id);
    watch_options out;
    out.replace_guards = std::any_of(standing.begin(), standing.end(),
                                     [](const auto* e) { return is_guard(e->name); });
    const inspected_table seen = inspect_table(db, at, table);
    if (!seen.definition) return out;
    out.skip_unchanged = true;
    for (const trigger& t : capture_triggers(*seen.definition, table_id, out)) {
        if (t.name != trigger_prefix(table_id) + "update") continue;
        out.skip_unchanged = std::any_of(standing.begin(), standing.end(), [&](const auto* e) {
            return e->name == t.name && same_trigger(e->sql, t.sql);
        });
    }
    return out;
}

capture_state table_is_missing(const schema& at, const watched_table& table) {
    capture_state out;
    // ALTER TABLE RENAME takes the triggers along.
    for (const schema_entry* e : triggers_of(at, table.table_id)) {
        if (!same_name(e->table, table.name)) {
            out.what = verdict::renamed;
            out.now_called = e->table;
            out.why = std::string(renamed_to) + e->table;
            return out;
        }
    }
    out.what = verdict::gone;
    out.why = "the table was dropped";
    return out;
}

}  // namespace

capture_state judge_capture(const connection& db, const schema& at, const watched_table& table,
                            const unseen_edits& unseen) {
    if (at.find("table", table.name) == nullptr) return table_is_missing(at, table);
    capture_state out;
    inspected_table seen = inspect_table(db, at, table.name);
    if (!seen.definition) {
        out.what = verdict::unwatchable;
        out.why = seen.refused;
        return out;
    }
    const difference differs = compare(at, table, *seen.definition);
    if (differs.entries) {
        out.what = verdict::broken;
        out.why = differs.first;
    } else if (shape_digest(*seen.definition) != table.shape) {
        out.what = verdict::reshaped;
        out.why = "its columns changed";
    } else if (std::any_of(unseen.made_anew.begin(), unseen.made_anew.end(),
                           [&](const auto& name) { return same_name(name, table.name); })) {
        out.what = verdict::reshaped;
        out.why = "it was dropped and made again";
    } else if (unseen.steps >= steps_that_cancel_out) {
        out.what = verdict::reshaped;
        out.why =
            "the schema was changed in a way that left no trace, as DROP COLUMN and ADD COLUMN of "
            "one name do";
    } else if (unseen.steps >= steps_of_a_vacuum && seen.definition->keyed_by_rowid) {
        out.what = verdict::broken;
        out.why = "a VACUUM may have renumbered its rowids";
    } else if (differs.guards) {
        out.what = verdict::guards_differ;
        out.why = differs.first;
    }
    out.definition = std::move(seen.definition);
    return out;
}

std::vector<watched_table> unlisted_captures(const connection& db, const schema& at,
                                             const std::vector<watched_table>& listed) {
    std::vector<watched_table> out;
    for (const schema_entry& e : at.entries) {
        const std::int64_t id = e.type == "trigger" ? table_id_in(e.name) : 0;
        const auto is_it = [&](const watched_table& t) { return t.table_id == id; };
        if (id == 0 || std::any_of(out.begin(), out.end(), is_it)) continue;
        const auto row = std::find_if(listed.begin(), listed.end(), is_it);
        if (row != listed.end() && row->watched) continue;
        watched_table t;
        if (row != listed.end()) {
            t = *row;
        } else {
            t.options = options_of(db, at, id, e.table);
        }
        t.table_id = id;
        t.name = e.table;
        t.watched = true;
        out.push_back(std::move(t));
    }
    return out;
}

void create_capture(const connection& db, const table_definition& table, std::int64_t table_id,
                    const watch_options& options) {
    drop_capture(db, read_schema(db), table_id);
    for (const trigger& t : capture_triggers(table, table_id, options)) db.execute(t.sql);
}

void drop_capture(const connection& db, const schema& at, std::int64_t table_id) {
    for (const schema_entry* e : triggers_of(at, table_id))
        db.execute("DROP TRIGGER main." + quote_identifier(e->name));
}

std::string guard_that_scans(const connection& db, const table_definition& table) {
    for (const std::string& probe : guard_probes(table)) {
        statement plan = db.prepare("EXPLAIN QUERY PLAN " + probe);
        while (plan.step()) {
            if (begins_with(plan.text(3), "SCAN lf_row")) {
                return "looking for the rows that REPLACE would remove would scan the whole table "
                       "at every insert (" +
                       probe + ")";
            }
        }
    }
    return {};
}

inspected_table watchable(const connection& db, const schema& at, const std::string& name,
                          const watch_options& options) {
    inspected_table out = inspect_table(db, at, name);
    if (!out.definition || !options.replace_guards) return out;
    try {
        out.refused = guard_that_scans(db, *out.definition);
    } catch (const sqlite_error& e) {
        out.refused =
            std::string("a unique index of it cannot be computed here (") + e.what() + ")";
    }
    if (!out.refused.empty()) out.definition.reset();
    return out;
}

}  // namespace litefeed
