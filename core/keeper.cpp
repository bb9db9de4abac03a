#include "core/keeper.hpp"

#include <algorithm>
#include <optional>

#include "core/capture.hpp"
#include "core/feed.hpp"
#include "core/format.hpp"
#include "core/log.hpp"
#include "core/marks.hpp"
#include "core/open.hpp"
#include "core/schema.hpp"
#include "core/schema_drift.hpp"
#include "core/sql_text.hpp"
#include "core/table.hpp"

namespace litefeed {
namespace {

using verdict = capture_state::verdict;

constexpr int patient_ms = 5000;  // a command that a person typed waits for the owner's transaction
constexpr int serving_ms = 20;    // a server backs off instead, and tries again

int unknown_collation(void*, int, const void*, int, const void*) { return 0; }
// Guards may name a collation that only the owner's program has. It is never computed with here, only explained.
void accept_collation(void*, sqlite3* db, int encoding, const char* name) {
    // Of its own ones SQLite asks too, in a file in UTF-16, before it takes what it has.
    for (const char* own : {"BINARY", "NOCASE", "RTRIM"})
        if (same_name(name, own)) return;
    sqlite3_create_collation(db, name, encoding, nullptr, unknown_collation);
}

std::vector<std::string> key_names(const table_definition& t) {
    std::vector<std::string> out;
    for (const key_column& k : t.key) out.push_back(k.name);
    return out;
}

std::string list(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
    return out;
}

// The table as it can be watched with these options, or why not.
inspected_table watchable(const connection& db, const schema& at, const std::string& name,
                          const watch_options& options) {
    inspected_table out = inspect_table(db, at, name);
    if (!out.definition || !options.replace_guards) return out;
    try {
        out.refused = guard_that_scans(db, *out.definition);
    } catch (const sqlite_error& e) {
        out.refused =
            std::string("a unique index of it cannot be computed here (") + e.what() + ")";
    }
    if (!out.refused.empty()) out.definition.reset();
    return out;
}

}  // namespace

struct keeper::impl {
    impl(const std::string& path, connection opened, bool is_serving)
        : db(std::move(opened)), file(path, db), serving(is_serving) {}

    // Drops what an earlier, half removed installation left: a trigger without its log fails the owner's writes.
    void install() {
        repair_report ignored;
        if (installation_of(db) == installation::broken) mend_installation(ignored);
        if (is_installed(db)) return;
        (void)remove_format(db);
        install_format(db);
        wrote = true;
    }

    void number_generation(watched_table& t) {
        t.generation += 1;
        t.generation_id = random_hex(16);
        t.generation_at = append_entry(db, t.table_id, 'g');
        write_table(db, t);
        wrote = true;
    }

    void begin_generation(watched_table& t, const table_definition& now, reset_reason why) {
        t.reason = to_word(why);
        t.key_columns = key_names(now);
        t.shape = shape_digest(now);
        t.problem.clear();
        number_generation(t);
    }

    void capture_anew(watched_table& t, const table_definition& now, reset_reason why) {
        widen_log(db, now.key.size());
        create_capture(db, now, t.table_id, t.options);
        begin_generation(t, now, why);
    }

    watched_table fresh(const std::string& name, const watch_options& options) const {
        watched_table t;
        t.table_id = db.integer("SELECT coalesce(max(table_id), 0) + 1 FROM main.litefeed_tables");
        t.name = name;
        t.watched = true;
        t.options = options;
        return t;
    }

    // Tells readers that the table is gone, and remembers why it is not captured.
    void tell_gone(watched_table& t, const std::string& problem) {
        if (t.problem == problem) return;
        drop_capture(db, read_schema(db), t.table_id);
        t.problem = problem;
        append_entry(db, t.table_id, 'x');
        write_table(db, t);
        wrote = true;
    }

    void rename(watched_table& t, const capture_state& state, repair_report& report) {
        drop_capture(db, read_schema(db), t.table_id);
        append_entry(db, t.table_id, 'x');
        t.watched = false;
        t.problem = state.why;  // rules for the old name hold for the new one, too
        write_table(db, t);
        wrote = true;
        report.dropped.push_back(t.name);
        watched_table successor = fresh(state.now_called, t.options);
        const inspected_table now = watchable(db, read_schema(db), state.now_called, t.options);
        if (!now.definition) {
            report.problems.push_back(state.now_called + ": " + now.refused);
            return;
        }
        capture_anew(successor, *now.definition, reset_reason::enabled);
        report.generations.emplace_back(successor.name, successor.reason);
    }

    [[nodiscard]] bool has_entry_after(std::int64_t table_id, stamp seen) const {
        statement row =
            db.prepare("SELECT 1 FROM main.litefeed_log WHERE seq > ?1 AND table_id = ?2 LIMIT 1");
        return row.bind(1, seen.n).bind(2, table_id).step();
    }

    void mend(watched_table& t, const capture_state& state, stamp seen, repair_report& report) {
        if (state.what == verdict::gone) {
            if (t.problem != state.why) report.dropped.push_back(t.name);
            tell_gone(t, state.why);
            return;
        }
        if (state.what == verdict::renamed) {
            rename(t, state, report);
            return;
        }
        const inspected_table now = watchable(db, read_schema(db), t.name, t.options);
        if (!now.definition) {
            if (t.problem != now.refused) report.problems.push_back(t.name + ": " + now.refused);
            tell_gone(t, now.refused);
            return;
        }
        if (state.what == verdict::guards_differ && !has_entry_after(t.table_id, seen)) {
            create_capture(db, *now.definition, t.table_id, t.options);
            wrote = true;
            return;
        }
        capture_anew(t, *now.definition,
                     state.what == verdict::reshaped ? reset_reason::schema_changed
                                                     : reset_reason::triggers_restored);
        report.generations.emplace_back(t.name, t.reason);
    }

    // A log that was emptied begins again above the highest number that anybody can hold.
    void begin_log_again(stamp seen, const meta& m, repair_report& report) {
        stamp known = std::max(seen, m.floor);
        const auto hold = [&](std::int64_t n) {
            if (stamp{n} < stamp_max) known = std::max(known, {n});
        };
        hold(m.seen_through.n);
        hold(db.integer("SELECT max(seq) FROM main.litefeed_log"));
        hold(db.integer("SELECT max(seq) FROM main.litefeed_consumers"));
        hold(mark_span - 1 + db.integer("SELECT max(seq) FROM main.litefeed_marks"));
        auto tables = sound_tables();
        for (const watched_table& t : tables) hold(t.generation_at.n);
        db.execute("DELETE FROM main.litefeed_log");
        db.execute("DELETE FROM main.litefeed_marks");
        statement state = db.prepare(
            "UPDATE main.litefeed_meta SET floor = ?1, floor_digest = 0, folded = 0 WHERE id = 0");
        state.bind(1, known.n).run();
        wrote = true;
        // Entry 0 of no table holds the number where nothing is watched.
        (void)append_entry(db, 0, 'g', known);
        for (watched_table& t : tables) {
            if (!t.watched || !t.problem.empty()) continue;
            t.reason = to_word(reset_reason::feed_restored);
            number_generation(t);
            report.generations.emplace_back(t.name, t.reason);
        }
    }

    repair_report begin_lineage(const rest_cursor& known) {
        repair_report report;
        const meta m = read_meta(db);
        if (m.short_lineage() != known.lineage || known.at <= m.floor) return report;
        if (log_reader(db).cursor_at(known.at, m) == known) return report;
        statement draw = prepare_own(db, "UPDATE main.litefeed_meta SET lineage = ?1 WHERE id = 0");
        draw.bind_text(1, random_lineage()).run();
        begin_log_again(known.at, m, report);
        return report;
    }

    [[nodiscard]] bool log_is_lost(const meta& m) const {
        log_reader log(db);
        stamp newest;
        for (const watched_table& t : sound_tables()) {
            newest = std::max(newest, t.generation_at);
            if (!log.holds_generation(t.table_id, t.generation_at, m.floor)) return true;
        }
        statement row = prepare_own(
            db,
            "SELECT coalesce(max(seq), 0), (SELECT coalesce(min(seq), 0) FROM main.litefeed_log "
            "WHERE seq > ?1) FROM main.litefeed_log");
        row.bind(1, m.floor.n);
        if (!row.step()) return false;
        const stamp head{row.integer(0)}, lowest{row.integer(1)};
        row.reset();
        return log.is_lost(m.floor, head, lowest, newest);
    }

    // Triggers without the log fail the owner's writes.
    void mend_installation(repair_report& report) {
        const auto stands = [&](const char* table) {
            return db.integer(
                       "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND "
                       "rootpage > 0 AND name = '" +
                       std::string(table) + "'") > 0;
        };
        wrote = true;
        if (stands("litefeed_meta") && stands("litefeed_tables") && !stands("litefeed_log")) {
            create_log(db);
            std::size_t widest = 1;
            for (const watched_table& t : sound_tables())
                widest = std::max(widest, t.key_columns.size());
            widen_log(db, widest);
            return;
        }
        (void)remove_format(db);
        report.problems.emplace_back(
            "litefeed's own tables were taken out of the file, so what was left of it was removed "
            "and nothing is watched any more: litefeed watch");
    }

    repair_report repair_all(stamp seen) {
        repair_report report;
        if (const meta m = read_meta(db); log_is_lost(m)) begin_log_again(seen, m, report);
        seen = std::max(seen, read_meta(db).seen_through);
        const schema verified = read_verified_schema(db);
        const schema at = read_schema(db);
        // The sight itself is worth keeping: what comes later is judged against it.
        if (at.version != verified.version) wrote = true;
        const unseen_edits unseen = unseen_between(verified, at);
        for (watched_table& t : sound_tables()) {
            if (!t.watched) continue;
            const capture_state state = judge_capture(db, read_schema(db), t, unseen);
            if (state.what == verdict::whole && t.problem.empty()) continue;
            mend(t, state, seen, report);
        }
        return report;
    }

    [[nodiscard]] std::vector<watched_table> sound_tables() const {
        std::vector<watched_table> out = read_tables(db);
        if (!std::all_of(out.begin(), out.end(), is_sound))
            throw boost::system::system_error(make_error_code(errc::damaged));
        return out;
    }

    // Keeps what drift will be judged against.
    void remember_schema() const {
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

    // Runs `work` in one BEGIN IMMEDIATE, and commits only if something was written.
    template <class Work>
    void write(Work&& work) {
        wrote = false;
        file.refuse_moved();
        transaction t(db, transaction::kind::immediate);
        work();
        if (!wrote) return;
        if (is_installed(db)) remember_schema();
        t.commit();
    }

    template <class Work>
    void write_or_explain(const std::string& what, Work&& work) {
        explain(what, [&] { write(work); });
    }

    template <class Work>
    void explain(const std::string& what, Work&& work) {
        try {
            work();
        } catch (const sqlite_error& e) {
            throw_cannot("cannot " + what, e, "; nothing was changed");
        } catch (const boost::system::system_error& e) {
            throw cannot("cannot " + what + ": " + e.code().message() + "; nothing was changed");
        }
    }

    [[nodiscard]] table_definition must_be_watchable(const std::string& name,
                                                     const watch_options& options) const {
        inspected_table now = watchable(db, read_schema(db), name, options);
        if (!now.definition) throw cannot("cannot watch " + name + ": " + now.refused);
        return std::move(*now.definition);
    }

    static log_keeping keeping_by(const keeping_wish& wish, log_keeping before) {
        return {wish.latest.value_or(before.latest), wish.retention_s.value_or(before.retention_s)};
    }

    void watch_one(const std::string& wanted, const table_definition& now,
                   const watch_options& options, const keeping_wish& keeping,
                   watch_report& report) {
        if (now.keyed_by_rowid) {
            report.warnings.emplace_back(
                now.name,
                "it has no primary key that is NOT NULL, so its rowid is the key; "
                "VACUUM renumbers rowids, and its readers then start over");
        }
        for (watched_table& t : read_tables(db)) {
            if (!t.watched || !same_name(t.name, wanted)) continue;
            report.kept.push_back(t.name);
            const log_keeping wanted_keeping = keeping_by(keeping, t.keeping);
            if (t.options == options && t.keeping == wanted_keeping) return;
            // Other guards or another update trigger, put in place in this transaction: nothing is missed.
            if (t.options != options) create_capture(db, now, t.table_id, options);
            t.options = options;
            t.keeping = wanted_keeping;
            write_table(db, t);
            wrote = true;
            return;
        }
        watched_table t = fresh(now.name, options);
        t.keeping = keeping_by(keeping, {});
        capture_anew(t, now, reset_reason::enabled);
        report.watched.push_back(t.name);
    }

    watch_report watch_all(const watch_options& options, const keeping_wish& keeping,
                           bool plan_only) {
        watch_report report;
        const schema at = read_schema(db);
        for (const std::string& name : owner_tables(db)) {
            const inspected_table now = watchable(db, at, name, options);
            if (!now.definition) {
                report.refused.emplace_back(name, now.refused);
            } else if (plan_only) {
                report.watched.push_back(name);
            } else {
                watch_one(name, *now.definition, options, keeping, report);
            }
        }
        return report;
    }

    void note_repairs(const repair_report& repairs, watch_report& report) const {
        for (const auto& [table, reason] : repairs.generations) {
            report.repaired.push_back(table);
            std::erase(report.kept, table);
        }
        for (const std::string& problem : repairs.problems)
            report.warnings.emplace_back("", problem);
    }

    connection db;
    named_file file;
    const bool serving;
    bool wrote = false;
};

keeper::keeper(std::unique_ptr<impl> i) : impl_(std::move(i)) {}
keeper::keeper(keeper&&) noexcept = default;
keeper& keeper::operator=(keeper&&) noexcept = default;
keeper::~keeper() = default;

keeper keeper::open(const std::string& path, bool serving) {
    connection db =
        open_database(path, connection::access::read_write, serving ? serving_ms : patient_ms);
    if (sqlite3_db_readonly(db.get(), "main") == 1) {
        throw cannot("cannot write " + path +
                     ": this user may only read it; run as its owner, or serve with --read-only");
    }
    if (serving) never_checkpoint(db);
    sqlite3_collation_needed(db.get(), nullptr, accept_collation);
    return keeper(std::make_unique<impl>(path, std::move(db), serving));
}

watch_report keeper::watch(const std::vector<std::string>& tables, const watch_options& options,
                           const keeping_wish& keeping) {
    watch_report report;
    const std::string what = "watch " + list(tables);
    // Refused without the write lock, so that trying again costs the owner nothing.
    impl_->explain(what, [&] {
        const transaction read(impl_->db, transaction::kind::deferred);
        for (const std::string& name : tables) (void)impl_->must_be_watchable(name, options);
    });
    impl_->write_or_explain(what, [&] {
        impl_->install();
        const repair_report repairs = impl_->repair_all({});
        for (const std::string& name : tables) {
            impl_->watch_one(name, impl_->must_be_watchable(name, options), options, keeping,
                             report);
        }
        impl_->note_repairs(repairs, report);
    });
    return report;
}

watch_report keeper::watch_all(const watch_options& options, const keeping_wish& keeping) {
    watch_report report;
    impl_->write_or_explain("watch the tables", [&] {
        impl_->install();
        const repair_report repairs = impl_->repair_all({});
        report = impl_->watch_all(options, keeping, false);
        impl_->note_repairs(repairs, report);
    });
    return report;
}

watch_report keeper::plan_all(const watch_options& options) {
    watch_report report;
    impl_->explain("look at the tables", [&] {
        const transaction read(impl_->db, transaction::kind::deferred);
        report = impl_->watch_all(options, {}, true);
    });
    return report;
}

void keeper::unwatch(const std::vector<std::string>& tables) {
    impl_->write_or_explain("unwatch " + list(tables), [&] {
        if (!is_installed(impl_->db)) throw cannot("nothing is watched in this file");
        // What the owner did before is judged before this sight takes its place.
        (void)impl_->repair_all({});
        for (const std::string& name : tables) {
            auto known = read_tables(impl_->db);
            const auto found = std::find_if(
                known.begin(), known.end(),
                [&](const watched_table& t) { return t.watched && same_name(t.name, name); });
            if (found == known.end())
                throw cannot("cannot unwatch " + name + ": it is not watched");
            drop_capture(impl_->db, read_schema(impl_->db), found->table_id);
            append_entry(impl_->db, found->table_id, 'x');
            found->watched = false;
            write_table(impl_->db, *found);
            impl_->wrote = true;
        }
    });
}

std::vector<std::string> keeper::unwatch_all() {
    std::vector<std::string> names;
    impl_->write_or_explain("unwatch all tables", [&] {
        try {
            if (is_installed(impl_->db)) {
                for (const watched_table& t : read_tables(impl_->db)) {
                    if (t.watched) names.push_back(t.name);
                }
            }
        } catch (const boost::system::system_error&) {
            // Damaged tables name nothing, and go like others.
        }
        impl_->wrote = remove_format(impl_->db);
    });
    return names;
}

result<repair_report> keeper::repair(stamp seen) {
    try {
        repair_report report;
        impl_->write([&] {
            const installation found = installation_of(impl_->db);
            if (found == installation::broken) impl_->mend_installation(report);
            if (!is_installed(impl_->db)) return;
            repair_report more = impl_->repair_all(seen);
            more.problems.insert(more.problems.end(), report.problems.begin(),
                                 report.problems.end());
            report = std::move(more);
        });
        return report;
    } catch (const sqlite_error& e) {
        return e.code();
    } catch (const boost::system::system_error& e) {
        return e.code();
    }
}

result<repair_report> keeper::begin_lineage(const rest_cursor& known) {
    try {
        repair_report report;
        impl_->write([&] {
            if (is_installed(impl_->db)) report = impl_->begin_lineage(known);
        });
        return report;
    } catch (const sqlite_error& e) {
        return e.code();
    } catch (const boost::system::system_error& e) {
        return e.code();
    }
}

result<thinning_report> keeper::thin(std::int64_t now_ms,
                                     const std::function<bool(const thinning_report&)>& go_on) {
    try {
        impl_->file.refuse_moved();
        if (!is_installed(impl_->db)) {
            thinning_report nothing;
            nothing.finished = true;
            return nothing;
        }
        return thin_log(impl_->db, {now_ms, !impl_->serving}, go_on);
    } catch (const sqlite_error& e) {
        return e.code();
    } catch (const boost::system::system_error& e) {
        return e.code();
    }
}

void keeper::set_entries_max(std::int64_t entries) {
    impl_->write_or_explain("set the most entries", [&] {
        if (!is_installed(impl_->db)) throw cannot("nothing is watched in this file");
        (void)impl_->repair_all({});
        statement set =
            prepare_own(impl_->db, "UPDATE main.litefeed_meta SET entries_max = ?1 WHERE id = 0");
        set.bind(1, entries).run();
        impl_->wrote = true;
    });
}

}  // namespace litefeed
