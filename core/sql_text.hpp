#pragma once

#include <string>
#include <string_view>
#include <vector>

// SQL as text: quoting, and as much of its grammar as is needed to take an index expression, a predicate or a generated
// column's expression out of the CREATE statement that SQLite keeps.
namespace litefeed {

/// `notes` → `"notes"`. The one way an identifier gets into a statement.
[[nodiscard]] std::string quote_identifier(std::string_view name);
/// `it's` → `'it''s'`.
[[nodiscard]] std::string quote_text(std::string_view text);

struct sql_token {
    enum class kind { identifier, text, number, blob, punctuation };
    kind what{};
    std::string_view source;  ///< as written
    std::string value;        ///< an identifier without its quotes; else as written
    int depth{};              ///< parentheses open around it; a parenthesis counts as inside itself
};

/// Splits SQL into tokens, comments and blanks left out. Points into `sql`. Text that is not SQL gives tokens, never an
/// error: what comes from sqlite_schema was parsed by SQLite before.
[[nodiscard]] std::vector<sql_token> sql_tokens(std::string_view sql);

/// One member of an index's column list.
struct indexed_term {
    /// As written, without ASC and DESC. A COLLATE at its end stays: in `a || b COLLATE NOCASE` it is part of b.
    std::string expression;
};
struct index_text {
    std::vector<indexed_term> terms;
    std::string predicate;  ///< of a partial index; else empty
};
/// Reads a CREATE INDEX statement.
[[nodiscard]] index_text read_create_index(std::string_view sql);

/// The expression of the generated column at `position` (0-based among the column definitions) of a CREATE TABLE
/// statement; empty when it is not a generated column.
[[nodiscard]] std::string generated_expression(std::string_view create_table, std::size_t position);

/// The names that an expression may refer to as columns: every identifier that is not a function's name. A superset:
/// keywords are among them.
[[nodiscard]] std::vector<std::string> names_in(std::string_view expression);

/// ASCII letters only, as SQLite compares identifiers.
[[nodiscard]] bool same_name(std::string_view a, std::string_view b) noexcept;

}  // namespace litefeed
