#include "core/feed.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <unordered_map>

#include "core/open.hpp"
#include "core/rows.hpp"
#include "core/run.hpp"
#include "core/snapshot.hpp"
#include "core/sql_text.hpp"

namespace litefeed {
namespace {

// The door: what is thrown inside comes out as a result.
template <class Impl, class Work>
auto guarded(Impl& in, Work&& work) -> result<decltype(work())> {
    using outcome = result<decltype(work())>;
    try {
        in.verify_file();
        return outcome(boost::system::in_place_value, work());
    } catch (const sqlite_error& e) {
        return outcome(boost::system::in_place_error, e.code());
    } catch (const boost::system::system_error& e) {
        // Where somebody may write, damage to our own tables is mended as drift is.
        const bool mended = e.code() == errc::damaged && !in.view->options().read_only;
        return outcome(boost::system::in_place_error,
                       mended ? make_error_code(errc::drifted) : e.code());
    }
}

connection open_reader(const std::string& path, const feed_options& options) {
    const int timeout = static_cast<int>(options.busy_timeout.count());
    if (options.serving || options.hands_off)
        return open_for_serving(path, timeout, options.hands_off);
    return open_for_command(path, timeout);
}

void check_rules(const connection& db, const column_rules& rules) {
    const schema at = read_schema(db);
    for (const auto* rule : {&rules.hide, &rules.only}) {
        for (const auto& [table, columns] : *rule) {
            const inspected_table seen = inspect_table(db, at, table);
            if (!seen.definition)
                throw cannot(std::string(rule == &rules.hide ? "--hide" : "--only") + " names " +
                             table + ": " + seen.refused);
            (void)visible_columns(*seen.definition, rules);
        }
    }
}

std::int64_t file_bytes(const std::string& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    return error ? 0 : static_cast<std::int64_t>(size);
}

}  // namespace

struct feed::impl {
    impl(std::string p, const feed_options& options)
        : path(std::move(p)), view(std::in_place, path, open_reader(path, options), options) {
        if (!options.serving) check_rules(view->db(), options.columns);
        data_version = view->db().prepare("PRAGMA main.data_version");
    }

    std::int64_t count_of_commits() {
        use row(data_version);
        row->step();
        return row->integer(0);
    }

    // Before each read. A file that was written over from outside of SQLite, as cp does, has another length or time,
    // while SQLite's own count of commits stands; then what this connection holds in its cache is another file's.
    void verify_file() {
        view->refuse_unreadable();
        const std::int64_t commits = count_of_commits();
        const bool written_over = view->touched() && commits == last_commits;
        last_commits = commits;
        if (written_over) reopen();
    }

    void reopen() {
        const feed_options options = view->options();
        try {
            connection db = open_reader(path, options);
            const std::lock_guard lock(opening);
            data_version = {};
            const auto newest = view->newest();
            view.emplace(path, std::move(db), options);
            view->set_newest(newest);
        } catch (const cannot& why) {
            throw sqlite_error(SQLITE_READONLY_DBMOVED, why.what());
        }
        data_version = view->db().prepare("PRAGMA main.data_version");
        last_commits = count_of_commits();
        reopened = true;
        catalog_number = -1;
    }

    // What came since the last look, table by table.
    sight look(const std::optional<rest_cursor>& known) {
        feed_view::snapshot now(*view, feed_view::depth::thorough);
        sight out{now.head(), false, now.unrecorded()};
        const auto before = looked ? std::optional(here) : known;
        if (before && now.installed() && now.state().short_lineage() == before->lineage &&
            before->at > now.state().floor && now.cursor_at(before->at) != *before)
            out.gone = before;
        if (!out.gone) out.gone = now.gone();
        if (out.gone) view->set_newest(std::nullopt);  // told
        const bool other_history = looked && (now.state().lineage != lineage || out.gone);
        const bool another_catalog =
            std::exchange(catalog_number, now.catalog_number()) != now.catalog_number();
        out.ask_again = other_history || (looked && another_catalog && view->options().read_only);
        if (!looked || other_history) {
            newest_of.clear();
            newest_of_any = first_head = now.head();
        } else if (now.installed()) {
            now.log().scan(head, now.head(),
                           [&](stamp at, std::int64_t table_id, char op, const statement&, int) {
                               if (op == 't') return;
                               newest_of[table_id] = at;
                               newest_of_any = at;
                           });
        }
        if (another_catalog || other_history) {
            names.clear();
            out.watched.emplace();
            for (const auto& t : now.tables().tables()) {
                names.emplace_back(t->row.name, t->row.table_id);
                if (t->row.watched) out.watched->push_back(t->row.name);
            }
        }
        head = now.head();
        lineage = now.state().lineage;
        here = now.here();
        looked = true;
        return out;
    }

    [[nodiscard]] stamp newest(const selection& want) const {
        if (want.tables.empty()) return newest_of_any;
        stamp out = first_head;
        for (const std::string& wanted : want.tables) {
            for (const auto& [name, id] : names) {
                if (!same_name(name, wanted)) continue;
                if (const auto found = newest_of.find(id); found != newest_of.end())
                    out = std::max(out, found->second);
            }
        }
        return out;
    }

    struct log_counts {
        std::int64_t entries{}, touched{};
        stamp newest;
    };

    static std::unordered_map<std::int64_t, log_counts> count_entries(
        const feed_view::snapshot& now, std::int64_t effort_max) {
        if (effort_max > 0 && now.head().n - now.state().floor.n > effort_max)
            throw boost::system::system_error(make_error_code(errc::too_long));
        std::unordered_map<std::int64_t, log_counts> out;
        statement rows = now.db().prepare(
            "SELECT table_id, count(*), sum(op = 't'), max(seq) FROM main.litefeed_log "
            "GROUP BY table_id");
        while (rows.step())
            out[rows.integer(0)] = {rows.integer(1), rows.integer(2), {rows.integer(3)}};
        return out;
    }

    tables_status tables(const tables_question& q) {
        feed_view::snapshot now(*view);
        tables_status out;
        if (!now.installed()) return out;
        out.head = now.head();
        std::unordered_map<std::int64_t, log_counts> counts;
        if (q.counts) counts = count_entries(now, q.effort_max);
        for (const auto& t : now.tables().tables()) {
            if (!t->row.watched) continue;
            const log_counts& c = counts[t->row.table_id];
            table_status s;
            s.name = t->row.name;
            s.key = t->row.key_columns;
            s.keyed_by_rowid = t->definition && t->definition->keyed_by_rowid;
            for (const column_definition* column : t->visible)
                s.columns.emplace_back(column->name, column->type);
            s.generation = t->row.generation;
            s.generation_id = t->row.generation_id;
            s.reason = t->row.reason;
            s.generation_at = t->row.generation_at;
            s.generation_ms = now.log().time_at(t->row.generation_at).value_or(t->row.updated_ms);
            s.head = c.newest;
            s.entries = c.entries;
            s.touched = c.touched;
            s.contract = t->row.contract;
            s.keep = t->row.keeping.latest ? "latest" : "window";
            s.retention_s = t->row.keeping.retention_s > 0 ? t->row.keeping.retention_s
                                                           : now.state().retention_s;
            if (!t->problem.empty()) {
                s.problem = t->problem;
            } else if (!t->row.problem.empty()) {
                s.problem = t->row.problem;
            }
            out.tables.push_back(std::move(s));
        }
        return out;
    }

    feed_status status() {
        feed_view::snapshot now(*view);
        feed_status out;
        out.path = path;
        out.sqlite_version = sqlite3_libversion();
        out.journal_mode = now.db().text("PRAGMA main.journal_mode");
        out.page_bytes = now.db().integer("PRAGMA main.page_size");
        out.file_bytes = file_bytes(path);
        out.wal_bytes = file_bytes(path + "-wal");
        out.schema_version = now.schema_version();
        out.read_only = view->options().read_only;
        if (!now.installed()) return out;
        out.lineage = now.state().lineage;
        out.format = now.state().format;
        out.head = now.head();
        out.floor = now.state().floor;
        const meta state = read_meta(now.db());
        out.folded = state.folded;
        out.entries_max = state.entries_max;
        out.retention_s = state.retention_s;
        out.installed_ms = state.installed_ms;
        out.compacted_ms = state.compacted_ms;
        out.entries = std::max<std::int64_t>(0, out.head.n - out.floor.n - out.folded);
        for (const auto& t : now.tables().tables()) {
            if (t->row.watched && !t->problem.empty())
                out.problems.push_back(t->row.name + ": " + t->problem);
        }
        return out;
    }

    std::string path;
    std::mutex opening;  // of the view, against `interrupt`
    std::optional<feed_view> view;
    plan_cache plans;
    statement data_version;
    std::int64_t last_commits = -1, told_commits = -1;
    bool reopened = false;

    bool looked = false;
    std::int64_t catalog_number = -1;
    stamp head, first_head, newest_of_any;
    std::string lineage;
    rest_cursor here;
    std::unordered_map<std::int64_t, stamp> newest_of;
    std::vector<std::pair<std::string, std::int64_t>> names;
};

std::string_view to_word(change_op op) {
    static constexpr std::array<std::string_view, 5> words{"insert", "update", "delete", "read",
                                                           "truncate"};
    return words[static_cast<std::size_t>(op)];
}

std::string_view to_word(reset_reason why) {
    static constexpr std::array<std::string_view, 10> words{
        "below_floor",    "ahead_of_head",     "restored",      "malformed",         "enabled",
        "schema_changed", "triggers_restored", "feed_restored", "contract_upgraded", "bulk_load"};
    return words[static_cast<std::size_t>(why)];
}

std::ostream& operator<<(std::ostream& out, reset_reason why) { return out << to_word(why); }

std::string answer::cursor() const {
    if (const auto* page = std::get_if<page_cursor>(&next)) return to_text(*page);
    return to_text(std::get<rest_cursor>(next));
}

feed::feed(std::unique_ptr<impl> i) : impl_(std::move(i)) {}
feed::feed(feed&&) noexcept = default;
feed& feed::operator=(feed&&) noexcept = default;
feed::~feed() = default;

feed feed::open(const std::string& path, feed_options options) {
    try {
        return feed(std::make_unique<impl>(path, std::move(options)));
    } catch (const sqlite_error& e) {
        throw_cannot("cannot read " + path, e);
    }
}

void feed::interrupt() noexcept {
    const std::lock_guard lock(impl_->opening);
    sqlite3_interrupt(impl_->view->db().get());
}

result<bool> feed::moved() {
    return guarded(*impl_, [&] {
        const bool another =
            std::exchange(impl_->told_commits, impl_->last_commits) != impl_->last_commits;
        return std::exchange(impl_->reopened, false) || another;
    });
}

result<sight> feed::look(const std::optional<rest_cursor>& known) {
    return guarded(*impl_, [&] { return impl_->look(known); });
}

stamp feed::newest(const selection& want) const { return impl_->newest(want); }

rest_cursor feed::verified_through() const { return impl_->view->verified_through(); }

stamp feed::head() const { return impl_->head; }

rest_cursor feed::bookmark() const { return impl_->here; }

result<answer> feed::changes(const question& q) {
    return guarded(*impl_, [&] {
        const feed_view::snapshot now(*impl_->view);
        return answer_changes(now, impl_->plans, q);
    });
}

result<rows_page> feed::rows(const rows_question& q) {
    return guarded(*impl_, [&] {
        const feed_view::snapshot now(*impl_->view);
        return answer_rows(now, q);
    });
}

result<std::optional<std::string>> feed::unknown(const selection& want) {
    return guarded(*impl_, [&] {
        const feed_view::snapshot now(*impl_->view);
        return now.tables().unknown(want);
    });
}

result<tables_status> feed::tables(const tables_question& q) {
    return guarded(*impl_, [&] { return impl_->tables(q); });
}

result<feed_status> feed::status() {
    return guarded(*impl_, [&] { return impl_->status(); });
}

result<std::string> feed::version() {
    return guarded(*impl_, [&] {
        const feed_view::snapshot now(*impl_->view);
        return now.version();
    });
}

}  // namespace litefeed
