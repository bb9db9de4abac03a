// Values and names as JSON. Each text is one line of JSON that any parser takes, and reads back as what SQLite holds
// ("Values" of the wire); two values of one column have the same text as keys only when they are the same key.
#include "core/json.hpp"

#include <fuzzer/FuzzedDataProvider.h>

#include <bit>
#include <cassert>
#include <limits>
#include <nlohmann/json.hpp>

using namespace litefeed;
using nlohmann::json;

namespace {

json parse(std::string_view text) {
    for (const char c : text) assert(static_cast<unsigned char>(c) >= 0x20);
    return json::parse(text);  // throws for text that is not UTF-8 as well
}

std::string from_hex(const std::string& hex) {
    std::string out;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return out;
}

value take_value(FuzzedDataProvider& in) {
    switch (in.ConsumeIntegralInRange(0, 6)) {
        case 0:
            return in.ConsumeIntegral<std::int64_t>();
        case 1:
            return static_cast<double>(in.ConsumeIntegral<std::int16_t>()) / 4;
        case 2:
            return in.ConsumeFloatingPoint<double>();
        case 3:
            return std::bit_cast<double>(in.ConsumeIntegral<std::int64_t>());
        case 4:
            return blob_bytes{in.ConsumeRandomLengthString(64)};
        case 5:
            return std::to_string(in.ConsumeIntegral<std::int64_t>());
        default:
            return in.ConsumeRandomLengthString(256);
    }
}

// What the wire's table says of a value that SQLite holds in a column of this affinity.
value read_back(const json& j, affinity declared) {
    if (j.is_null()) return {};
    if (j.is_number_integer()) {
        const auto n = j.get<std::int64_t>();
        assert(n > -(std::int64_t{1} << 53) && n < std::int64_t{1} << 53);
        return n;
    }
    if (j.is_number_float()) return j.get<double>();
    if (j.is_string()) {
        auto text = j.get<std::string>();
        const bool bare = declared == affinity::integer || declared == affinity::numeric;
        if (bare && text.size() >= 16 &&
            text.find_first_not_of("0123456789", text.front() == '-' ? 1 : 0) ==
                std::string::npos) {
            const json number = json::parse(text, nullptr, false);
            if (number.is_number_integer() && number.dump() == text) return std::stoll(text);
        }
        return text;
    }
    assert(j.is_object() && j.size() == 1);
    const auto& member = j.begin().key();
    const auto text = j.begin()->get<std::string>();
    if (member == "integer") return std::stoll(text);
    if (member == "text_hex") return from_hex(text);
    if (member == "blob_hex") return blob_bytes{from_hex(text)};
    assert(member == "real" && (text == "Infinity" || text == "-Infinity"));
    const double infinite = std::numeric_limits<double>::infinity();
    return text == "Infinity" ? infinite : -infinite;
}

// A database in memory with a column of each affinity.
struct columns {
    columns() {
        for (const char* type : {"BLOB", "TEXT", "NUMERIC", "INTEGER", "REAL"}) {
            const std::string name = std::string("t_") + type;
            db.execute("CREATE TABLE " + name + "(x " + type + ")");
            statements.push_back({db.prepare("INSERT INTO " + name + " VALUES(?1), (?2)"),
                                  db.prepare("SELECT x FROM " + name + " ORDER BY rowid"),
                                  db.prepare("DELETE FROM " + name)});
        }
    }
    struct of_one {
        statement insert, select, clear;
    };
    connection db{":memory:", connection::access::read_write, 0};
    std::vector<of_one> statements;  // in order of `affinity`
};

// Two values as one column holds them, and their texts as keys.
void check_values(const value& a, const value& b, affinity declared) {
    static columns all;
    auto& [insert, select, clear] = all.statements[static_cast<std::size_t>(declared)];
    clear.run();
    insert.reset();
    bind_value(insert, 1, a);
    bind_value(insert, 2, b);
    insert.run();
    std::vector<value> held;
    std::vector<std::string> keys;
    const use rows(select);
    while (select.step()) {
        held.push_back(column_value(select, 0));
        std::string as_row;
        append_json(select, 0, declared, as_row);
        const value read = read_back(parse(as_row), declared);
        assert(read == held.back());
        if (const auto* d = std::get_if<double>(&read))
            assert(std::signbit(*d) == std::signbit(std::get<double>(held.back())));
        append_json(held.back(), declared, keys.emplace_back());
        assert(read_back(parse(keys.back()), declared) == held.back());
    }
    assert((held[0] == held[1]) == (keys[0] == keys[1]));
}

void check_name(std::string_view name) {
    std::string text;
    append_json_text(name, text);
    const auto read = parse(text).get<std::string>();
    assert(is_utf8(read) && is_utf8(name) == (read == name));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    check_name({reinterpret_cast<const char*>(data), size});
    FuzzedDataProvider in(data, size);
    const auto declared = static_cast<affinity>(in.ConsumeIntegralInRange(0, 4));
    const value a = take_value(in);
    // Near one another, so that equal texts would show.
    const value b = in.ConsumeBool() ? take_value(in) : a;
    check_values(a, b, declared);
    return 0;
}
