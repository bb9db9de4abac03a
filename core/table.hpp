#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/schema.hpp"
#include "core/sqlite.hpp"
#include "core/value.hpp"

namespace litefeed {

struct column_definition {
    std::string name, type;
    affinity kind{};
    bool not_null{};
    std::optional<std::string> default_sql;  ///< as written
    bool generated{};
    std::string generated_from;  ///< its expression, when generated
};

struct key_column {
    std::string name;       ///< a column's, or the rowid's alias
    std::string collation;  ///< of its index; BINARY for a rowid
    affinity kind{};
};

/// A member of a unique index: a plain or generated column, or an expression.
struct index_member {
    std::string column;      ///< empty for an expression
    std::string expression;  ///< empty for a column
    std::string collation;
};

struct unique_index {
    std::string name;
    std::int64_t place{};  ///< its rowid in sqlite_schema
    bool droppable{};      ///< made by CREATE INDEX, so DROP INDEX can take it away
    std::vector<index_member> members;
    std::string predicate;  ///< of a partial index
    /// The ordinary columns on which it depends, those of generated columns and of the predicate included.
    std::vector<std::string> depends_on;
    bool over_generated{};  ///< some of that through a generated column
};

/// A table as capture needs to know it.
struct table_definition {
    std::string name;
    std::int64_t place{}, root_page{};
    bool without_rowid{}, strict{};
    std::vector<column_definition>
        columns;  ///< generated ones included, hidden ones of virtual tables never
    std::vector<key_column> key;
    bool keyed_by_rowid{};  ///< no declared key that is certain: VACUUM renumbers
    bool integer_key{};     ///< the key is the rowid under a column's name
    std::string
        rowid_alias;  ///< rowid, _rowid_ or oid, the first that no column has; empty: none, or no rowid
    /// Unique indexes that can make REPLACE remove another row; the key's own and those that hold the rowid are not here.
    std::vector<unique_index> unique_indexes;

    [[nodiscard]] const column_definition* column(std::string_view name) const;
};

/// A table's definition, or why it cannot be watched: a sentence for a person.
struct inspected_table {
    std::optional<table_definition> definition;
    std::string refused;
    bool exists{};
};

/// Reads what SQLite says of a table (main schema) in the current transaction. Throws sqlite_error.
[[nodiscard]] inspected_table inspect_table(const connection& db, const schema& at,
                                            std::string_view name);

/// Names of all tables, views and virtual tables of the main schema that are the owner's, in order of creation.
[[nodiscard]] std::vector<std::string> owner_tables(const connection& db);

/// A digest of what readers see of a table: its columns (name, type, not null, default, generation) and key. 16 hex digits.
[[nodiscard]] std::string shape_digest(const table_definition& table);

}  // namespace litefeed
