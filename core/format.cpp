#include "core/format.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <random>

#include "core/own_names.hpp"
#include "core/schema.hpp"
#include "core/sql_text.hpp"

namespace litefeed {
namespace {

// No AUTOINCREMENT, no constraint that a writer's conflict clause could meet, nothing newer than SQLite 3.22.
constexpr const char* create_log_table =
    "CREATE TABLE litefeed_log(seq INTEGER PRIMARY KEY, table_id INTEGER, op TEXT, at_ms INTEGER, "
    "key)";
constexpr const char* create_meta =
    "CREATE TABLE litefeed_meta(id INTEGER PRIMARY KEY, format INTEGER, lineage TEXT, floor "
    "INTEGER, "
    "floor_digest INTEGER, retention_s INTEGER, entries_max INTEGER, folded INTEGER, seen_through "
    "INTEGER, schema_version INTEGER, catalog_version INTEGER, installed_at_ms INTEGER, "
    "compacted_at_ms INTEGER)";
constexpr const char* create_watched_tables =
    "CREATE TABLE litefeed_tables(table_id INTEGER PRIMARY KEY, name TEXT, watched INTEGER, "
    "key_columns TEXT, keep TEXT, retention_s INTEGER, contract INTEGER, generation INTEGER, "
    "generation_id TEXT, generation_seq INTEGER, reason TEXT, shape TEXT, replace_guards INTEGER, "
    "skip_unchanged INTEGER, suspended INTEGER, problem TEXT, updated_at_ms INTEGER)";

// What the feed can go on without, empty as it was made, if it is lost.
struct own_table {
    const char *name, *create;
};
constexpr std::array<own_table, 5> side_tables{{
    {"litefeed_schema",
     "CREATE TABLE litefeed_schema(place INTEGER PRIMARY KEY, type TEXT, name TEXT, tbl_name TEXT, "
     "rootpage INTEGER, sql TEXT)"},
    {"litefeed_marks", "CREATE TABLE litefeed_marks(seq INTEGER PRIMARY KEY, digests BLOB)"},
    {"litefeed_contracts",
     "CREATE TABLE litefeed_contracts(version INTEGER PRIMARY KEY, tables_json TEXT, updated_at_ms "
     "INTEGER)"},
    {"litefeed_consumers",
     "CREATE TABLE litefeed_consumers(name TEXT PRIMARY KEY NOT NULL, seq INTEGER, updated_at_ms "
     "INTEGER)"},
    {"litefeed_shapes",
     "CREATE TABLE litefeed_shapes(table_id INTEGER, valid_from INTEGER, captured_at INTEGER, kind "
     "TEXT, columns_json TEXT, sha256 TEXT, through INTEGER, reason TEXT, PRIMARY KEY(table_id, "
     "valid_from, kind))"},
}};

constexpr std::int64_t week_s = 7 * 24 * 3600;
constexpr std::int64_t entries_max_default = 10'000'000;

std::vector<std::string> drops_of_triggers(const schema& at) {
    std::vector<std::string> out;
    for (const schema_entry& e : at.entries) {
        if (e.type == "trigger" && is_own_trigger(e.name))
            out.push_back("DROP TRIGGER main." + quote_identifier(e.name));
    }
    return out;
}

bool is_virtual(const schema_entry& e) { return e.type == "table" && e.root_page == 0; }

}  // namespace

std::uint32_t meta::short_lineage() const {
    std::uint32_t n = 0;
    std::from_chars(lineage.data(), lineage.data() + std::min<std::size_t>(lineage.size(), 8), n,
                    16);
    return n;
}

std::string random_hex(std::size_t digits) {
    static constexpr std::string_view hex = "0123456789abcdef";
    std::random_device source;
    std::string out;
    while (out.size() < digits) {
        auto bits = source();
        for (int i = 0; i < 8 && out.size() < digits; ++i, bits >>= 4) out += hex[bits & 0xf];
    }
    return out;
}

std::string random_lineage() {
    std::string out = random_hex(32);
    if (out.substr(0, 8) == "00000000") out.front() = '1';
    return out;
}

installation installation_of(const connection& db) {
    statement rows = db.prepare(
        "SELECT type, name, rootpage FROM main.sqlite_schema WHERE type IN ('table', 'trigger') "
        "AND name LIKE 'litefeed!_%' ESCAPE '!'");
    int tables = 0;
    bool any = false;
    while (rows.step()) {
        const std::string_view name = rows.text(1);
        if (rows.text(0) == "trigger") {
            any = any || is_own_trigger(name);
        } else if (rows.integer(2) > 0 && is_own_table(name)) {
            any = true;
            tables += same_name(name, "litefeed_log") || same_name(name, "litefeed_meta") ||
                              same_name(name, "litefeed_tables")
                          ? 1
                          : 0;
        }
    }
    if (tables == 3) return installation::whole;
    return any ? installation::broken : installation::none;
}

bool create_side_tables(const connection& db) {
    bool any = false;
    statement stands = db.prepare("SELECT 1 FROM main.sqlite_schema WHERE name = ?1");
    for (const own_table& t : side_tables) {
        const bool missing = !stands.bind_text(1, t.name).step();
        stands.reset();
        if (missing) db.execute(t.create);
        any = any || missing;
    }
    return any;
}

void install_format(const connection& db) {
    for (const char* create : {create_log_table, create_meta, create_watched_tables})
        db.execute(create);
    (void)create_side_tables(db);
    statement row = db.prepare(
        "INSERT INTO main.litefeed_meta(id, format, lineage, floor, floor_digest, retention_s, "
        "entries_max, "
        "folded, seen_through, schema_version, catalog_version, installed_at_ms, compacted_at_ms) "
        "VALUES(0, ?1, ?2, 0, 0, ?3, ?4, 0, 0, 0, 0, " +
        std::string(now_ms_sql) + ", 0)");
    row.bind(1, format_number)
        .bind_text(2, random_lineage())
        .bind(3, week_s)
        .bind(4, entries_max_default)
        .run();
}

bool is_sound(const meta& m, stamp head) {
    const bool is_lineage = m.lineage.size() == 32 &&
                            m.lineage.find_first_not_of("0123456789abcdef") == std::string::npos;
    return m.format > 0 && is_lineage && m.floor.n >= 0 && head <= stamp_max;
}

bool is_sound(const std::vector<watched_table>& tables) {
    const auto sound = [](const watched_table& t) {
        return t.table_id > 0 && !t.key_columns.empty() && t.generation >= 0 &&
               t.generation <= stamp_max.n && t.generation_at.n >= 0 &&
               t.generation_at <= stamp_max;
    };
    for (auto t = tables.begin(); t != tables.end(); ++t) {
        const bool named_before = t->watched && names_watched({tables.begin(), t}, t->name);
        if (!sound(*t) || named_before) return false;
    }
    return true;
}

bool names_watched(const std::vector<watched_table>& tables, std::string_view name) {
    return std::any_of(tables.begin(), tables.end(), [&](const watched_table& t) {
        return t.watched && same_name(t.name, name);
    });
}

statement prepare_own(const connection& db, const std::string& sql) {
    try {
        return db.prepare(sql);
    } catch (const sqlite_error& e) {
        if (!e.is(SQLITE_ERROR)) throw;
        throw boost::system::system_error(make_error_code(errc::damaged));
    }
}

bool remove_format(const connection& db) {
    const schema at = read_schema(db);
    // Triggers first: one that is left without its log would fail the owner's writes.
    const auto triggers = drops_of_triggers(at);
    for (const std::string& drop : triggers) db.execute(drop);
    bool any = !triggers.empty();
    for (const schema_entry& e : at.entries) {
        if ((e.type != "table" && e.type != "view") || !is_own_table(e.name)) continue;
        try {
            db.execute((e.type == "view" ? "DROP VIEW main." : "DROP TABLE main.") +
                       quote_identifier(e.name));
            any = true;
        } catch (const sqlite_error& error) {
            // A virtual table of a module that is not here. Litefeed makes none, so it is the owner's affair.
            if (!is_virtual(e) || !error.is(SQLITE_ERROR)) throw;
        }
    }
    return any;
}

std::size_t log_key_parts(const connection& db) {
    return static_cast<std::size_t>(db.integer(
        "SELECT count(*) FROM pragma_table_info('litefeed_log', 'main') WHERE name GLOB 'key*'"));
}

void widen_log(const connection& db, std::size_t parts) {
    for (std::size_t i = log_key_parts(db) + 1; i <= parts; ++i) {
        db.execute("ALTER TABLE main.litefeed_log ADD COLUMN key" + std::to_string(i));
    }
}

stamp believed(std::int64_t written) {
    return stamp{written} <= stamp_believed_max ? stamp{written} : stamp{};
}

std::int64_t format_of(const connection& db) {
    try {
        statement row = prepare_own(db, "SELECT format FROM main.litefeed_meta WHERE id = 0");
        return row.step() ? row.integer(0) : 0;
    } catch (const boost::system::system_error&) {
        return 0;
    }
}

meta read_meta(const connection& db) {
    statement row =
        prepare_own(db,
                    "SELECT format, lineage, floor, floor_digest, seen_through, schema_version, "
                    "catalog_version, "
                    "installed_at_ms, retention_s, entries_max, folded, compacted_at_ms FROM "
                    "main.litefeed_meta WHERE id = 0");
    meta out;
    if (!row.step()) return out;
    out.format = row.integer(0);
    out.lineage = row.text(1);
    out.floor = {row.integer(2)};
    out.floor_digest = static_cast<std::uint32_t>(row.integer(3));
    out.seen_through = believed(row.integer(4));
    out.schema_version = row.integer(5);
    out.catalog_version = row.integer(6);
    out.installed_ms = row.integer(7);
    out.retention_s = row.integer(8);
    out.entries_max = row.integer(9);
    out.folded = row.integer(10);
    out.compacted_ms = row.integer(11);
    return out;
}

std::vector<watched_table> read_tables(const connection& db) {
    statement row = prepare_own(
        db,
        "SELECT table_id, name, watched, key_columns, keep, contract, generation, generation_id, "
        "generation_seq, reason, "
        "shape, replace_guards, skip_unchanged, problem, updated_at_ms, retention_s FROM "
        "main.litefeed_tables "
        "ORDER BY table_id");
    std::vector<watched_table> out;
    while (row.step()) {
        watched_table t;
        t.table_id = row.integer(0);
        t.name = row.text(1);
        t.watched = row.integer(2) != 0;
        const auto key = nlohmann::json::parse(row.text(3), nullptr, false);
        if (key.is_array()) {
            for (const auto& column : key)
                t.key_columns.push_back(column.is_string() ? column.get<std::string>()
                                                           : std::string());
        }
        t.keeping = {row.text(4) == "latest", row.integer(15)};
        t.contract = row.integer(5);
        t.generation = row.integer(6);
        t.generation_id = row.text(7);
        t.generation_at = {row.integer(8)};
        t.reason = row.text(9);
        t.shape = row.text(10);
        t.options = {row.integer(11) != 0, row.integer(12) != 0};
        t.problem = row.text(13);
        t.updated_ms = row.integer(14);
        out.push_back(std::move(t));
    }
    return out;
}

void write_table(const connection& db, const watched_table& t) {
    const std::string key = nlohmann::json(t.key_columns)
                                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    statement row = db.prepare(
        "INSERT OR REPLACE INTO main.litefeed_tables(table_id, name, watched, key_columns, keep, "
        "contract, generation, "
        "generation_id, generation_seq, reason, shape, replace_guards, skip_unchanged, suspended, "
        "problem, retention_s, updated_at_ms) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, nullif(?14, ''), "
        "nullif(?15, 0), " +
        std::string(now_ms_sql) + ")");
    row.bind(1, t.table_id)
        .bind_text(2, t.name)
        .bind(3, t.watched ? 1 : 0)
        .bind_text(4, key)
        .bind_text(5, t.keeping.latest ? "latest" : "window");
    row.bind(6, t.contract)
        .bind(7, t.generation)
        .bind_text(8, t.generation_id)
        .bind(9, t.generation_at.n);
    row.bind_text(10, t.reason).bind_text(11, t.shape).bind(12, t.options.replace_guards ? 1 : 0);
    row.bind(13, t.options.skip_unchanged ? 1 : 0).bind_text(14, t.problem);
    row.bind(15, t.keeping.retention_s).run();
    db.execute("UPDATE main.litefeed_meta SET catalog_version = catalog_version + 1");
}

}  // namespace litefeed
