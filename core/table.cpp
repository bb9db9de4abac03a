#include "core/table.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

#include "core/own_names.hpp"
#include "core/sql_text.hpp"

namespace litefeed {
namespace {

// What makes a table unwatchable; caught where the definition is asked for.
struct refusal {
    std::string why;
};

constexpr int index_columns_max = 1000;

bool known_collation(std::string_view name) {
    return same_name(name, "BINARY") || same_name(name, "NOCASE") || same_name(name, "RTRIM");
}

bool is_rowid_name(std::string_view name) {
    return same_name(name, "rowid") || same_name(name, "_rowid_") || same_name(name, "oid");
}

// A literal, with or without a sign; what is in parentheses or CURRENT_TIME is not constant to us.
bool is_literal(std::string_view sql) {
    auto tokens = sql_tokens(sql);
    if (!tokens.empty() && (tokens.front().source == "-" || tokens.front().source == "+"))
        tokens.erase(tokens.begin());
    if (tokens.size() != 1) return false;
    const auto& t = tokens.front();
    if (t.what != sql_token::kind::identifier) return t.what != sql_token::kind::punctuation;
    return !same_name(t.value, "current_time") && !same_name(t.value, "current_date") &&
           !same_name(t.value, "current_timestamp");
}

struct index_list_row {
    std::string name, origin;
    bool unique{}, partial{};
};

class inspector {
  public:
    inspector(const connection& db, const schema& at, std::string_view name)
        : db_(db), schema_(at), name_(name) {}

    table_definition read() {
        const schema_entry* entry = schema_.find("table", name_);
        if (entry == nullptr) throw refusal{"it is gone"};
        table_.name = entry->name;
        table_.place = entry->place;
        table_.root_page = entry->root_page;
        sql_ = entry->sql;
        refuse_unreadable();
        read_columns();
        read_index_list();
        read_key();
        read_unique_indexes();
        return std::move(table_);
    }

    void set_kind(bool without_rowid, bool strict) {
        table_.without_rowid = without_rowid;
        table_.strict = strict;
    }

  private:
    // SQLite takes columns that are computed from one another, or by a function that only the owner's program has, and
    // then refuses to read them: one such table must not fail the reading of the others.
    void refuse_unreadable() const {
        try {
            (void)db_.prepare("SELECT * FROM main." + quote_identifier(table_.name));
        } catch (const sqlite_error& e) {
            if (!e.is(SQLITE_ERROR)) throw;
            throw refusal{std::string("SQLite cannot read it here: ") + e.what()};
        }
    }

    void read_columns() {
        statement rows = db_.prepare(
            "SELECT cid, name, type, \"notnull\", dflt_value, pk, hidden FROM "
            "pragma_table_xinfo(?1, 'main') ORDER BY cid");
        rows.bind_text(1, table_.name);
        while (rows.step()) {
            column_definition c;
            c.name = rows.text(1);
            c.type = rows.text(2);
            c.kind = affinity_of(c.type, table_.strict);
            c.not_null = rows.integer(3) != 0;
            if (!rows.is_null(4)) c.default_sql = std::string(rows.text(4));
            c.generated = rows.integer(6) == 2 || rows.integer(6) == 3;
            if (c.generated) c.generated_from = generated_expression(sql_, table_.columns.size());
            if (rows.integer(5) > 0) declared_key_[rows.integer(5)] = c.name;
            table_.columns.push_back(std::move(c));
        }
        if (table_.without_rowid) return;
        for (const char* alias : {"rowid", "_rowid_", "oid"}) {
            if (table_.column(alias) == nullptr) {
                table_.rowid_alias = alias;
                break;
            }
        }
    }

    void read_index_list() {
        statement rows = db_.prepare(
            "SELECT name, \"unique\", origin, partial FROM pragma_index_list(?1, 'main') ORDER BY "
            "seq DESC");
        rows.bind_text(1, table_.name);
        while (rows.step()) {
            indexes_.push_back({std::string(rows.text(0)), std::string(rows.text(2)),
                                rows.integer(1) != 0, rows.integer(3) != 0});
        }
    }

    [[nodiscard]] const index_list_row* key_index() const {
        const auto found = std::find_if(indexes_.begin(), indexes_.end(),
                                        [](const auto& i) { return i.origin == "pk"; });
        return found == indexes_.end() ? nullptr : &*found;
    }

    void read_key() {
        const index_list_row* index = key_index();
        if (!table_.without_rowid && declared_key_.size() == 1 && index == nullptr) {
            // A single key column without an index of its own is the rowid under that name.
            table_.integer_key = true;
            table_.key = {{declared_key_.begin()->second, "BINARY", affinity::integer}};
            return;
        }
        if (index != nullptr && key_is_certain()) {
            std::map<std::string, std::string> collations;
            for (const auto& [name, collation] : index_columns(index->name))
                collations[name] = collation;
            for (const auto& [order, name] : declared_key_) {
                table_.key.push_back({name, collations[name], table_.column(name)->kind});
            }
            for (const key_column& k : table_.key) {
                if (!known_collation(k.collation)) {
                    throw refusal{"its key uses the collation " + k.collation +
                                  ", which only its own program knows"};
                }
            }
            return;
        }
        if (table_.rowid_alias.empty()) {
            throw refusal{
                "it has no primary key that is NOT NULL, and its columns hide rowid, _rowid_ and "
                "oid; add one"};
        }
        table_.keyed_by_rowid = true;
        table_.key = {{table_.rowid_alias, "BINARY", affinity::integer}};
    }

    [[nodiscard]] bool key_is_certain() const {
        return table_.without_rowid ||
               std::all_of(declared_key_.begin(), declared_key_.end(),
                           [&](const auto& part) { return table_.column(part.second)->not_null; });
    }

    std::vector<std::pair<std::string, std::string>> index_columns(const std::string& index) {
        statement rows = db_.prepare(
            "SELECT name, coll FROM pragma_index_xinfo(?1, 'main') WHERE key ORDER BY seqno");
        rows.bind_text(1, index);
        std::vector<std::pair<std::string, std::string>> out;
        while (rows.step()) out.emplace_back(rows.text(0), rows.text(1));
        return out;
    }

    void read_unique_indexes() {
        for (const index_list_row& index : indexes_) {
            if (!index.unique || (index.origin == "pk" && !table_.keyed_by_rowid)) continue;
            if (auto unique = read_unique_index(index))
                table_.unique_indexes.push_back(std::move(*unique));
        }
    }

    std::optional<unique_index> read_unique_index(const index_list_row& listed) {
        unique_index out;
        out.name = listed.name;
        out.droppable = listed.origin == "c";
        const schema_entry* entry = schema_.find("index", listed.name);
        if (entry != nullptr) out.place = entry->place;
        const index_text text = entry != nullptr ? read_create_index(entry->sql) : index_text{};
        out.predicate = text.predicate;
        int position = 0;
        statement rows = db_.prepare(
            "SELECT cid, name, coll FROM pragma_index_xinfo(?1, 'main') WHERE key ORDER BY seqno");
        rows.bind_text(1, listed.name);
        while (rows.step()) {
            // With the rowid in it the index can only collide where the rowid does, and that has a guard of its own.
            const std::string name(rows.text(1));
            if (rows.integer(0) == -1 ||
                (table_.integer_key && same_name(name, table_.key.front().name)))
                return std::nullopt;
            index_member m{name, {}, std::string(rows.text(2))};
            if (rows.integer(0) == -2) {
                m.column.clear();
                m.expression = static_cast<std::size_t>(position) < text.terms.size()
                                   ? text.terms[static_cast<std::size_t>(position)].expression
                                   : std::string();
            }
            out.members.push_back(std::move(m));
            ++position;
        }
        if (position > index_columns_max)
            throw refusal{"its index " + out.name + " has more than 1,000 columns"};
        find_dependencies(out);
        return out;
    }

    void find_dependencies(unique_index& index) {
        visited_.clear();
        for (const index_member& m : index.members) {
            if (m.column.empty()) {
                for (const std::string& name : names_in(m.expression)) depend(index, name);
            } else {
                depend(index, m.column);
                refuse_moving_default(index, m.column);
            }
        }
        for (const std::string& name : names_in(index.predicate)) depend(index, name);
    }

    // Adds the ordinary columns behind a name. A name that is no column is a keyword or a text in double quotes.
    void depend(unique_index& index, const std::string& name) {
        const column_definition* c = table_.column(name);
        const bool is_key = table_.integer_key && same_name(name, table_.key.front().name);
        if (is_key || (c == nullptr && !table_.without_rowid && is_rowid_name(name))) {
            // NEW.id is -1 in a BEFORE trigger while SQLite has not drawn it yet.
            throw refusal{"its unique index " + index.name +
                          " computes with the rowid, which is not known before the insert"};
        }
        if (c == nullptr) return;
        if (c->generated) {
            index.over_generated = true;
            // Once: in a chain of columns that name the one before twice, the ways double at each step.
            if (!visited_.insert(c).second) return;
            for (const std::string& inner : names_in(c->generated_from)) {
                if (!same_name(inner, name)) depend(index, inner);
                const column_definition* base = table_.column(inner);
                if (base != nullptr && base->not_null && base->default_sql && !base->generated) {
                    // OR REPLACE puts the default in only after BEFORE triggers have seen the generated value.
                    throw refusal{"its unique index " + index.name +
                                  " holds the generated column " + name + ", computed from " +
                                  inner + ", which is NOT NULL with a default"};
                }
            }
            return;
        }
        refuse_moving_default(index, name);
        const auto known = std::find_if(index.depends_on.begin(), index.depends_on.end(),
                                        [&](const std::string& d) { return same_name(d, name); });
        if (known == index.depends_on.end()) index.depends_on.push_back(c->name);
    }

    void refuse_moving_default(const unique_index& index, const std::string& name) const {
        const column_definition* c = table_.column(name);
        if (c == nullptr || !c->not_null || !c->default_sql || is_literal(*c->default_sql)) return;
        throw refusal{"its unique index " + index.name + " holds " + name +
                      ", which is NOT NULL with a default that is not a constant (" +
                      *c->default_sql + ")"};
    }

    const connection& db_;
    const schema& schema_;
    std::string_view name_;
    std::string sql_;
    table_definition table_;
    std::map<std::int64_t, std::string> declared_key_;  // place in the key → column
    std::vector<index_list_row> indexes_;
    std::set<const column_definition*> visited_;  // generated columns behind the index at hand
};

std::string refused_name(std::string_view name) {
    const auto begins = [&](std::string_view prefix) {
        return same_name(name.substr(0, prefix.size()), prefix);
    };
    if (begins("sqlite_")) return "it is SQLite's own";
    if (is_own_table(name)) return "it is litefeed's own";
    if (begins("litefeed_"))
        return "names that begin with litefeed_ are kept for litefeed's own tables";
    return {};
}

}  // namespace

const column_definition* table_definition::column(std::string_view wanted) const {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&](const auto& c) { return same_name(c.name, wanted); });
    return found == columns.end() ? nullptr : &*found;
}

inspected_table inspect_table(const connection& db, const schema& at, std::string_view name) {
    inspected_table out;
    statement row = db.prepare(
        "SELECT type, wr, strict FROM pragma_table_list WHERE schema = 'main' AND name = ?1 "
        "COLLATE NOCASE");
    row.bind_text(1, name);
    if (!row.step()) {
        out.refused = "there is no such table";
        return out;
    }
    out.exists = true;
    const std::string type(row.text(0));
    const bool without_rowid = row.integer(1) != 0;
    const bool strict = row.integer(2) != 0;
    row.reset();
    out.refused = refused_name(name);
    if (type == "view") out.refused = "it is a view; watch the tables behind it";
    if (type == "virtual") out.refused = "it is a virtual table; SQLite allows no triggers on it";
    if (type == "shadow") out.refused = "it is a shadow table, kept by a virtual table";
    if (!out.refused.empty()) return out;
    try {
        inspector reader(db, at, name);
        reader.set_kind(without_rowid, strict);
        out.definition = reader.read();
    } catch (const refusal& r) {
        out.refused = r.why;
    }
    return out;
}

std::vector<std::string> owner_tables(const connection& db) {
    statement rows = db.prepare(
        "SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid");
    std::vector<std::string> out;
    while (rows.step()) {
        if (!is_own_table(rows.text(0))) out.emplace_back(rows.text(0));
    }
    return out;
}

std::string shape_digest(const table_definition& table) {
    std::string all;
    const auto add = [&all](std::string_view part) {
        all += std::to_string(part.size());
        all += ':';
        all += part;
    };
    for (const column_definition& c : table.columns) {
        add(c.name);
        add(c.type);
        add(c.not_null ? "not null" : "");
        add(c.default_sql ? "default " + *c.default_sql : "");
        add(c.generated ? "as " + c.generated_from : "");
    }
    for (const key_column& k : table.key) {
        add(k.name);
        add(k.collation);
    }
    std::array<char, 17> hex{};
    std::snprintf(hex.data(), hex.size(), "%016llx",
                  static_cast<unsigned long long>(XXH64(all.data(), all.size(), 0)));
    return hex.data();
}

}  // namespace litefeed
