#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>
#include <stdexcept>

namespace litefeed {

/// What a caller of the core can act on. SQLite's own refusals travel in `sqlite_category()` instead.
enum class errc {
    busy = 1,  ///< another connection holds a lock, or the read was interrupted; ask again later
    malformed_cursor,  ///< the text is no cursor and no page token of ours
    unknown_table,     ///< a name in the selection is not watched and never was
    page_gone,     ///< a /rows page token whose file was restored or whose table began anew since
    too_long,      ///< the read would exceed `effort_max`; ask again where blocking is allowed
    drifted,       ///< the schema moved under the capture; `keeper::repair` first, then ask again
    newer_format,  ///< the file was written by a later litefeed
    damaged,       ///< litefeed's own tables in the file hold what litefeed never writes
};

const boost::system::error_category& litefeed_category() noexcept;
/// Values are SQLite's (extended) result codes; messages go on after "cannot read FILE: ", its own where they say enough.
const boost::system::error_category& sqlite_category() noexcept;

inline boost::system::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), litefeed_category()};
}

using boost::system::error_code;
template <class T>
using result = boost::system::result<T>;

/// "We cannot start or do what the command asked", in one sentence that says what to do. Thrown only by the functions
/// that open, watch and unwatch; `main` prints it and exits 1.
class cannot : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The same, for what passes by itself: another program's lock, a full disk. A server goes on and tries again.
class not_now : public cannot {
  public:
    using cannot::cannot;
};

}  // namespace litefeed

template <>
struct boost::system::is_error_code_enum<litefeed::errc> : std::true_type {};
