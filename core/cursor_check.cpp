#include "core/cursor_check.hpp"

namespace litefeed {

std::optional<reset_reason> check_cursor(const feed_view::snapshot& now, stamp at) {
    if (at > now.head()) return reset_reason::ahead_of_head;
    if (at < now.state().floor) return reset_reason::below_floor;
    return std::nullopt;
}

std::optional<reset_reason> check_cursor(const feed_view::snapshot& now, const rest_cursor& at) {
    if (at.at > now.head()) return reset_reason::ahead_of_head;
    if (at.lineage != now.state().short_lineage()) return reset_reason::restored;
    if (at.at < now.state().floor) return reset_reason::below_floor;
    if (at != now.cursor_at(at.at)) return reset_reason::restored;
    return std::nullopt;
}

std::optional<reset_reason> check_cursor(const feed_view::snapshot& now, const page_cursor& at) {
    if (at.base) {
        if (const auto why = check_cursor(now, *at.base)) return why;
    }
    if (const auto why = check_cursor(now, at.highest)) {
        // Between a floor that rose and a run that began below it: only the base decides, and it was checked.
        if (*why != reset_reason::below_floor) return why;
    }
    const auto why = check_cursor(now, at.ceiling);
    return why == reset_reason::below_floor && at.base ? std::nullopt : why;
}

}  // namespace litefeed
