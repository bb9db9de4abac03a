#include "core/feed_writer.hpp"

#include "core/capture.hpp"
#include "core/log.hpp"
#include "core/schema.hpp"

namespace litefeed {
namespace {

std::vector<std::string> key_names(const table_definition& t) {
    std::vector<std::string> out;
    for (const key_column& k : t.key) out.push_back(k.name);
    return out;
}

}  // namespace

std::vector<watched_table> feed_writer::tables() const {
    std::vector<watched_table> out = read_tables(db);
    if (!is_sound(out)) throw boost::system::system_error(make_error_code(errc::damaged));
    return out;
}

watched_table feed_writer::fresh(const std::string& name, const watch_options& options) const {
    watched_table t;
    t.table_id = db.integer("SELECT coalesce(max(table_id), 0) + 1 FROM main.litefeed_tables");
    t.name = name;
    t.watched = true;
    t.options = options;
    return t;
}

void feed_writer::begin_generation(watched_table& t, reset_reason why) {
    t.reason = to_word(why);
    t.generation += 1;
    t.generation_id = random_hex(16);
    t.generation_at = append_entry(db, t.table_id, 'g');
    write_table(db, t);
    wrote = true;
}

void feed_writer::capture_anew(watched_table& t, const table_definition& now, reset_reason why) {
    widen_log(db, now.key.size());
    create_capture(db, now, t.table_id, t.options);
    t.key_columns = key_names(now);
    t.shape = shape_digest(now);
    t.problem.clear();
    begin_generation(t, why);
}

void feed_writer::end_table(const watched_table& t) {
    drop_capture(db, read_schema(db), t.table_id);
    append_entry(db, t.table_id, 'x');
    write_table(db, t);
    wrote = true;
}

void feed_writer::remember_schema() const {
    const schema now = read_schema(db);
    db.execute("DELETE FROM main.litefeed_schema");
    statement row = db.prepare(
        "INSERT INTO main.litefeed_schema(place, type, name, tbl_name, rootpage, sql) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
    for (const schema_entry& e : now.entries) {
        row.bind(1, e.place).bind_text(2, e.type).bind_text(3, e.name).bind_text(4, e.table);
        row.bind(5, e.root_page).bind_text(6, e.sql).run();
    }
    statement meta_row = db.prepare(
        "UPDATE main.litefeed_meta SET schema_version = ?1, seen_through = "
        "(SELECT coalesce(max(seq), 0) FROM main.litefeed_log) WHERE id = 0");
    meta_row.bind(1, now.version).run();
}

}  // namespace litefeed
