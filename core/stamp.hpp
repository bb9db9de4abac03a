#pragma once

#include <compare>
#include <cstdint>
#include <ostream>

namespace litefeed {

/// The place of one log entry in commit order. The first is 1; 0 is "before everything".
struct stamp {
    std::int64_t n{};
    friend auto operator<=>(stamp, stamp) = default;
    friend std::ostream& operator<<(std::ostream& out, stamp s) { return out << "stamp " << s.n; }
};

/// Above this a JavaScript number rounds; a log whose head reached it is refused: SQLite hands out random numbers once the last one is used.
inline constexpr stamp stamp_max{(std::int64_t{1} << 53) - 1};
/// A higher number in the file is nobody's: no log gets there, and one that somebody wrote must not use up what is left.
inline constexpr stamp stamp_believed_max{std::int64_t{1} << 52};

}  // namespace litefeed
