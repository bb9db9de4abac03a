#include "core/first_read.hpp"

#include <xxhash.h>

namespace litefeed {
namespace {

// The whole key, by its hash, of a row that was there at `seen` and is there no more: an entry since then holds it.
std::optional<row_key> find_gone_key(const first_read& read, std::uint64_t hash,
                                     const std::function<void()>& spend) {
    const catalog_table& t = read.table;
    const auto size = static_cast<int>(t.definition->key.size());
    std::optional<row_key> out;
    read.now.log().scan(
        read.seen, read.now.head(),
        [&](stamp, std::int64_t table_id, char, const statement& row, int key_column) {
            spend();
            if (out || table_id != t.row.table_id) return;
            std::string encoded;
            encode_columns(row, key_column, size, encoded);
            if (XXH64(encoded.data(), encoded.size(), 0) != hash) return;
            out.emplace();
            for (int i = 0; i < size; ++i) out->push_back(column_value(row, key_column + i));
        });
    return out;
}

}  // namespace

bool read_on(const first_read& read, reading_place& at, std::uint32_t name, delta& to,
             const std::function<bool()>& full, const std::function<void()>& spend) {
    row_reader& rows = *read.table.rows;
    row_reader::place last{at.last_key, at.cut, at.last_key_hash};
    const auto gone = [&](std::uint64_t hash) { return find_gone_key(read, hash, spend); };
    bool complete = true;
    rows.scan(last, gone, [&](const statement& row, int key_column) {
        if (full()) {
            complete = false;
            return false;
        }
        spend();
        change c{name, change_op::read, {}, {}, {}, 0};
        c.key = rows.append_key(row, key_column, to.bytes);
        rows.append_row(row, key_column, c, to.bytes);
        to.changes.push_back(c);
        last = rows.place_of(row, key_column);
        return true;
    });
    at.last_key = std::move(last.last_key);
    at.cut = last.cut;
    at.last_key_hash = last.hash;
    return complete;
}

}  // namespace litefeed
