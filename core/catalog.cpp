#include "core/catalog.hpp"

#include <algorithm>

#include "core/schema.hpp"
#include "core/schema_drift.hpp"
#include "core/sql_text.hpp"

namespace litefeed {
namespace {

using verdict = capture_state::verdict;

// Of a table of which not every column may be named.
constexpr const char* unnamed_problem =
    "it cannot be watched any more; `litefeed status` where the file is says why";

const std::vector<std::string>* rule_for(
    const std::map<std::string, std::vector<std::string>>& rules, std::string_view table) {
    for (const auto& [name, columns] : rules) {
        if (same_name(name, table)) return &columns;
    }
    return nullptr;
}

bool names(const std::vector<std::string>& list, std::string_view name) {
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& n) { return same_name(n, name); });
}

bool has_rule(const column_rules& rules, std::string_view table) {
    return rule_for(rules.hide, table) != nullptr || rule_for(rules.only, table) != nullptr;
}

void add_rules(std::map<std::string, std::vector<std::string>>& rules, const std::string& from,
               const std::string& to) {
    const auto* found = rule_for(rules, from);
    if (found == nullptr) return;
    std::vector<std::string> both = *found;
    if (const auto* own = rule_for(rules, to)) both.insert(both.end(), own->begin(), own->end());
    std::erase_if(rules, [&](const auto& rule) { return same_name(rule.first, to); });
    rules[to] = std::move(both);
}

// A table that was renamed takes its rules along, or what was hidden would be shown under the new name. Where that name
// has rules of its own, both hold.
void follow_rename(column_rules& rules, const watched_table& row) {
    if (!is_renamed(row)) return;
    const std::string now = row.problem.substr(renamed_to.size());
    add_rules(rules.hide, row.name, now);
    if (rule_for(rules.only, now) == nullptr) add_rules(rules.only, row.name, now);
}

bool in_key(const table_definition& table, std::string_view name) {
    return std::any_of(table.key.begin(), table.key.end(),
                       [&](const key_column& k) { return same_name(k.name, name); });
}

void refuse_unknown_columns(const table_definition& table, const std::vector<std::string>& list,
                            const char* option) {
    for (const std::string& name : list) {
        if (table.column(name) == nullptr) {
            throw cannot(std::string(option) + " names the column " + name + ", which " +
                         table.name + " does not have");
        }
    }
}

// Gone or unwatchable, and readers were told so: nothing is left to repair.
bool settled(const watched_table& row, const capture_state& state) {
    return !row.problem.empty() &&
           (state.what == verdict::gone || state.what == verdict::unwatchable);
}

// Against the newer of two sights: this reader's own, or the keeper's. What one of its own told stays true until the keeper
// has dealt with it.
const unseen_edits& unseen_since(const connection& db, const schema& at, schema_sight& own) {
    const schema verified = read_verified_schema(db);
    if (own.last && own.verified == verified.version && own.last->version > verified.version) {
        own.unseen.add(unseen_between(*own.last, at));
    } else {
        own.unseen = verified.version != at.version ? unseen_between(verified, at) : unseen_edits{};
        own.broken.clear();
    }
    own.verified = verified.version;
    own.last = at;
    return own.unseen;
}

// Whether entries may be missing since the keeper last verified it. A capture that did not stand at an earlier sight and
// stands again hides what was written in between.
bool may_have_missed(schema_sight& own, const watched_table& row, const capture_state& state) {
    const bool known =
        std::find(own.broken.begin(), own.broken.end(), row.table_id) != own.broken.end();
    if (state.what != verdict::whole && !known) own.broken.push_back(row.table_id);
    return known;
}

// A column under a rule may live on under another name, so a rule that fits no more shows nothing of its table.
void show(const connection& db, catalog_table& t, const column_rules& rules,
          std::size_t row_bytes_max) {
    try {
        t.visible = visible_columns(*t.definition, rules);
    } catch (const cannot&) {
        t.definition.reset();
        t.withheld = true;
        t.problem = "a rule of --hide or --only fits its columns no more";
        return;
    }
    t.rows = std::make_unique<row_reader>(db, *t.definition, t.visible, row_bytes_max);
}

[[noreturn]] void drifted() { throw boost::system::system_error(make_error_code(errc::drifted)); }

}  // namespace

std::vector<const column_definition*> visible_columns(const table_definition& table,
                                                      const column_rules& rules) {
    const auto* hide = rule_for(rules.hide, table.name);
    const auto* only = rule_for(rules.only, table.name);
    if (hide != nullptr) {
        refuse_unknown_columns(table, *hide, "--hide");
        for (const std::string& name : *hide) {
            if (in_key(table, name))
                throw cannot("--hide names " + table.name + "." + name +
                             ", which is part of its key and is in every change");
        }
    }
    if (only != nullptr) refuse_unknown_columns(table, *only, "--only");
    std::vector<const column_definition*> out;
    for (const column_definition& c : table.columns) {
        const bool hidden = hide != nullptr && names(*hide, c.name);
        const bool left_out = only != nullptr && !names(*only, c.name) && !in_key(table, c.name);
        if (!hidden && !left_out) out.push_back(&c);
    }
    return out;
}

catalog catalog::load(const connection& db, const feed_options& options, const schema& at,
                      schema_sight& own) {
    catalog out;
    const unseen_edits& unseen = unseen_since(db, at, own);
    column_rules rules = options.columns;
    auto listed = read_tables(db);
    if (!is_sound(listed) || !unlisted_captures(db, at, listed).empty())
        throw boost::system::system_error(make_error_code(errc::damaged));
    for (const watched_table& row : listed) follow_rename(rules, row);
    for (watched_table& row : listed) {
        auto t = std::make_unique<catalog_table>();
        t->row = std::move(row);
        if (t->row.watched) {
            capture_state state = judge_capture(db, at, t->row, unseen);
            if (may_have_missed(own, t->row, state) && state.what == verdict::whole) {
                state.what = verdict::broken;
                state.why = "its capture did not stand for a while";
            }
            const bool whole = state.what == verdict::whole && t->row.problem.empty();
            if (!whole && !settled(t->row, state)) {
                if (!options.read_only) drifted();
                // Nobody will begin a generation for it: every answer starts it over.
                t->drifted = state.what == verdict::reshaped ? reset_reason::schema_changed
                                                             : reset_reason::triggers_restored;
                t->problem = (state.why.empty() ? "its capture was off and was not begun again"
                                                : state.why) +
                             "; litefeed watch, or a server that may write, puts it in order";
            }
            if (state.what == verdict::unwatchable) t->problem = state.why;
            if (state.definition && (whole || t->drifted)) {
                t->definition = std::move(state.definition);
                show(db, *t, rules, options.row_bytes_max);
            }
            // In words, a refusal names columns.
            if (state.what == verdict::unwatchable && has_rule(rules, t->row.name))
                t->problem = t->row.problem = unnamed_problem;
        }
        out.tables_.push_back(std::move(t));
    }
    return out;
}

std::optional<std::string> catalog::unknown(const selection& want) const {
    for (const std::string& name : want.tables) {
        const bool known = std::any_of(tables_.begin(), tables_.end(),
                                       [&](const auto& t) { return same_name(t->row.name, name); });
        if (!known) return name;
    }
    return std::nullopt;
}

result<std::vector<catalog_table*>> catalog::select(const selection& want) {
    if (unknown(want)) return make_error_code(errc::unknown_table);
    std::vector<catalog_table*> out;
    for (const auto& t : tables_) {
        if (want.tables.empty() || names(want.tables, t->row.name)) out.push_back(t.get());
    }
    return out;
}

catalog_table* catalog::find(std::int64_t table_id) {
    const auto found =
        std::lower_bound(tables_.begin(), tables_.end(), table_id,
                         [](const auto& t, std::int64_t id) { return t->row.table_id < id; });
    return found != tables_.end() && (*found)->row.table_id == table_id ? found->get() : nullptr;
}

catalog_table* catalog::live(std::string_view name) {
    for (const auto& t : tables_) {
        if (t->live() && same_name(t->row.name, name)) return t.get();
    }
    return nullptr;
}

bool catalog::any_drift() const {
    return std::any_of(tables_.begin(), tables_.end(),
                       [](const auto& t) { return t->drifted.has_value(); });
}

}  // namespace litefeed
