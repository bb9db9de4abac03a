#include "core/plan.hpp"

#include <xxhash.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/value.hpp"

namespace litefeed {
namespace {

constexpr std::size_t plans_max = 8;
// A longer name is kept as 128 bits of its hash: keys of megabytes would fill the memory.
constexpr std::size_t name_bytes_max = 256;
constexpr std::size_t planned_changes_max = 4'000'000;  // 64 MB over all plans

// What the entries seen so far say of one row.
struct row_entries {
    std::int64_t table_id{};
    stamp last, last_touch;
    bool decided = false, held = true;

    void add(stamp at, char op) {
        if (op == 't') {
            last_touch = at;
        } else {
            last = at;
        }
        if (op == 'u' || decided) return;
        decided = true;
        held = op != 'i';
    }
    [[nodiscard]] planned_change planned() const {
        const bool only_touched = last == stamp{};
        return {only_touched ? last_touch : last, held, only_touched, false};
    }
};

// What tells the rows of all tables apart. With the table's number of four bytes, and not of eight, an integer key's
// name is short enough for a string that allocates nothing.
std::string row_name(std::uint32_t table, const statement& row, int first_key_column, int width) {
    std::string out(reinterpret_cast<const char*>(&table), sizeof table);
    encode_columns(row, first_key_column, width, out);
    if (out.size() > name_bytes_max) {
        const XXH128_hash_t hash = XXH3_128bits(out.data(), out.size());
        const std::size_t size = out.size();
        out.assign(reinterpret_cast<const char*>(&hash), sizeof hash);
        out.append(reinterpret_cast<const char*>(&size), sizeof size);
        out.shrink_to_fit();
    }
    return out;
}

struct hash_of_name {
    std::size_t operator()(const std::string& name) const noexcept {
        return XXH3_64bits(name.data(), name.size());
    }
};

}  // namespace

delta_plan delta_plan::make(log_reader& log, stamp base, stamp ceiling,
                            const std::vector<std::int64_t>& tables, std::int64_t effort_max) {
    std::unordered_map<std::string, std::size_t, hash_of_name> index;
    std::vector<row_entries> rows;
    std::map<std::int64_t, stamp> truncated;  // table → its last `x`
    std::int64_t entries = 0;
    log.scan(
        base, ceiling,
        [&](stamp at, std::int64_t table_id, char op, const statement& row, int first_key_column) {
            if (++entries > effort_max && effort_max > 0)
                throw boost::system::system_error(make_error_code(errc::too_long));
            const auto table = std::lower_bound(tables.begin(), tables.end(), table_id);
            if (table == tables.end() || *table != table_id) return;
            if (op == 'x') truncated[table_id] = at;
            if (op != 'i' && op != 'u' && op != 'd' && op != 't') return;
            const auto number = static_cast<std::uint32_t>(table - tables.begin());
            const auto [found, is_new] = index.try_emplace(
                row_name(number, row, first_key_column, log.key_width()), rows.size());
            if (is_new) rows.push_back({.table_id = table_id, .last = {}, .last_touch = {}});
            rows[found->second].add(at, op);
        });
    delta_plan out;
    // Stamps follow each other without a gap, as rowids do, and what was folded left its mark.
    const std::int64_t missing = ceiling.n - base.n - entries;
    out.has_gap_ = missing != 0 && missing != log.count_folded(base, ceiling);
    for (const row_entries& r : rows) {
        if (truncated.find(r.table_id) == truncated.end()) out.changes_.push_back(r.planned());
    }
    for (const auto& [table_id, at] : truncated) out.changes_.push_back({at, false, false, true});
    std::sort(out.changes_.begin(), out.changes_.end(),
              [](const auto& a, const auto& b) { return a.at < b.at; });
    return out;
}

std::shared_ptr<const delta_plan> plan_cache::find(const key& k) {
    const auto found = plans_.find(k);
    if (found == plans_.end()) return nullptr;
    found->second.used = ++clock_;
    return found->second.plan;
}

void plan_cache::put(key k, std::shared_ptr<const delta_plan> plan) {
    plans_[std::move(k)] = {std::move(plan), ++clock_};
    const auto total = [this] {
        std::size_t n = 0;
        for (const auto& [name, e] : plans_) n += e.plan->changes().size();
        return n;
    };
    while (plans_.size() > 1 && (plans_.size() > plans_max || total() > planned_changes_max)) {
        plans_.erase(std::min_element(
            plans_.begin(), plans_.end(),
            [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
    }
}

}  // namespace litefeed
