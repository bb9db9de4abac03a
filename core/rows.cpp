#include "core/rows.hpp"

#include "core/cursor_check.hpp"
#include "core/first_read.hpp"

namespace litefeed {
namespace {

[[noreturn]] void fail(errc e) { throw boost::system::system_error(make_error_code(e)); }

}  // namespace

rows_page answer_rows(const feed_view::snapshot& now, const rows_question& q) {
    if (!now.installed()) fail(errc::unknown_table);
    catalog_table* t = now.tables().live(q.table);
    if (t == nullptr && now.tables().unknown({{q.table}})) fail(errc::unknown_table);
    rows_page out;
    out.head = now.head();
    out.version = now.version();
    page_cursor place;
    place.ceiling = now.here();
    reading_place at;
    if (!q.after.empty()) {
        const auto parsed = parse_position(q.after);
        const auto* page = parsed ? std::get_if<page_cursor>(&*parsed) : nullptr;
        const auto* reading = page != nullptr ? std::get_if<reading_place>(&page->phase) : nullptr;
        if (reading == nullptr || page->base) fail(errc::malformed_cursor);
        if (now.gone() || check_cursor(now, *page)) fail(errc::page_gone);
        place = *page;
        at = *reading;
        if (t == nullptr || t->row.generation_at > place.ceiling.at) fail(errc::page_gone);
        if (at.table_id != t->row.table_id) fail(errc::malformed_cursor);
    }
    const stamp seen = place.highest.at;
    place.highest = now.here();
    out.cursor = to_text(place.ceiling);
    if (!q.known_version.empty() && q.known_version == out.version) {
        out.unchanged = true;
        return out;
    }
    if (t == nullptr) return out;  // known to the log, not there at the moment
    out.rows.tables = {t->row.name};
    at.table_id = t->row.table_id;
    at.begun = true;
    std::int64_t effort = 0;
    const auto spend = [&] {
        if (q.effort_max > 0 && ++effort > q.effort_max) fail(errc::too_long);
    };
    const auto full = [&] {
        return out.rows.changes.size() >= static_cast<std::size_t>(q.rows_max) ||
               out.rows.bytes.size() >= q.bytes_max;
    };
    if (!read_on({now, *t, seen}, at, 0, out.rows, full, spend)) {
        place.phase = at;
        out.next = to_text(place);
    }
    return out;
}

}  // namespace litefeed
