#include "core/log.hpp"

#include <xxhash.h>

#include "core/value.hpp"

namespace litefeed {
std::uint32_t entry_digest(std::int64_t table_id, char op, std::int64_t at_ms,
                           std::string_view encoded_key) {
    std::string bytes;
    bytes.reserve(17 + encoded_key.size());
    append_u64(static_cast<std::uint64_t>(table_id), bytes);
    bytes += op;
    append_u64(static_cast<std::uint64_t>(at_ms), bytes);
    bytes += encoded_key;
    return static_cast<std::uint32_t>(XXH64(bytes.data(), bytes.size(), 0) >> 32);
}

log_reader::log_reader(const connection& db)
    : key_width_(static_cast<int>(log_key_parts(db))), marks_(db) {
    const std::string key = log_key_columns(static_cast<std::size_t>(key_width_));
    entry_ = prepare_own(
        db, "SELECT table_id, op, at_ms, " + key + " FROM main.litefeed_log WHERE seq = ?1");
    range_ =
        prepare_own(db, "SELECT seq, table_id, op, " + key +
                            " FROM main.litefeed_log WHERE seq > ?1 AND seq <= ?2 ORDER BY seq");
}

bool log_reader::walk::to(stamp at) {
    // A step is cheaper than a search, so entries that stand near are reached by steps.
    constexpr std::int64_t steps_max = 4;
    if (standing_.n == 0 || at.n - standing_.n > steps_max) {
        entries_->reset();
        entries_->bind(1, at.n - 1).bind(2, stamp_max.n);
        standing_ = {};
    }
    while (standing_ < at) {
        standing_ = entries_->step() ? stamp{entries_->integer(0)} : stamp{};
        if (standing_ == stamp{}) return false;
    }
    return standing_ == at;
}

std::optional<std::uint32_t> log_reader::digest_at(stamp at) {
    use row(entry_);
    row->bind(1, at.n);
    if (!row->step()) return marks_.digest_at(at);
    std::string key;
    encode_columns(entry_, 3, key_width_, key);
    const std::string_view op = row->text(1);
    return entry_digest(row->integer(0), op.empty() ? ' ' : op.front(), row->integer(2), key);
}

std::optional<std::int64_t> log_reader::time_at(stamp at) {
    use row(entry_);
    row->bind(1, at.n);
    if (!row->step()) return std::nullopt;
    return row->integer(2);
}

// Thinning takes entries from the log's beginning and raises the floor, or leaves their digests; and never the newest. So
// a beginning that is not there, or a head below one that was there, is a log that somebody cut.
bool log_reader::is_lost(stamp floor, stamp head, stamp lowest, stamp known) {
    if (head < known) return true;
    if (lowest == stamp{}) return floor.n > 0;
    const stamp first{floor.n + 1};
    return lowest != first && !marks_.digest_at(first);
}

bool log_reader::holds_generation(std::int64_t table_id, stamp at, stamp floor) {
    if (at <= floor) return true;
    use row(entry_);
    row->bind(1, at.n);
    if (!row->step()) return marks_.digest_at(at).has_value();
    return row->integer(0) == table_id && row->text(1) == "g";
}

rest_cursor log_reader::cursor_at(stamp at, const meta& m) {
    rest_cursor out{at, m.short_lineage(), 0};
    if (at == m.floor) {
        out.digest = m.floor_digest;
    } else if (const auto digest = digest_at(at)) {
        out.digest = *digest;
    }
    return out;
}

stamp append_entry(const connection& db, std::int64_t table_id, char op, stamp above) {
    statement row = db.prepare(
        "INSERT INTO main.litefeed_log(seq, table_id, op, at_ms) VALUES(1 + max(?3, "
        "(SELECT coalesce(max(seq), 0) FROM main.litefeed_log)), ?1, ?2, " +
        std::string(now_ms_sql) + ")");
    row.bind(1, table_id).bind_text(2, std::string_view(&op, 1)).bind(3, above.n).run();
    return {sqlite3_last_insert_rowid(db.get())};
}

}  // namespace litefeed
