#include "core/marks.hpp"

#include <algorithm>
#include <string>

#include "core/format.hpp"

namespace litefeed {
namespace {

constexpr std::size_t digest_bytes = 4;
constexpr std::size_t row_bytes = digest_bytes * static_cast<std::size_t>(mark_span);

stamp row_of(stamp at) { return {at.n - at.n % mark_span}; }
std::size_t place_of(stamp at) { return digest_bytes * static_cast<std::size_t>(at.n % mark_span); }

std::uint32_t digest_in(std::string_view bytes, std::size_t place) {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < digest_bytes; ++i)
        out |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[place + i])) << (8 * i);
    return out;
}

}  // namespace

mark_reader::mark_reader(const connection& db)
    : find_(prepare_own(db, "SELECT digests FROM main.litefeed_marks WHERE seq = ?1")),
      range_(prepare_own(
          db, "SELECT seq, digests FROM main.litefeed_marks WHERE seq >= ?1 AND seq <= ?2")) {}

std::optional<std::uint32_t> mark_reader::digest_at(stamp at) {
    use row(find_);
    row->bind(1, row_of(at).n);
    if (!row->step()) return std::nullopt;
    const std::string_view bytes = row->blob(0);
    if (bytes.size() != row_bytes) return std::nullopt;
    const std::uint32_t digest = digest_in(bytes, place_of(at));
    return digest != 0 ? std::optional(digest) : std::nullopt;
}

std::int64_t mark_reader::count(stamp after, stamp through) {
    use rows(range_);
    rows->bind(1, row_of({after.n + 1}).n).bind(2, through.n);
    std::int64_t out = 0;
    while (rows->step()) {
        const std::string_view bytes = rows->blob(1);
        if (bytes.size() != row_bytes) continue;
        const stamp first = std::max(stamp{rows->integer(0)}, stamp{after.n + 1});
        const stamp last = std::min(stamp{rows->integer(0) + mark_span - 1}, through);
        for (stamp at = first; at <= last; ++at.n) out += digest_in(bytes, place_of(at)) != 0;
    }
    return out;
}

void keep_marks(const connection& db, const std::vector<folded_entry>& folded) {
    statement find = prepare_own(db, "SELECT digests FROM main.litefeed_marks WHERE seq = ?1");
    statement put =
        prepare_own(db, "INSERT OR REPLACE INTO main.litefeed_marks(seq, digests) VALUES(?1, ?2)");
    for (auto next = folded.begin(); next != folded.end();) {
        const stamp row = row_of(next->first);
        find.bind(1, row.n);
        std::string bytes = find.step() ? std::string(find.blob(0)) : std::string();
        find.reset();
        bytes.resize(row_bytes);
        for (; next != folded.end() && row_of(next->first) == row; ++next) {
            for (std::size_t i = 0; i < digest_bytes; ++i)
                bytes[place_of(next->first) + i] = static_cast<char>(next->second >> (8 * i));
        }
        put.bind(1, row.n).bind_blob(2, bytes).run();
    }
}

void drop_marks_below(const connection& db, stamp floor) {
    statement drop = prepare_own(db, "DELETE FROM main.litefeed_marks WHERE seq + ?1 <= ?2 + 1");
    drop.bind(1, mark_span).bind(2, floor.n).run();
}

}  // namespace litefeed
