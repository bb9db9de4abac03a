#include "core/keeper.hpp"

#include <algorithm>
#include <optional>

#include "core/capture.hpp"
#include "core/damage.hpp"
#include "core/feed_writer.hpp"
#include "core/format.hpp"
#include "core/open.hpp"
#include "core/schema.hpp"
#include "core/sql_text.hpp"
#include "core/table.hpp"

namespace litefeed {
namespace {

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

std::string list(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
    return out;
}

}  // namespace

struct keeper::impl {
    impl(std::string p, bool is_serving)
        : path(std::move(p)), serving(is_serving), db(open()), file(path, db) {}

    [[nodiscard]] connection open() const {
        connection out =
            open_database(path, connection::access::read_write, serving ? serving_ms : patient_ms);
        if (sqlite3_db_readonly(out.get(), "main") == 1) {
            throw cannot(
                "cannot write " + path +
                ": this user may only read it; run as its owner, or serve with --read-only");
        }
        if (serving) never_checkpoint(out);
        sqlite3_collation_needed(out.get(), nullptr, accept_collation);
        return out;
    }

    // Before each write. What the cache holds may be of a file that was written over since, as cp does: pages that are
    // written from it would break the new one, and SQLite notices only other connections' commits.
    void verify_file() {
        file.refuse_moved();
        if (!file.touched()) return;
        try {
            db = open();
            file = named_file(path, db);
        } catch (const cannot& why) {
            throw sqlite_error(SQLITE_READONLY_DBMOVED, why.what());
        }
    }

    void install() {
        if (installation_of(db) != installation::none) return;
        (void)remove_format(db);  // what an earlier one, half removed, left
        install_format(db);
        to.wrote = true;
    }

    void refuse_unwatched() const {
        if (installation_of(db) == installation::none)
            throw cannot("nothing is watched in this file");
    }

    [[nodiscard]] bool is_damaged() const {
        const transaction read(db, transaction::kind::deferred);
        return litefeed::is_damaged(db);
    }

    // Runs `work` in one BEGIN IMMEDIATE, and commits only if something was written.
    template <class Work>
    void write(Work&& work) {
        to.wrote = false;
        verify_file();
        transaction t(db, transaction::kind::immediate);
        work();
        if (!to.wrote) return;
        if (is_installed(db)) to.remember_schema();
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
            to.wrote = true;
            return;
        }
        watched_table t = to.fresh(now.name, options);
        t.keeping = keeping_by(keeping, {});
        to.capture_anew(t, now, reset_reason::enabled);
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

    const std::string path;
    const bool serving;
    connection db;
    named_file file;
    feed_writer to{db};
};

keeper::keeper(std::unique_ptr<impl> i) : impl_(std::move(i)) {}
keeper::keeper(keeper&&) noexcept = default;
keeper& keeper::operator=(keeper&&) noexcept = default;
keeper::~keeper() = default;

keeper keeper::open(const std::string& path, bool serving) {
    try {
        return keeper(std::make_unique<impl>(path, serving));
    } catch (const sqlite_error& e) {
        throw_cannot("cannot open " + path, e);
    }
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
        const repair_report repairs = litefeed::repair(impl_->to, {});
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
        const repair_report repairs = litefeed::repair(impl_->to, {});
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
        impl_->refuse_unwatched();
        // What the owner did before is judged before this sight takes its place.
        (void)litefeed::repair(impl_->to, {});
        for (const std::string& name : tables) {
            auto known = read_tables(impl_->db);
            const auto found = std::find_if(
                known.begin(), known.end(),
                [&](const watched_table& t) { return t.watched && same_name(t.name, name); });
            if (found == known.end())
                throw cannot("cannot unwatch " + name + ": it is not watched");
            found->watched = false;
            impl_->to.end_table(*found);
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
        impl_->to.wrote = remove_format(impl_->db);
    });
    return names;
}

result<repair_report> keeper::repair(const rest_cursor& seen) {
    try {
        repair_report report;
        impl_->write([&] {
            if (installation_of(impl_->db) != installation::none)
                report = litefeed::repair(impl_->to, seen);
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
            if (is_installed(impl_->db)) report = litefeed::begin_lineage(impl_->to, known);
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
        impl_->verify_file();
        if (installation_of(impl_->db) == installation::none) {
            thinning_report nothing;
            nothing.finished = true;
            return nothing;
        }
        if (impl_->is_damaged()) return make_error_code(errc::damaged);
        return thin_log(impl_->db, {now_ms, !impl_->serving}, go_on);
    } catch (const sqlite_error& e) {
        return e.code();
    } catch (const boost::system::system_error& e) {
        return e.code();
    }
}

void keeper::set_entries_max(std::int64_t entries) {
    impl_->write_or_explain("set the most entries", [&] {
        impl_->refuse_unwatched();
        (void)litefeed::repair(impl_->to, {});
        statement set =
            prepare_own(impl_->db, "UPDATE main.litefeed_meta SET entries_max = ?1 WHERE id = 0");
        set.bind(1, entries).run();
        impl_->to.wrote = true;
    });
}

}  // namespace litefeed
