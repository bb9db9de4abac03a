#include "core/run.hpp"

#include <algorithm>

#include "core/cursor_check.hpp"
#include "core/first_read.hpp"
#include "core/sql_text.hpp"

namespace litefeed {
namespace {

[[noreturn]] void fail(errc e) { throw boost::system::system_error(make_error_code(e)); }

class run {
  public:
    run(const feed_view::snapshot& now, plan_cache& plans, const question& q)
        : now_(now), plans_(plans), question_(q) {
        auto selected = now.tables().select(q.want);
        if (!selected) fail(errc::unknown_table);
        selected_ = std::move(*selected);
        out_.head = now.head();
        here_ = now.here();
    }

    answer make() {
        go_on(begin(question_.from));
        return std::move(out_);
    }

  private:
    void go_on(std::optional<page_cursor> place) {
        if (!place) return;
        place_ = std::move(*place);
        seen_ = place_.highest.at;
        place_.highest = here_;
        tell();
    }

    // Where the run stands before this answer; nothing when the answer is complete already.
    std::optional<page_cursor> begin(const position& from) {
        if (std::holds_alternative<from_now>(from)) return at_rest(here_);
        if (std::holds_alternative<from_nothing>(from)) return everything(false);
        if (std::holds_alternative<from_malformed>(from)) return reset_all(reset_reason::malformed);
        if (const auto* bare = std::get_if<stamp>(&from)) {
            if (const auto why = refuse(*bare)) return reset_all(*why);
            return from_base(now_.cursor_at(*bare));
        }
        if (const auto* rest = std::get_if<rest_cursor>(&from)) {
            if (const auto why = refuse(*rest)) return reset_all(*why);
            return from_base(*rest);
        }
        const auto& page = std::get<page_cursor>(from);
        if (const auto why = refuse(page)) return reset_all(*why);
        if (page.base) find_starting_over(page.base->at);
        return page;
    }

    // A place that is still there says nothing of what came after it and is gone.
    template <class Place>
    [[nodiscard]] std::optional<reset_reason> refuse(const Place& at) const {
        if (const auto why = check_cursor(now_, at)) return why;
        return now_.gone() ? std::optional(reset_reason::restored) : std::nullopt;
    }

    std::optional<page_cursor> at_rest(const rest_cursor& at) {
        out_.next = at;
        out_.more = at.at != out_.head;
        return std::nullopt;
    }

    page_cursor everything(bool clears) const {
        page_cursor out;
        out.ceiling = here_;
        out.clears = clears;
        out.phase = reading_place{};
        return out;
    }

    std::optional<page_cursor> reset_all(reset_reason why) {
        // Those that are gone as well: a reader may hold rows of theirs, and was told nothing.
        std::vector<std::string> names;
        for (const catalog_table* t : selected_) {
            const auto same = [&](const std::string& n) { return same_name(n, t->row.name); };
            if (std::none_of(names.begin(), names.end(), same)) names.push_back(t->row.name);
        }
        out_.reset = reset{why, std::move(names), now_.state().floor};
        if (!question_.snapshot) return at_rest(here_);
        return everything(true);
    }

    page_cursor from_base(const rest_cursor& base) {
        find_starting_over(base.at);
        page_cursor out;
        out.base = base;
        out.ceiling = ceiling_above(base.at);
        out.clears = true;
        out.phase = telling_place{base.at};
        if (starting_over_.empty()) return out;
        // The newest generation gives the reason: it is what happened last.
        const auto newest = std::max_element(starting_over_.begin(), starting_over_.end(),
                                             [](const auto* a, const auto* b) {
                                                 return a->row.generation_at < b->row.generation_at;
                                             });
        std::vector<std::string> names;
        for (const catalog_table* t : starting_over_) names.push_back(t->row.name);
        out_.reset = reset{reason_of(**newest), std::move(names), now_.state().floor};
        if (question_.snapshot) out.phase = reading_place{};
        return out;
    }

    // The head; where that is far, a place on the way, which is behind every beginning that this run tells.
    [[nodiscard]] rest_cursor ceiling_above(stamp base) const {
        stamp end{base.n + run_entries_max};
        for (const catalog_table* t : starting_over_)
            end = std::max(end, t->drifted ? out_.head : t->row.generation_at);
        return end < out_.head ? now_.cursor_at(end) : here_;
    }

    static reset_reason reason_of(const catalog_table& t) {
        if (t.drifted) return *t.drifted;
        for (const auto r :
             {reset_reason::enabled, reset_reason::schema_changed, reset_reason::feed_restored,
              reset_reason::contract_upgraded, reset_reason::bulk_load}) {
            if (to_word(r) == t.row.reason) return r;
        }
        return reset_reason::triggers_restored;
    }

    void find_starting_over(stamp base) {
        for (catalog_table* t : selected_) {
            if (t->drifted || (t->present() && t->row.generation_at > base))
                starting_over_.push_back(t);
        }
    }

    [[nodiscard]] bool full() const {
        return out_.changes.changes.size() >= static_cast<std::size_t>(question_.rows_max) ||
               out_.changes.bytes.size() >= question_.bytes_max;
    }

    void spend() {
        if (question_.effort_max > 0 && ++effort_ > question_.effort_max) fail(errc::too_long);
    }

    std::uint32_t name_index(const catalog_table& t) {
        auto& names = out_.changes.tables;
        const auto found = std::find(names.begin(), names.end(), t.row.name);
        if (found != names.end()) return static_cast<std::uint32_t>(found - names.begin());
        names.push_back(t.row.name);
        return static_cast<std::uint32_t>(names.size() - 1);
    }

    void stop_here() {
        out_.next = place_;
        out_.more = true;
    }

    void tell() {
        if (std::holds_alternative<reading_place>(place_.phase)) {
            const auto& tables = place_.base ? starting_over_ : selected_;
            for (catalog_table* t : tables) {
                auto& at = std::get<reading_place>(place_.phase);
                const bool told = t->present() || (place_.clears && !place_.base);
                if (!told || t->row.table_id < at.table_id) continue;
                if (t->row.table_id != at.table_id)
                    at = reading_place{t->row.table_id, false, {}, false, 0};
                if (!read_table(*t)) return stop_here();
            }
            if (!place_.base) {
                (void)at_rest(place_.ceiling);
                return;
            }
            place_.phase = telling_place{place_.base->at};
        }
        switch (tell_delta()) {
            case delta_end::complete:
                (void)at_rest(place_.ceiling);
                break;
            case delta_end::full:
                stop_here();
                break;
            case delta_end::gap:
                meet_gap();
                break;
        }
    }

    // What is missing in the log is missing in the delta. An answer that has begun ends here, and the next one begins
    // with the gap.
    void meet_gap() {
        if (out_.reset || !out_.changes.changes.empty()) return stop_here();
        starting_over_.clear();
        go_on(reset_all(reset_reason::below_floor));
    }

    // False when the answer is full before the table was read to its end.
    bool read_table(catalog_table& t) {
        auto& at = std::get<reading_place>(place_.phase);
        if (full()) return false;
        const std::uint32_t name = name_index(t);
        if (!at.begun && place_.clears) {
            out_.changes.changes.push_back(
                {name, change_op::truncate, t.row.generation_at, {}, {}, 0});
        }
        at.begun = true;
        if (!t.live()) return true;  // gone: the truncate was all
        try {
            return read_on(
                {now_, t, seen_}, at, name, out_.changes, [&] { return full(); }, [&] { spend(); });
        } catch (const boost::system::system_error& e) {
            if (e.code() != make_error_code(errc::malformed_cursor)) throw;
            // The key is another one since this run began; the next cursor at rest will start the table over.
            return true;
        }
    }

    std::shared_ptr<const delta_plan> plan() {
        std::vector<std::int64_t> tables;
        for (const catalog_table* t : selected_) {
            const bool starts_over = std::any_of(
                starting_over_.begin(), starting_over_.end(),
                [&](const catalog_table* s) { return same_name(s->row.name, t->row.name); });
            if (!starts_over) tables.push_back(t->row.table_id);
        }
        const stamp base = place_.base->at;
        if (base == place_.ceiling.at || tables.empty()) return std::make_shared<delta_plan>();
        plan_cache::key key{place_.ceiling.lineage, place_.ceiling.digest, base, place_.ceiling.at,
                            std::move(tables)};
        if (auto known = plans_.find(key)) return known;
        // Stamps between bound the entries between: no need to read them to know that it is long.
        if (question_.effort_max > 0 && place_.ceiling.at.n - base.n > question_.effort_max)
            fail(errc::too_long);
        auto made = std::make_shared<const delta_plan>(delta_plan::make(
            now_.log(), base, place_.ceiling.at, key.tables, question_.effort_max));
        if (made->changes().size() > static_cast<std::size_t>(question_.rows_max))
            plans_.put(std::move(key), made);
        return made;
    }

    enum class delta_end { complete, full, gap };

    delta_end tell_delta() {
        const auto planned = plan();
        if (planned->has_gap()) return delta_end::gap;
        log_reader::walk entries(now_.log());
        auto& at = std::get<telling_place>(place_.phase);
        auto next =
            std::upper_bound(planned->changes().begin(), planned->changes().end(), at.told,
                             [](stamp told, const planned_change& p) { return told < p.at; });
        for (; next != planned->changes().end(); ++next) {
            if (full()) return delta_end::full;
            spend();
            if (entries.to(next->at)) {
                tell_change(*next, entries);
            } else if (!now_.log().digest_at(next->at)) {
                return delta_end::gap;
            }  // else folded since the plan was made: the row's next entry stands above the ceiling, for the next run
            at.told = next->at;
        }
        return delta_end::complete;
    }

    void tell_change(const planned_change& p, const log_reader::walk& entries) {
        catalog_table* t = now_.tables().find(entries.table_id());
        if (t == nullptr) return;
        const std::uint32_t name = name_index(*t);
        change c{name, change_op::truncate, p.at, {}, {}, 0};
        if (!p.truncates) {
            if (!t->live()) return;
            const std::size_t before = out_.changes.bytes.size();
            const int key = log_reader::walk::first_key_column;
            c.key = t->rows->append_key(entries.row(), key, out_.changes.bytes);
            if (!t->rows->find(entries.row(), key, c, out_.changes.bytes)) {
                c.op = change_op::remove;
            } else if (p.only_touched) {
                out_.changes.bytes.resize(before);
                return;
            } else {
                c.op = p.held ? change_op::update : change_op::insert;
            }
        }
        out_.changes.changes.push_back(c);
    }

    const feed_view::snapshot& now_;
    plan_cache& plans_;
    const question& question_;
    std::vector<catalog_table*> selected_;
    std::vector<catalog_table*> starting_over_;
    rest_cursor here_;
    page_cursor place_;
    stamp seen_;  // the head when the page before was read
    std::int64_t effort_ = 0;
    answer out_;
};

}  // namespace

answer answer_changes(const feed_view::snapshot& now, plan_cache& plans, const question& q) {
    if (!now.installed()) {
        if (!q.want.tables.empty()) fail(errc::unknown_table);
        answer out;
        const auto* rest = std::get_if<rest_cursor>(&q.from);  // as this gave it
        const bool holds_nothing = std::holds_alternative<from_now>(q.from) ||
                                   std::holds_alternative<from_nothing>(q.from) ||
                                   (rest != nullptr && *rest == rest_cursor{});
        if (!holds_nothing) out.reset = reset{reset_reason::ahead_of_head, {}, {}};
        out.next = rest_cursor{};
        return out;
    }
    return run(now, plans, q).make();
}

}  // namespace litefeed
