#include "core/lost_log.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "core/marks.hpp"

namespace litefeed {
bool log_is_lost(const feed_writer& to, const meta& m) {
    log_reader log(to.db);
    stamp known = m.seen_through;
    for (const watched_table& t : to.tables()) {
        known = std::max(known, t.generation_at);
        if (!log.holds_generation(t.table_id, t.generation_at, m.floor)) return true;
    }
    statement row = prepare_own(
        to.db,
        "SELECT coalesce(max(seq), 0), (SELECT coalesce(min(seq), 0) FROM main.litefeed_log "
        "WHERE seq > ?1) FROM main.litefeed_log");
    row.bind(1, m.floor.n);
    if (!row.step()) return false;
    const stamp head{row.integer(0)}, lowest{row.integer(1)};
    row.reset();
    return log.is_lost(m.floor, std::max(head, m.floor), lowest, known);
}

stamp highest_told(const connection& db, stamp seen) {
    stamp known = std::min(seen, stamp_believed_max);
    for (const char* sql :
         {"SELECT max(floor) FROM main.litefeed_meta WHERE floor <= ?1",
          "SELECT max(seen_through) FROM main.litefeed_meta WHERE seen_through <= ?1",
          "SELECT max(generation_seq) FROM main.litefeed_tables WHERE generation_seq <= ?1",
          "SELECT max(seq) FROM main.litefeed_log WHERE seq <= ?1",
          "SELECT max(seq) FROM main.litefeed_consumers WHERE seq <= ?1",
          "SELECT max(seq) + 1023 FROM main.litefeed_marks WHERE seq <= ?1"}) {
        try {
            statement row = prepare_own(db, sql);
            if (row.bind(1, stamp_believed_max.n).step()) known = std::max(known, {row.integer(0)});
        } catch (const boost::system::system_error&) {  // NOLINT(bugprone-empty-catch)
            // The table is gone, and others hold the number.
        }
    }
    return known;
}

void begin_log_above(feed_writer& to, stamp known) {
    to.db.execute("DELETE FROM main.litefeed_log");
    to.db.execute("DELETE FROM main.litefeed_marks");
    statement state = to.db.prepare(
        "UPDATE main.litefeed_meta SET floor = ?1, floor_digest = 0, folded = 0 WHERE id = 0");
    state.bind(1, known.n).run();
    to.wrote = true;
    // Entry 0 of no table holds the number where nothing is watched.
    (void)append_entry(to.db, 0, 'g', known);
}

void begin_log_again(feed_writer& to, stamp seen, repair_report& report) {
    auto tables = to.tables();
    begin_log_above(to, highest_told(to.db, seen));
    for (watched_table& t : tables) {
        if (!t.watched || !t.problem.empty()) continue;
        to.begin_generation(t, reset_reason::feed_restored);
        report.generations.emplace_back(t.name, t.reason);
    }
}

repair_report begin_lineage(feed_writer& to, const rest_cursor& known) {
    repair_report report;
    const meta m = read_meta(to.db);
    if (m.short_lineage() != known.lineage || known.at <= m.floor) return report;
    if (log_reader(to.db).cursor_at(known.at, m) == known) return report;
    statement draw = prepare_own(to.db, "UPDATE main.litefeed_meta SET lineage = ?1 WHERE id = 0");
    draw.bind_text(1, random_lineage()).run();
    begin_log_again(to, known.at, report);
    return report;
}

}  // namespace litefeed
