// `--hide` and `--only`. Each rule is refused in words or names watched tables and columns of theirs, and never hides a
// key: a rule that is taken in another way than it was meant would publish what should stay.
#include <algorithm>
#include <cassert>

#include "core/sql_text.hpp"
#include "server/serve.hpp"

using namespace litefeed;

namespace {

table_status table(std::string name, std::vector<std::string> key,
                   const std::vector<std::string>& columns) {
    table_status out;
    out.name = std::move(name);
    out.key = std::move(key);
    for (const auto& c : columns) out.columns.emplace_back(c, "TEXT");
    return out;
}

// Names that hold the separators of the rules.
const std::vector<table_status> tables{
    table("t", {"id"}, {"id", "a", "b.c", "x:y"}), table("t.a", {"id", "b"}, {"id", "b", "c"}),
    table("t:a", {"rowid"}, {"a", "b,c"}), table("", {"id"}, {"id", ""})};

void check(const std::map<std::string, std::vector<std::string>>& rules, bool hides,
           const std::string& text, char between) {
    for (const auto& [name, columns] : rules) {
        const auto of =
            std::find_if(tables.begin(), tables.end(),
                         [&, &called = name](const auto& t) { return t.name == called; });
        assert(of != tables.end());
        std::string again = name + between;
        for (const auto& column : columns) {
            // As SQLite compares names: a letter's case says nothing.
            const auto has = [&](const auto& c) { return same_name(c.first, column); };
            const auto is_column = [&](const auto& part) { return same_name(part, column); };
            assert(std::any_of(of->columns.begin(), of->columns.end(), has));
            if (hides) assert(std::none_of(of->key.begin(), of->key.end(), is_column));
            again += column + ',';
        }
        again.pop_back();
        assert(same_name(again, text));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    for (const bool hides : {true, false}) {
        const std::vector<std::string> rule{text}, none;
        try {
            const auto rules = server::read_column_rules(
                server::column_choice{hides ? rule : none, hides ? none : rule}, tables);
            assert(rules.hide.size() == (hides ? 1 : 0) && rules.only.size() == (hides ? 0 : 1));
            check(hides ? rules.hide : rules.only, hides, text, hides ? '.' : ':');
        } catch (const cannot& why) {
            assert(std::string_view(why.what()).starts_with(hides ? "--hide " : "--only "));
        }
    }
    return 0;
}
