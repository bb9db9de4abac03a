#include "server/column_choice.hpp"

#include <algorithm>

#include "core/sql_text.hpp"

namespace litefeed::server {
namespace {

const table_status& find_table(const std::vector<table_status>& tables, const std::string& name,
                               const std::string& option) {
    for (const auto& t : tables)
        if (same_name(t.name, name)) return t;
    throw cannot(option + ": " + name + " is not watched; `litefeed status` lists what is");
}

void check_column(const table_status& t, const std::string& column, const std::string& option) {
    const auto same = [&](const auto& c) { return same_name(c.first, column); };
    if (std::none_of(t.columns.begin(), t.columns.end(), same))
        throw cannot(option + ": " + t.name + " has no column " + column);
}

}  // namespace

std::optional<column_rules> chosen_columns::rules() const {
    const std::lock_guard lock(mutex_);
    return rules_;
}

column_rules chosen_columns::read(const std::vector<table_status>& tables) {
    const std::lock_guard lock(mutex_);
    if (!rules_) {
        try {
            rules_ = read_column_rules(choice_, tables);
        } catch (const cannot&) {
            throw cannot("a rule of --hide or --only names no watched table or no column of it");
        }
    }
    return *rules_;
}

column_rules read_column_rules(const column_choice& choice,
                               const std::vector<table_status>& tables) {
    column_rules out;
    for (const auto& text : choice.hide) {
        const auto option = "--hide " + text;
        // Both sides may hold dots: the first split that names a watched table counts.
        std::size_t dot = text.find('.');
        while (
            dot != std::string::npos &&
            std::none_of(tables.begin(), tables.end(),
                         [&](const auto& t) { return same_name(t.name, text.substr(0, dot)); }) &&
            text.find('.', dot + 1) != std::string::npos)
            dot = text.find('.', dot + 1);
        if (dot == std::string::npos) throw cannot(option + ": write TABLE.COLUMN");
        const auto& t = find_table(tables, text.substr(0, dot), option);
        auto column = text.substr(dot + 1);
        check_column(t, column, option);
        if (std::any_of(t.key.begin(), t.key.end(),
                        [&](const auto& name) { return same_name(name, column); }))
            throw cannot(option + ": a key column names the row and cannot be hidden");
        out.hide[t.name].push_back(std::move(column));
    }
    for (const auto& text : choice.only) {
        const auto option = "--only " + text;
        const auto colon = text.rfind(':');
        if (colon == std::string::npos) throw cannot(option + ": write TABLE:COLUMN,COLUMN");
        const auto& t = find_table(tables, text.substr(0, colon), option);
        for (std::size_t from = colon + 1;;) {
            const auto comma = text.find(',', from);
            auto column = text.substr(from, comma == std::string::npos ? comma : comma - from);
            check_column(t, column, option);
            out.only[t.name].push_back(std::move(column));
            if (comma == std::string::npos) break;
            from = comma + 1;
        }
    }
    return out;
}

}  // namespace litefeed::server
