#include "core/damage.hpp"

#include <algorithm>

#include "core/capture.hpp"
#include "core/log.hpp"
#include "core/lost_log.hpp"
#include "core/own_names.hpp"
#include "core/schema.hpp"
#include "core/schema_drift.hpp"

namespace litefeed {
namespace {

// A number that SQLite can read, whatever stands in the way.
std::int64_t number(const connection& db, const std::string& sql) {
    try {
        statement row = prepare_own(db, sql);
        return row.step() ? row.integer(0) : 0;
    } catch (const boost::system::system_error&) {
        return 0;
    }
}

// What bears one of our names and is no table of ours: DROP and INSERT would mean another thing.
bool is_forged(const schema& at) {
    return std::any_of(at.entries.begin(), at.entries.end(), [](const schema_entry& e) {
        const bool is_virtual = e.type == "table" && e.root_page == 0;
        return (e.type == "view" || is_virtual) && is_own_table(e.name);
    });
}

struct remains {
    std::vector<watched_table> tables;
    std::vector<watched_table> renamed;  // under their old names, for the rules of columns
    std::int64_t retention_s = 0, entries_max = 0;  // 0: as in a new file
};

std::vector<watched_table> rows_that_can_be_read(const connection& db) {
    try {
        return read_tables(db);
    } catch (const boost::system::system_error&) {
        return {};
    }
}

remains what_is_left(const connection& db) {
    remains out;
    const auto rows = rows_that_can_be_read(db);
    for (const watched_table& t : rows) {
        if (t.name.empty()) continue;
        if (t.watched) out.tables.push_back(t);
        if (is_renamed(t)) out.renamed.push_back(t);
    }
    for (watched_table& t : unlisted_captures(db, read_schema(db), out.tables))
        out.tables.push_back(std::move(t));
    out.retention_s = number(db, "SELECT retention_s FROM main.litefeed_meta WHERE id = 0");
    out.entries_max = number(db, "SELECT entries_max FROM main.litefeed_meta WHERE id = 0");
    return out;
}

void put_settings_back(const connection& db, const remains& r) {
    statement row =
        prepare_own(db,
                    "UPDATE main.litefeed_meta SET retention_s = CASE WHEN ?1 > 0 THEN ?1 ELSE "
                    "retention_s END, "
                    "entries_max = CASE WHEN ?2 > 0 THEN ?2 ELSE entries_max END WHERE id = 0");
    row.bind(1, r.retention_s).bind(2, r.entries_max).run();
}

}  // namespace

bool is_damaged(const connection& db) {
    if (installation_of(db) != installation::whole || is_forged(read_schema(db))) return true;
    try {
        const meta m = read_meta(db);
        const log_reader log(db);
        (void)read_verified_schema(db);
        (void)prepare_own(db, "SELECT min(seq) FROM main.litefeed_consumers");
        const stamp head{db.integer("SELECT max(seq) FROM main.litefeed_log")};
        return !is_sound(m, std::max(head, m.floor)) || !is_sound(read_tables(db));
    } catch (const boost::system::system_error& e) {
        if (e.code() != make_error_code(errc::damaged)) throw;
        return true;
    }
}

void begin_feed_again(feed_writer& to, stamp seen, repair_report& report) {
    const remains left = what_is_left(to.db);
    const stamp known = highest_told(to.db, seen);
    (void)remove_format(to.db);
    install_format(to.db);
    put_settings_back(to.db, left);
    begin_log_above(to, known);
    for (const watched_table& before : left.tables) {
        if (names_watched(to.tables(), before.name)) continue;
        watched_table t = to.fresh(before.name, before.options);
        t.keeping = before.keeping;
        begin_again(to, t, reset_reason::feed_restored, report);
    }
    for (const watched_table& before : left.renamed) {
        watched_table t = to.fresh(before.name, before.options);
        t.watched = false;
        t.key_columns = before.key_columns;
        t.problem = before.problem;
        if (t.key_columns.empty()) t.key_columns = {"rowid"};
        write_table(to.db, t);
    }
}

}  // namespace litefeed
