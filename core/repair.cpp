#include "core/repair.hpp"

#include "core/capture.hpp"
#include "core/damage.hpp"
#include "core/log.hpp"
#include "core/lost_log.hpp"
#include "core/schema.hpp"
#include "core/schema_drift.hpp"

namespace litefeed {
namespace {

using verdict = capture_state::verdict;

// Tells readers that the table is gone, and remembers why it is not captured.
void tell_gone(feed_writer& to, watched_table& t, const std::string& problem) {
    if (t.problem == problem) return;
    t.problem = problem;
    to.end_table(t);
}

void rename(feed_writer& to, watched_table& t, const capture_state& state, repair_report& report) {
    t.watched = false;
    t.problem = state.why;  // rules for the old name hold for the new one, too
    to.end_table(t);
    report.dropped.push_back(t.name);
    // One that was dropped for it may have borne the name, and is captured under it again.
    if (names_watched(to.tables(), state.now_called)) return;
    watched_table successor = to.fresh(state.now_called, t.options);
    successor.keeping = t.keeping;
    successor.contract = t.contract;
    begin_again(to, successor, reset_reason::enabled, report);
}

// Up to where capture was in order for certain. What a reader saw counts in the history that it saw only: the file may
// have been restored since.
stamp verified_through(const connection& db, const meta& m, const rest_cursor& seen) {
    const bool leads_through = log_reader(db).cursor_at(seen.at, m) == seen;
    return leads_through ? std::max(seen.at, m.seen_through) : m.seen_through;
}

// Also where it may have been thinned away.
bool has_entry_after(const connection& db, std::int64_t table_id, stamp seen) {
    if (seen < read_meta(db).floor) return true;
    statement row =
        db.prepare("SELECT 1 FROM main.litefeed_log WHERE seq > ?1 AND table_id = ?2 LIMIT 1");
    return row.bind(1, seen.n).bind(2, table_id).step();
}

void repair_table(feed_writer& to, watched_table& t, const capture_state& state, stamp seen,
                  repair_report& report) {
    if (state.what == verdict::gone) {
        if (t.problem != state.why) report.dropped.push_back(t.name);
        tell_gone(to, t, state.why);
        return;
    }
    if (state.what == verdict::renamed) {
        rename(to, t, state, report);
        return;
    }
    const inspected_table now = watchable(to.db, read_schema(to.db), t.name, t.options);
    if (!now.definition) {
        if (t.problem != now.refused) report.problems.push_back(t.name + ": " + now.refused);
        tell_gone(to, t, now.refused);
        return;
    }
    if (state.what == verdict::guards_differ && !has_entry_after(to.db, t.table_id, seen)) {
        create_capture(to.db, *now.definition, t.table_id, t.options);
        to.wrote = true;
        return;
    }
    to.capture_anew(t, *now.definition,
                    state.what == verdict::reshaped ? reset_reason::schema_changed
                                                    : reset_reason::triggers_restored);
    report.generations.emplace_back(t.name, t.reason);
}

// A later litefeed may have come while this one had the file open.
void refuse_newer(const connection& db) {
    if (format_of(db) > format_number)
        throw boost::system::system_error(make_error_code(errc::newer_format));
}

// Somebody took a table out of litefeed_tables, and its triggers stand: its readers were told nothing.
void list_again(feed_writer& to, repair_report& report) {
    const schema at = read_schema(to.db);
    for (watched_table& t : unlisted_captures(to.db, at, to.tables())) {
        drop_capture(to.db, at, t.table_id);
        to.wrote = true;
        if (const auto listed = to.tables(); names_watched(listed, t.name)) continue;
        begin_again(to, t, reset_reason::feed_restored, report);
    }
}

}  // namespace

void begin_again(feed_writer& to, watched_table& t, reset_reason why, repair_report& report) {
    const inspected_table now = watchable(to.db, read_schema(to.db), t.name, t.options);
    if (!now.definition) {
        report.problems.push_back(t.name + ": " + now.refused);
        return;
    }
    to.capture_anew(t, *now.definition, why);
    report.generations.emplace_back(t.name, t.reason);
}

repair_report repair(feed_writer& to, const rest_cursor& seen) {
    repair_report report;
    refuse_newer(to.db);
    const schema at = read_schema(to.db);
    if (is_installed(to.db) && create_side_tables(to.db)) to.wrote = true;
    if (is_damaged(to.db)) {
        begin_feed_again(to, seen.at, report);
        return report;
    }
    if (log_is_lost(to, read_meta(to.db))) begin_log_again(to, seen.at, report);
    const stamp in_order_through = verified_through(to.db, read_meta(to.db), seen);
    const schema verified = read_verified_schema(to.db);
    // The sight itself is worth keeping: what comes later is judged against it.
    if (at.version != verified.version) to.wrote = true;
    const unseen_edits unseen = unseen_between(verified, at);
    for (watched_table& t : to.tables()) {
        if (!t.watched) continue;
        const capture_state state = judge_capture(to.db, read_schema(to.db), t, unseen);
        if (state.what == verdict::whole && t.problem.empty()) continue;
        repair_table(to, t, state, in_order_through, report);
    }
    list_again(to, report);
    return report;
}

}  // namespace litefeed
