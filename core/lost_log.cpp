#include "core/lost_log.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "core/marks.hpp"

namespace litefeed {

bool log_is_lost(const feed_writer& to, const meta& m) {
    log_reader log(to.db);
    stamp newest;
    for (const watched_table& t : to.tables()) {
        newest = std::max(newest, t.generation_at);
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
    return log.is_lost(m.floor, head, lowest, newest);
}

void begin_log_again(feed_writer& to, stamp seen, const meta& m, repair_report& report) {
    stamp known = std::max(seen, m.floor);
    const auto hold = [&](std::int64_t n) {
        if (stamp{n} < stamp_max) known = std::max(known, {n});
    };
    hold(m.seen_through.n);
    hold(to.db.integer("SELECT max(seq) FROM main.litefeed_log"));
    hold(to.db.integer("SELECT max(seq) FROM main.litefeed_consumers"));
    hold(mark_span - 1 + to.db.integer("SELECT max(seq) FROM main.litefeed_marks"));
    auto tables = to.tables();
    for (const watched_table& t : tables) hold(t.generation_at.n);
    to.db.execute("DELETE FROM main.litefeed_log");
    to.db.execute("DELETE FROM main.litefeed_marks");
    statement state = to.db.prepare(
        "UPDATE main.litefeed_meta SET floor = ?1, floor_digest = 0, folded = 0 WHERE id = 0");
    state.bind(1, known.n).run();
    to.wrote = true;
    // Entry 0 of no table holds the number where nothing is watched.
    (void)append_entry(to.db, 0, 'g', known);
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
    begin_log_again(to, known.at, m, report);
    return report;
}

std::string repair_installation(feed_writer& to) {
    const auto stands = [&](const char* table) {
        return to.db.integer(
                   "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND "
                   "rootpage > 0 AND name = '" +
                   std::string(table) + "'") > 0;
    };
    to.wrote = true;
    if (stands("litefeed_meta") && stands("litefeed_tables") && !stands("litefeed_log")) {
        create_log(to.db);
        std::size_t widest = 1;
        for (const watched_table& t : to.tables()) widest = std::max(widest, t.key_columns.size());
        widen_log(to.db, widest);
        return {};
    }
    (void)remove_format(to.db);
    return "litefeed's own tables were taken out of the file, so what was left of it was removed "
           "and nothing is watched any more: litefeed watch";
}

}  // namespace litefeed
