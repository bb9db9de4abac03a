#include "core/triggers.hpp"

#include <algorithm>
#include <functional>

#include "core/sql_text.hpp"

// Why each clause is as it is stands in core/DESIGN.md, "Capture by triggers"; the rules' numbers there are the tests'.
namespace litefeed {
namespace {

// How a new value is written: NEW."u" in a trigger, ?1 in a probe that is only explained.
using new_value = std::function<std::string(const std::string& column)>;

std::string in_trigger(const std::string& column) { return "NEW." + quote_identifier(column); }
std::string in_probe(const std::string&) { return "?1"; }

std::string guarded(const std::string& column) { return "lf_row." + quote_identifier(column); }

std::string join(const std::vector<std::string>& parts, std::string_view between) {
    std::string out;
    for (const std::string& part : parts) {
        if (!out.empty()) out += between;
        out += part;
    }
    return out;
}

// (a,b)=(c,d) rather than a=c AND b=d: its depth does not grow with the columns, which SQLITE_LIMIT_EXPR_DEPTH counts.
std::string tuple(const std::vector<std::string>& parts) {
    return parts.size() == 1 ? parts.front() : "(" + join(parts, ",") + ")";
}

std::string each(const std::vector<std::string>& names, std::string_view before,
                 std::string_view after) {
    std::vector<std::string> out;
    for (const std::string& name : names)
        out.push_back(std::string(before) + name + std::string(after));
    return tuple(out);
}

// OLD and NEW of these columns, by their bytes.
std::string compared(const std::vector<std::string>& names, std::string_view how) {
    return each(names, "OLD.", " COLLATE BINARY") + std::string(how) + each(names, "NEW.", "");
}
// And by their classes: 1 IS 1.0.
std::string compared_classes(const std::vector<std::string>& names, std::string_view how) {
    return each(names, "typeof(OLD.", ")") + std::string(how) + each(names, "typeof(NEW.", ")");
}

class trigger_writer {
  public:
    trigger_writer(const table_definition& table, std::int64_t table_id, new_value value)
        : table_(table), table_id_(table_id), new_(std::move(value)) {}

    std::string entry(std::string_view op, std::string_view row) const {
        std::vector<std::string> key;
        for (const key_column& k : table_.key)
            key.push_back(std::string(row) + "." + quote_identifier(k.name));
        return std::to_string(table_id_) + ",'" + std::string(op) + "'," + std::string(now_ms_sql) +
               "," + join(key, ",");
    }

    std::string insert_entry(std::string_view op, std::string_view row) const {
        return into_log() + " VALUES(" + entry(op, row) + "); ";
    }

    std::string into_log() const {
        return "INSERT INTO litefeed_log(table_id,op,at_ms," + log_key_columns(table_.key.size()) +
               ")";
    }

    // By class and bytes, whatever the column's collation: 1 and 1.0, abc and ABC are different keys in the feed.
    std::string key_unchanged() const {
        std::vector<std::string> names;
        for (const key_column& k : table_.key) names.push_back(quote_identifier(k.name));
        if (is_rowid(table_.key.front()))
            return "OLD." + names.front() + " IS NEW." + names.front();
        return compared(names, " IS ") + " AND " + compared_classes(names, "=");
    }

    bool is_rowid(const key_column& k) const {
        return table_.integer_key || (table_.keyed_by_rowid && &k == table_.key.data());
    }

    // The place of the row itself, compared by what makes it unique.
    std::string row_is(std::string_view other) const {
        const std::string rowid = rowid_name();
        if (!rowid.empty())
            return guarded(rowid) + " IS " + std::string(other) + "." + quote_identifier(rowid);
        std::vector<std::string> left, right;
        for (const key_column& k : table_.key) {
            left.push_back(guarded(k.name));
            right.push_back(std::string(other) + "." + quote_identifier(k.name) + " COLLATE " +
                            k.collation);
        }
        return tuple(left) + "=" + tuple(right);
    }

    std::string rowid_name() const {
        if (table_.without_rowid) return {};
        return table_.integer_key ? table_.key.front().name : table_.rowid_alias;
    }

    // SQLite compares the names of UPDATE OF with the names written in SET, and does not ask whether there are such
    // columns: with all of the rowid's names in it the trigger fires for SET rowid= too. A trigger that need not be
    // called costs nothing; one whose WHEN says no costs a call for each row.
    std::string rowid_as_set() const {
        std::vector<std::string> names;
        if (table_.integer_key) names.push_back(quote_identifier(table_.key.front().name));
        for (const char* alias : {"rowid", "_rowid_", "oid"})
            names.push_back(quote_identifier(alias));
        return join(names, ",");
    }

    std::string key_as_set() const {
        if (table_.integer_key || table_.keyed_by_rowid) return rowid_as_set();
        std::vector<std::string> names;
        for (const key_column& k : table_.key) names.push_back(quote_identifier(k.name));
        return join(names, ",");
    }

    // A NULL becomes the default under OR REPLACE, after BEFORE triggers ran.
    std::string incoming(const std::string& column) const {
        const column_definition* c = table_.column(column);
        if (c == nullptr || !c->not_null || !c->default_sql) return new_(column);
        return "ifnull(" + new_(column) + "," + *c->default_sql + ")";
    }

    std::string rowid_collides() const {
        const std::string rowid = rowid_name();
        return guarded(rowid) + "=" + new_(rowid);
    }

    std::string key_collides() const {
        std::vector<std::string> left, right;
        for (const key_column& k : table_.key) {
            left.push_back(guarded(k.name));
            right.push_back(incoming(k.name) + " COLLATE " + k.collation);
        }
        return tuple(left) + "=" + tuple(right);
    }

    std::string index_collides(const unique_index& index) const {
        std::vector<std::string> left, right;
        for (const index_member& m : index.members) {
            const std::string collate = " COLLATE " + quote_identifier(m.collation);
            if (!m.column.empty()) {
                left.push_back(guarded(m.column));
                right.push_back(incoming(m.column) + collate);
            } else {
                left.push_back("(" + m.expression + ")" + collate);
                right.push_back(computed(index, m.expression) + collate);
            }
        }
        // Unlikely, or a partial index is left alone once ANALYZE has seen a table of one or two rows.
        std::string out = "unlikely(" + tuple(left) + "=" + tuple(right) + ")";
        if (!index.predicate.empty()) out += " AND (" + index.predicate + ")";
        return out;
    }

    // Another way to the same end where a partial index computes, for which likelihoods do not count: rows in the
    // index's order are free through the index, and a scan would have to sort. One row at most, so nothing is lost.
    static std::string in_order_of(const unique_index& index) {
        const bool computes = std::any_of(index.members.begin(), index.members.end(),
                                          [](const auto& m) { return m.column.empty(); });
        if (index.predicate.empty() || !computes) return {};
        std::vector<std::string> terms;
        for (const index_member& m : index.members) {
            terms.push_back((m.column.empty() ? "(" + m.expression + ")" : guarded(m.column)) +
                            " COLLATE " + quote_identifier(m.collation));
        }
        return " GROUP BY " + join(terms, ",");
    }

    // The expression over the incoming values; the plus takes its affinity away, so that the index can be used.
    std::string computed(const unique_index& index, const std::string& expression) const {
        std::vector<std::string> values;
        for (const std::string& name : names_in(expression)) {
            const column_definition* c = table_.column(name);
            const std::string value = c == nullptr
                                          ? std::string()
                                          : incoming(c->name) + " AS " + quote_identifier(c->name);
            if (c != nullptr && std::find(values.begin(), values.end(), value) == values.end())
                values.push_back(value);
        }
        (void)index;
        if (values.empty()) values.emplace_back("1");
        return "+(SELECT " + expression + " FROM (SELECT " + join(values, ",") + "))";
    }

    // An index that can be dropped is looked for first, in the trigger's WHEN: without it the probe would scan the table
    // (in the probe's own WHERE SQLite asks only about rows it has found, so it scans all the same).
    static std::string index_stands(const unique_index& index) {
        const std::string name = quote_text(index.name);
        return "(EXISTS(SELECT 1 FROM sqlite_master WHERE rowid=" + std::to_string(index.place) +
               " AND name=" + name +
               ") OR EXISTS(SELECT 1 FROM sqlite_master WHERE type='index' AND "
               "name=" +
               name + "))";
    }

    std::string probe(const std::string& where, const std::string& order) const {
        std::vector<std::string> key;
        for (const key_column& k : table_.key) key.push_back(guarded(k.name));
        return "SELECT " + join(key, ",") + " FROM " + quote_identifier(table_.name) +
               " AS lf_row WHERE " + where + order;
    }

    // What an INSERT can collide with, each with the condition under which it can: the rowid, the key, the indexes.
    struct collision {
        std::string stands;  // empty: always
        std::string where;
        std::string order;
        int number = 0;  // of the index; the first is 1
    };
    std::vector<collision> collisions() const {
        std::vector<collision> out;
        if (!rowid_name().empty()) out.push_back({{}, rowid_collides(), {}, 0});
        if (!table_.integer_key && !table_.keyed_by_rowid)
            out.push_back({{}, key_collides(), {}, 0});
        int number = 0;
        for (const unique_index& index : table_.unique_indexes) {
            out.push_back({index.droppable ? index_stands(index) : std::string(),
                           index_collides(index), in_order_of(index), ++number});
        }
        return out;
    }

    const table_definition& table_;
    std::int64_t table_id_;
    new_value new_;
};

std::string update_of(const std::vector<std::string>& columns) {
    std::vector<std::string> names;
    for (const std::string& c : columns) names.push_back(quote_identifier(c));
    return "BEFORE UPDATE OF " + join(names, ",") + " ON ";
}

struct insert_guard {
    std::string name, when, body;
};

// One arm per collision. What always stands is one trigger, whose arms each leave out what an arm before it found, so
// that a row is touched once. An index that can be dropped has its own, which does not ask what the others of its kind
// found: that costs more than the second touch, which says nothing new.
std::vector<insert_guard> insert_guards(const trigger_writer& w) {
    std::vector<insert_guard> out{{"guard_insert", "", ""}};
    std::string found;  // a CASE, not a chain of AND: its depth does not grow with the arms
    const auto arm = [&](const trigger_writer::collision& c) {
        std::string select = "SELECT " + w.entry("t", "lf_row") + " FROM " +
                             quote_identifier(w.table_.name) + " AS lf_row WHERE " + c.where;
        if (!found.empty()) select += " AND CASE" + found + " ELSE 1 END";
        return select + c.order;
    };
    const auto collisions = w.collisions();
    for (const auto& c : collisions) {
        if (!c.stands.empty()) continue;
        out.front().body += (out.front().body.empty() ? "" : " UNION ALL ") + arm(c);
        found += " WHEN " + c.where + " THEN 0";
    }
    for (const auto& c : collisions) {
        if (c.stands.empty()) continue;
        out.push_back(
            {"guard_insert_" + std::to_string(c.number) + "_safe_to_drop", c.stands, arm(c)});
    }
    for (insert_guard& g : out) g.body = w.into_log() + " " + g.body + "; ";
    return out;
}

std::string update_guard_body(const trigger_writer& w, const std::string& where,
                              const std::string& order = {}) {
    return w.into_log() + " SELECT " + w.entry("t", "lf_row") + " FROM " +
           quote_identifier(w.table_.name) + " AS lf_row WHERE " + where + " AND (" +
           w.row_is("OLD") + ") IS NOT 1" + order + "; ";
}

// In a BEFORE UPDATE SQLite loads into NEW only the columns that the triggers name, so a generated column would be
// computed from NULLs unless what it is made of is named as well. Always true.
std::string loading(const unique_index& index) {
    if (!index.over_generated) return {};
    std::vector<std::string> names;
    for (const std::string& c : index.depends_on) names.push_back("NEW." + quote_identifier(c));
    return " AND " + tuple(names) + " IS " + tuple(names);
}

std::string any_column_changed(const table_definition& table) {
    std::vector<std::string> names;
    for (const column_definition& c : table.columns) {
        if (!c.generated) names.push_back(quote_identifier(c.name));
    }
    return "(" + compared(names, " IS NOT ") + " OR " + compared_classes(names, "<>") + ")";
}

}  // namespace

std::string log_key_columns(std::size_t parts) {
    std::string out = "key";
    for (std::size_t i = 2; i <= parts; ++i) out += ",key" + std::to_string(i);
    return out;
}

std::string trigger_prefix(std::int64_t table_id) {
    return "litefeed_" + std::to_string(table_id) + "_";
}

std::vector<trigger> capture_triggers(const table_definition& table, std::int64_t table_id,
                                      const watch_options& options) {
    const trigger_writer w(table, table_id, in_trigger);
    const std::string on = quote_identifier(table.name) + " ";
    std::vector<trigger> out;
    const auto add = [&](const std::string& suffix, const std::string& event,
                         const std::string& when, const std::string& body) {
        const std::string name = trigger_prefix(table_id) + suffix;
        out.push_back({name, "CREATE TRIGGER " + quote_identifier(name) + " " + event + on +
                                 (when.empty() ? "" : "WHEN " + when + " ") + "BEGIN " + body +
                                 "END"});
    };
    const std::string same_key = w.key_unchanged();
    add("insert", "AFTER INSERT ON ", "", w.insert_entry("i", "NEW"));
    add("update", "AFTER UPDATE ON ",
        options.skip_unchanged ? same_key + " AND " + any_column_changed(table) : same_key,
        w.insert_entry("u", "NEW"));
    add("update_key", "AFTER UPDATE OF " + w.key_as_set() + " ON ", "NOT(" + same_key + ")",
        w.insert_entry("d", "OLD") + w.insert_entry("i", "NEW"));
    add("delete", "AFTER DELETE ON ", "", w.insert_entry("d", "OLD"));
    if (!options.replace_guards) return out;

    // The names answer the one complaint that a guard can cause: DROP COLUMN after DROP INDEX (core/DESIGN.md).
    for (const insert_guard& g : insert_guards(w)) add(g.name, "BEFORE INSERT ON ", g.when, g.body);
    if (const std::string rowid = w.rowid_name(); !rowid.empty()) {
        const std::string name = quote_identifier(rowid);
        add("guard_rowid", "BEFORE UPDATE OF " + w.rowid_as_set() + " ON ",
            "NEW." + name + " IS NOT OLD." + name, update_guard_body(w, w.rowid_collides()));
    }
    if (!table.integer_key && !table.keyed_by_rowid) {
        std::vector<std::string> columns;
        for (const key_column& k : table.key) columns.push_back(k.name);
        add("guard_key", update_of(columns), "", update_guard_body(w, w.key_collides()));
    }
    int number = 0;
    for (const unique_index& index : table.unique_indexes) {
        ++number;
        if (index.depends_on.empty())
            continue;  // an index over constants cannot be entered by an update
        add("guard_" + std::to_string(number) + (index.droppable ? "_safe_to_drop" : ""),
            update_of(index.depends_on), index.droppable ? trigger_writer::index_stands(index) : "",
            update_guard_body(w, w.index_collides(index) + loading(index),
                              trigger_writer::in_order_of(index)));
    }
    return out;
}

std::vector<std::string> guard_probes(const table_definition& table) {
    const trigger_writer w(table, 0, in_probe);
    std::vector<std::string> out;
    for (const auto& c : w.collisions()) out.push_back(w.probe(c.where, c.order));
    return out;
}

bool same_trigger(std::string_view a, std::string_view b) {
    constexpr std::string_view place = "sqlite_master WHERE rowid=";
    while (true) {
        const auto in_a = a.find(place);
        const auto in_b = b.find(place);
        if (a.substr(0, in_a) != b.substr(0, in_b)) return false;
        if (in_a == std::string_view::npos || in_b == std::string_view::npos) return in_a == in_b;
        a.remove_prefix(in_a + place.size());
        b.remove_prefix(in_b + place.size());
        a.remove_prefix(std::min(a.find_first_not_of("0123456789"), a.size()));
        b.remove_prefix(std::min(b.find_first_not_of("0123456789"), b.size()));
    }
}

}  // namespace litefeed
