#include "core/run.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/sql_text.hpp"

namespace litefeed {
namespace {

[[noreturn]] void fail(errc e) { throw boost::system::system_error(make_error_code(e)); }

// Everything of a page cursor must still hold: where the run began, its ceiling, and the highest head it was read at.
std::optional<reset_reason> check_page(const feed_view::snapshot& now, const page_cursor& at) {
    if (at.base) {
        if (const auto why = check_cursor(now, *at.base)) return why;
    }
    if (const auto why = check_cursor(now, at.highest)) {
        // Between a floor that rose and a run that began below it: only the base decides, and it was checked.
        if (*why != reset_reason::below_floor) return why;
    }
    const auto why = check_cursor(now, at.ceiling);
    return why == reset_reason::below_floor && at.base ? std::nullopt : why;
}

// The whole key, by its hash, of a row that was there at `seen` and is there no more: an entry since then holds it.
// `spend` is called for each entry that is looked at.
template <class Spend>
std::optional<row_key> find_gone_key(const feed_view::snapshot& now, const catalog_table& t,
                                     stamp seen, std::uint64_t hash, const Spend& spend) {
    const auto size = static_cast<int>(t.definition->key.size());
    std::optional<row_key> out;
    now.log().scan(seen, now.head(),
                   [&](stamp, std::int64_t table_id, char, const statement& row, int key_column) {
                       spend();
                       if (out || table_id != t.row.table_id) return;
                       std::string encoded;
                       encode_columns(row, key_column, size, encoded);
                       if (XXH64(encoded.data(), encoded.size(), 0) != hash) return;
                       out.emplace();
                       for (int i = 0; i < size; ++i)
                           out->push_back(column_value(row, key_column + i));
                   });
    return out;
}

class run {
  public:
    run(const feed_view::snapshot& now, plan_cache& plans, const question& q)
        : now_(now), plans_(plans), question_(q) {
        auto selected = now.tables().select(q.want);
        if (!selected) fail(errc::unknown_table);
        selected_ = std::move(*selected);
        out_.head = now.head();
        here_ = now.cursor_at(now.head());
    }

    answer make() {
        if (auto place = begin(question_.from)) {
            place_ = std::move(*place);
            seen_ = place_.highest.at;
            place_.highest = here_;
            tell();
        }
        return std::move(out_);
    }

  private:
    // Where the run stands before this answer; nothing when the answer is complete already.
    std::optional<page_cursor> begin(const position& from) {
        if (std::holds_alternative<from_now>(from)) return at_rest(here_);
        if (std::holds_alternative<from_nothing>(from)) return everything(false);
        if (std::holds_alternative<from_malformed>(from)) return reset_all(reset_reason::malformed);
        if (const auto* bare = std::get_if<stamp>(&from)) {
            if (const auto why = check_bare_stamp(now_, *bare)) return reset_all(*why);
            return from_base(now_.cursor_at(*bare));
        }
        if (const auto* rest = std::get_if<rest_cursor>(&from)) {
            if (const auto why = check_cursor(now_, *rest)) return reset_all(*why);
            return from_base(*rest);
        }
        const auto& page = std::get<page_cursor>(from);
        if (const auto why = check_page(now_, page)) return reset_all(*why);
        if (page.base) find_starting_over(page.base->at);
        return page;
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
        out.ceiling = here_;
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
        if (tell_delta()) {
            (void)at_rest(place_.ceiling);
        } else {
            stop_here();
        }
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
        bool complete = true;
        row_reader::place last;
        bool moved = false;
        try {
            const auto gone = [&](std::uint64_t hash) {
                return find_gone_key(now_, t, seen_, hash, [&] { spend(); });
            };
            t.rows->scan({at.last_key, at.cut, at.last_key_hash}, gone,
                         [&](const statement& row, int key_column) {
                             if (full()) {
                                 complete = false;
                                 return false;
                             }
                             spend();
                             change c{name, change_op::read, {}, {}, {}, 0};
                             c.key = t.rows->append_key(row, key_column, out_.changes.bytes);
                             t.rows->append_row(row, key_column, c, out_.changes.bytes);
                             out_.changes.changes.push_back(c);
                             last = t.rows->place_of(row, key_column);
                             moved = true;
                             return true;
                         });
        } catch (const boost::system::system_error& e) {
            if (e.code() != make_error_code(errc::malformed_cursor)) throw;
            // The key is another one since this run began; the next cursor at rest will start the table over.
        }
        if (moved) {
            at.last_key = std::move(last.last_key);
            at.cut = last.cut;
            at.last_key_hash = last.hash;
        }
        return complete;
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

    // False when the answer is full before the delta's end.
    bool tell_delta() {
        const auto planned = plan();
        log_reader::walk entries(now_.log());
        auto& at = std::get<telling_place>(place_.phase);
        auto next =
            std::upper_bound(planned->changes().begin(), planned->changes().end(), at.told,
                             [](stamp told, const planned_change& p) { return told < p.at; });
        for (; next != planned->changes().end(); ++next) {
            if (full()) return false;
            spend();
            tell_change(*next, entries);
            at.told = next->at;
        }
        return true;
    }

    void tell_change(const planned_change& p, log_reader::walk& entries) {
        if (!entries.to(p.at)) {
            // Folded since the plan was made: the row's next entry stands above the ceiling, for the next run.
            if (!now_.log().digest_at(p.at)) fail(errc::damaged);
            return;
        }
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

std::optional<reset_reason> check_bare_stamp(const feed_view::snapshot& now, stamp at) {
    if (at > now.head()) return reset_reason::ahead_of_head;
    if (at < now.state().floor) return reset_reason::below_floor;
    return std::nullopt;
}

std::optional<reset_reason> check_cursor(const feed_view::snapshot& now, const rest_cursor& at) {
    if (at.at > now.head()) return reset_reason::ahead_of_head;
    if (at.lineage != now.state().short_lineage()) return reset_reason::restored;
    if (at.at < now.state().floor) return reset_reason::below_floor;
    if (at != now.cursor_at(at.at)) return reset_reason::restored;
    return std::nullopt;
}

answer answer_changes(const feed_view::snapshot& now, plan_cache& plans, const question& q) {
    if (!now.installed()) {
        if (!q.want.tables.empty()) fail(errc::unknown_table);
        answer out;
        const bool fresh = std::holds_alternative<from_now>(q.from) ||
                           std::holds_alternative<from_nothing>(q.from);
        if (!fresh) out.reset = reset{reset_reason::ahead_of_head, {}, {}};
        out.next = rest_cursor{};
        return out;
    }
    return run(now, plans, q).make();
}

std::string version_of(const feed_view::snapshot& now) {
    std::array<char, 128> text{};
    const meta& m = now.state();
    const rest_cursor here = now.cursor_at(now.head());
    const auto hex = [](std::int64_t n) { return static_cast<unsigned long long>(n); };
    const int size =
        std::snprintf(text.data(), text.size(), "%08x.%llx.%08x.%llx.%llx.%llx.%llx", here.lineage,
                      hex(here.at.n), here.digest, hex(now.schema_version()),
                      hex(m.catalog_version), hex(m.floor.n), hex(m.folded));
    return {text.data(), static_cast<std::size_t>(size)};
}

rows_page answer_rows(const feed_view::snapshot& now, const rows_question& q) {
    if (!now.installed()) fail(errc::unknown_table);
    catalog_table* t = now.tables().live(q.table);
    if (t == nullptr && now.tables().unknown({{q.table}})) fail(errc::unknown_table);
    rows_page out;
    out.head = now.head();
    out.version = version_of(now);
    page_cursor place;
    place.ceiling = now.cursor_at(now.head());
    reading_place at;
    if (!q.after.empty()) {
        const auto parsed = parse_position(q.after);
        const auto* page = parsed ? std::get_if<page_cursor>(&*parsed) : nullptr;
        const auto* reading = page != nullptr ? std::get_if<reading_place>(&page->phase) : nullptr;
        if (reading == nullptr || page->base) fail(errc::malformed_cursor);
        if (check_page(now, *page)) fail(errc::page_gone);
        place = *page;
        at = *reading;
        if (t == nullptr || t->row.generation_at > place.ceiling.at) fail(errc::page_gone);
        if (at.table_id != t->row.table_id) fail(errc::malformed_cursor);
    }
    const stamp seen = place.highest.at;
    place.highest = now.cursor_at(now.head());
    out.cursor = to_text(place.ceiling);
    if (!q.known_version.empty() && q.known_version == out.version) {
        out.unchanged = true;
        return out;
    }
    if (t == nullptr) return out;  // known to the log, not there at the moment
    out.rows.tables = {t->row.name};
    at.table_id = t->row.table_id;
    at.begun = true;
    std::int64_t effort = 0;
    const auto spend = [&] {
        if (q.effort_max > 0 && ++effort > q.effort_max) fail(errc::too_long);
    };
    const auto gone = [&](std::uint64_t hash) { return find_gone_key(now, *t, seen, hash, spend); };
    row_reader::place last{at.last_key, at.cut, at.last_key_hash};
    bool complete = true;
    t->rows->scan(last, gone, [&](const statement& row, int key_column) {
        if (out.rows.changes.size() >= static_cast<std::size_t>(q.rows_max) ||
            out.rows.bytes.size() >= q.bytes_max) {
            complete = false;
            return false;
        }
        spend();
        change c{0, change_op::read, {}, {}, {}, 0};
        c.key = t->rows->append_key(row, key_column, out.rows.bytes);
        t->rows->append_row(row, key_column, c, out.rows.bytes);
        out.rows.changes.push_back(c);
        last = t->rows->place_of(row, key_column);
        return true;
    });
    if (!complete) {
        place.phase = reading_place{at.table_id, true, last.last_key, last.cut, last.hash};
        out.next = to_text(place);
    }
    return out;
}

}  // namespace litefeed
