#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/sqlite.hpp"
#include "core/stamp.hpp"

namespace litefeed {

/// The digests of folded entries, so that a cursor that stands on one is still checked. A row of litefeed_marks holds
/// those of `mark_span` stamps from its `seq` on, 4 bytes each, little endian; 0 where nothing was folded. In the caller's
/// transaction; throws sqlite_error.
inline constexpr std::int64_t mark_span = 1024;

class mark_reader {
  public:
    explicit mark_reader(const connection& db);
    /// The digest of the entry that was folded at `at`; none when none was.
    [[nodiscard]] std::optional<std::uint32_t> digest_at(stamp at);
    /// How many folded entries stand in (after, through].
    [[nodiscard]] std::int64_t count(stamp after, stamp through);

  private:
    statement find_, range_;
};

using folded_entry = std::pair<stamp, std::uint32_t>;  ///< with its digest
/// Keeps what `folded` holds, in order of stamp.
void keep_marks(const connection& db, const std::vector<folded_entry>& folded);
/// Drops the rows that hold nothing above `floor`.
void drop_marks_below(const connection& db, stamp floor);

}  // namespace litefeed
