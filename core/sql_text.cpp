#include "core/sql_text.hpp"

#include <algorithm>

namespace litefeed {
namespace {

std::string quoted(std::string_view text, char quote) {
    std::string out(1, quote);
    for (const char c : text) {
        if (c == quote) out += quote;
        out += c;
    }
    out += quote;
    return out;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           c == '$' || static_cast<unsigned char>(c) >= 0x80;
}
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The end of a quoted token that begins at `at`; a doubled quote is part of it.
std::size_t quoted_end(std::string_view sql, std::size_t at, char quote) {
    for (std::size_t i = at + 1; i < sql.size(); ++i) {
        if (sql[i] != quote) continue;
        if (quote != ']' && i + 1 < sql.size() && sql[i + 1] == quote) {
            ++i;
            continue;
        }
        return i + 1;
    }
    return sql.size();
}

std::string unquoted(std::string_view token) {
    const char quote = token.front() == '[' ? ']' : token.front();
    std::string out;
    for (std::size_t i = 1; i + 1 < token.size(); ++i) {
        out += token[i];
        if (token[i] == quote && quote != ']') ++i;
    }
    return out;
}

// Where blanks and comments that begin at `at` end.
std::size_t after_blanks(std::string_view sql, std::size_t at) {
    while (at < sql.size()) {
        if (is_space(sql[at])) {
            ++at;
        } else if (sql.substr(at, 2) == "--") {
            const auto end = sql.find('\n', at);
            at = end == std::string_view::npos ? sql.size() : end + 1;
        } else if (sql.substr(at, 2) == "/*") {
            const auto end = sql.find("*/", at + 2);
            at = end == std::string_view::npos ? sql.size() : end + 2;
        } else {
            break;
        }
    }
    return at;
}

std::size_t name_end(std::string_view sql, std::size_t at) {
    while (at < sql.size() && is_name(sql[at])) ++at;
    return at;
}

bool is_word(const sql_token& t, std::string_view word) {
    return t.what == sql_token::kind::identifier && is_name(t.source.front()) &&
           same_name(t.source, word);
}

// The source text from token `first` up to, not including, token `last`.
std::string text_between(const std::vector<sql_token>& tokens, std::size_t first,
                         std::size_t last) {
    if (first >= last) return {};
    const char* begin = tokens[first].source.data();
    const char* end = tokens[last - 1].source.data() + tokens[last - 1].source.size();
    return {begin, end};
}

struct token_range {
    std::size_t begin, end;
};

// The members, parted by commas, of the parenthesis that opens at token `open`.
std::vector<token_range> members(const std::vector<sql_token>& tokens, std::size_t open) {
    std::vector<token_range> out;
    const int depth = tokens[open].depth;
    std::size_t begin = open + 1;
    for (std::size_t i = open + 1; i < tokens.size(); ++i) {
        const bool closes = tokens[i].depth == depth && tokens[i].source == ")";
        if (closes || (tokens[i].depth == depth && tokens[i].source == ",")) {
            out.push_back({begin, i});
            begin = i + 1;
        }
        if (closes) break;
    }
    return out;
}

std::size_t find_open(const std::vector<sql_token>& tokens, std::size_t from) {
    const auto at = std::find_if(tokens.begin() + static_cast<std::ptrdiff_t>(from), tokens.end(),
                                 [](const sql_token& t) { return t.source == "("; });
    return static_cast<std::size_t>(at - tokens.begin());
}

}  // namespace

std::string quote_identifier(std::string_view name) { return quoted(name, '"'); }

std::string quote_text(std::string_view text) { return quoted(text, '\''); }

bool same_name(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

std::vector<sql_token> sql_tokens(std::string_view sql) {
    using kind = sql_token::kind;
    std::vector<sql_token> out;
    int depth = 0;
    for (std::size_t at = after_blanks(sql, 0); at < sql.size(); at = after_blanks(sql, at)) {
        const char c = sql[at];
        std::size_t end = at + 1;
        kind what = kind::punctuation;
        if (c == '"' || c == '`' || c == '[') {
            what = kind::identifier;
            end = quoted_end(sql, at, c == '[' ? ']' : c);
        } else if (c == '\'') {
            what = kind::text;
            end = quoted_end(sql, at, '\'');
        } else if ((c == 'x' || c == 'X') && at + 1 < sql.size() && sql[at + 1] == '\'') {
            what = kind::blob;
            end = quoted_end(sql, at + 1, '\'');
        } else if (is_digit(c) || (c == '.' && at + 1 < sql.size() && is_digit(sql[at + 1]))) {
            what = kind::number;
            // 1e-5, but 0x1e-5 is a difference.
            const bool is_hex = c == '0' && at + 1 < sql.size() && lower(sql[at + 1]) == 'x';
            while (end < sql.size() && (is_name(sql[end]) || sql[end] == '.' ||
                                        (!is_hex && (sql[end] == '+' || sql[end] == '-') &&
                                         lower(sql[end - 1]) == 'e'))) {
                ++end;
            }
        } else if (is_name(c)) {
            what = kind::identifier;
            end = name_end(sql, at);
        }
        const std::string_view source = sql.substr(at, end - at);
        if (source == "(") ++depth;
        const bool quoted_name = what == kind::identifier && !is_name(c);
        out.push_back({what, source, quoted_name ? unquoted(source) : std::string(source), depth});
        if (source == ")" && depth > 0) --depth;
        at = end;
    }
    return out;
}

index_text read_create_index(std::string_view sql) {
    const auto tokens = sql_tokens(sql);
    index_text out;
    const std::size_t open = find_open(tokens, 0);
    if (open == tokens.size()) return out;
    std::size_t close = open;
    for (const auto [begin, end] : members(tokens, open)) {
        close = end;
        std::size_t last = end;
        if (last > begin + 1 &&
            (is_word(tokens[last - 1], "ASC") || is_word(tokens[last - 1], "DESC")))
            --last;
        out.terms.push_back({text_between(tokens, begin, last)});
    }
    if (close + 1 < tokens.size() && is_word(tokens[close + 1], "WHERE")) {
        out.predicate = text_between(tokens, close + 2, tokens.size());
    }
    return out;
}

std::string generated_expression(std::string_view create_table, std::size_t position) {
    const auto tokens = sql_tokens(create_table);
    const std::size_t open = find_open(tokens, 0);
    if (open == tokens.size()) return {};
    const auto columns = members(tokens, open);
    if (position >= columns.size()) return {};
    const int depth = tokens[open].depth;
    for (std::size_t i = columns[position].begin; i + 1 < columns[position].end; ++i) {
        if (tokens[i].depth != depth || !is_word(tokens[i], "AS") || tokens[i + 1].source != "(")
            continue;
        const int inner = tokens[i + 1].depth;
        for (std::size_t end = i + 2; end < columns[position].end; ++end) {
            if (tokens[end].source == ")" && tokens[end].depth == inner)
                return text_between(tokens, i + 2, end);
        }
    }
    return {};
}

std::vector<std::string> names_in(std::string_view expression) {
    const auto tokens = sql_tokens(expression);
    std::vector<std::string> out;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i].what != sql_token::kind::identifier) continue;
        if (i + 1 < tokens.size() && tokens[i + 1].source == "(" &&
            is_name(tokens[i].source.front()))
            continue;
        out.push_back(tokens[i].value);
    }
    return out;
}

}  // namespace litefeed
