#include "core/value.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>

namespace litefeed {
namespace {

enum class value_class : unsigned char { null = 0, integer = 1, real = 2, text = 3, blob = 4 };

std::uint64_t get_u64(std::string_view bytes) {
    std::uint64_t n = 0;
    for (int i = 0; i < 8; ++i)
        n |= std::uint64_t{static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)])}
             << (8 * i);
    return n;
}

void put_class(value_class c, std::string& to) { to += static_cast<char>(c); }

void put_real(double d, std::string& to) {
    put_class(value_class::real, to);
    append_u64(std::bit_cast<std::uint64_t>(d == 0.0 ? 0.0 : d), to);
}

void put_bytes(value_class c, std::string_view bytes, std::string& to) {
    put_class(c, to);
    append_u64(bytes.size(), to);
    to += bytes;
}

void put_integer(std::int64_t n, std::string& to) {
    put_class(value_class::integer, to);
    append_u64(static_cast<std::uint64_t>(n), to);
}

bool contains(std::string_view upper, std::string_view word) {
    return upper.find(word) != std::string_view::npos;
}

}  // namespace

void append_u64(std::uint64_t n, std::string& to) {
    for (int i = 0; i < 8; ++i) to += static_cast<char>((n >> (8 * i)) & 0xff);
}

value column_value(const statement& row, int column) {
    switch (row.type(column)) {
        case SQLITE_INTEGER:
            return row.integer(column);
        case SQLITE_FLOAT:
            return row.real(column);
        case SQLITE_TEXT:
            return std::string(row.text(column));
        case SQLITE_BLOB:
            return blob_bytes{std::string(row.blob(column))};
        default:
            return std::monostate{};
    }
}

void bind_value(statement& to, int index, const value& v) {
    if (const auto* n = std::get_if<std::int64_t>(&v)) {
        to.bind(index, *n);
    } else if (const auto* d = std::get_if<double>(&v)) {
        to.bind(index, *d);
    } else if (const auto* t = std::get_if<std::string>(&v)) {
        to.bind_text(index, *t);
    } else if (const auto* b = std::get_if<blob_bytes>(&v)) {
        to.bind_blob(index, b->bytes);
    } else {
        to.bind_null(index);
    }
}

affinity affinity_of(std::string_view declared_type, bool strict_table) {
    std::string upper(declared_type);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (strict_table && upper == "ANY") return affinity::blob;
    if (contains(upper, "INT")) return affinity::integer;
    if (contains(upper, "CHAR") || contains(upper, "CLOB") || contains(upper, "TEXT"))
        return affinity::text;
    if (upper.empty() || contains(upper, "BLOB")) return affinity::blob;
    if (contains(upper, "REAL") || contains(upper, "FLOA") || contains(upper, "DOUB"))
        return affinity::real;
    return affinity::numeric;
}

std::string encode(const row_key& key) {
    std::string out;
    std::size_t size = key.size();
    while (size > 0 && std::holds_alternative<std::monostate>(key[size - 1])) --size;
    for (std::size_t i = 0; i < size; ++i) {
        if (const auto* n = std::get_if<std::int64_t>(&key[i])) {
            put_integer(*n, out);
        } else if (const auto* d = std::get_if<double>(&key[i])) {
            put_real(*d, out);
        } else if (const auto* t = std::get_if<std::string>(&key[i])) {
            put_bytes(value_class::text, *t, out);
        } else if (const auto* b = std::get_if<blob_bytes>(&key[i])) {
            put_bytes(value_class::blob, b->bytes, out);
        } else {
            put_class(value_class::null, out);
        }
    }
    return out;
}

void encode_columns(const statement& row, int first, int count, std::string& to) {
    while (count > 0 && row.is_null(first + count - 1)) --count;
    for (int i = first; i < first + count; ++i) {
        switch (row.type(i)) {
            case SQLITE_INTEGER:
                put_integer(row.integer(i), to);
                break;
            case SQLITE_FLOAT:
                put_real(row.real(i), to);
                break;
            case SQLITE_TEXT:
                put_bytes(value_class::text, row.text(i), to);
                break;
            case SQLITE_BLOB:
                put_bytes(value_class::blob, row.blob(i), to);
                break;
            default:
                put_class(value_class::null, to);
                break;
        }
    }
}

bool decode(std::string_view bytes, row_key& key, bool& cut) {
    key.clear();
    cut = false;
    while (!bytes.empty()) {
        const auto what = static_cast<value_class>(static_cast<unsigned char>(bytes.front()));
        bytes.remove_prefix(1);
        if (what == value_class::null) {
            key.emplace_back(std::monostate{});
            continue;
        }
        if (what > value_class::blob) return false;
        if (bytes.size() <
            8) {  // cut inside a number or a length: this value is unknown, those before it stand
            cut = true;
            return true;
        }
        const std::uint64_t n = get_u64(bytes);
        bytes.remove_prefix(8);
        if (what == value_class::integer) {
            key.emplace_back(static_cast<std::int64_t>(n));
        } else if (what == value_class::real) {
            const auto d = std::bit_cast<double>(n);
            // SQLite holds no NaN, and `encode` writes no -0.0.
            if (std::isnan(d) || (d == 0.0 && n != 0)) return false;
            key.emplace_back(d);
        } else {
            const std::string_view part = bytes.substr(0, n);
            cut = part.size() < n;
            if (what == value_class::text) {
                key.emplace_back(std::string(part));
            } else {
                key.emplace_back(blob_bytes{std::string(part)});
            }
            bytes.remove_prefix(part.size());
        }
    }
    return true;
}

}  // namespace litefeed
