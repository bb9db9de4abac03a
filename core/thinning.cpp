#include "core/thinning.hpp"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/format.hpp"
#include "core/log.hpp"
#include "core/marks.hpp"
#include "core/value.hpp"
#include "core/wal.hpp"

namespace litefeed {
namespace {

using clock = std::chrono::steady_clock;

// What a batch does takes about this long. The commit comes on top: nothing in a WAL, some milliseconds of waiting for
// the disk in a rollback journal, however little was done; so there a batch is larger.
constexpr std::chrono::microseconds work_in_wal{1000}, work_in_rollback{4000};
constexpr std::int64_t batch_min = 256, batch_begin = 512, batch_max = 8192;
// A writer that finds the lock taken waits 1, 2, 5, 10 ms and longer: it must find it free most of the time.
constexpr int pauses_per_batch = 4;
constexpr std::chrono::milliseconds pause_for_a_writer{20};
// A read blocks the writer's commit in a rollback journal, so it is short as well.
constexpr std::int64_t read_entries = 2000;
// SQLite checkpoints at 1000 frames by itself, so a WAL this long waits for something.
constexpr std::int64_t wal_frames_max = 2000, wal_frames_to_checkpoint = 1000;
// Rows whose entries are folded in one pass: bounds the memory, to some 64 MB.
constexpr std::int64_t fold_rows_max = 700'000;

struct hash_of_key {
    std::size_t operator()(const XXH128_hash_t& h) const noexcept { return h.low64; }
};
struct same_key {
    bool operator()(const XXH128_hash_t& a, const XXH128_hash_t& b) const noexcept {
        return XXH128_isEqual(a, b) != 0;
    }
};

std::int64_t window_ms(std::int64_t seconds) {
    return 1000 * std::clamp<std::int64_t>(seconds, 0, 10'000'000'000);
}

// How a table's entries are thinned.
struct table_rule {
    bool latest = false;
    std::int64_t cutoff_ms = 0;  // older ones may go
    stamp tells_from;            // what is below tells nobody anything any more
};

// Entries of a table that is not listed tell nobody anything, so they hold nothing up.
constexpr table_rule rule_of_nobody{false, std::numeric_limits<std::int64_t>::max(), stamp_max};

// What a power failure takes back of it is thinned again: no batch has to wait for the disk while it holds the lock. Not
// so in a rollback journal, where a batch that is only half on the disk would be a broken file.
class relaxed_sync {
  public:
    explicit relaxed_sync(const connection& db)
        : db_(db), before_(db.text("PRAGMA main.synchronous")) {
        if (db.text("PRAGMA main.journal_mode") == "wal")
            db_.execute("PRAGMA main.synchronous = NORMAL");
    }
    ~relaxed_sync() {
        try {
            db_.execute("PRAGMA main.synchronous = " + before_);
        } catch (const sqlite_error&) {  // NOLINT(bugprone-empty-catch): then it stays relaxed
        }
    }
    relaxed_sync(const relaxed_sync&) = delete;
    relaxed_sync& operator=(const relaxed_sync&) = delete;

  private:
    const connection& db_;
    std::string before_;
};

class thinner {
  public:
    thinner(const connection& db, const thinning_options& options,
            const std::function<bool(const thinning_report&)>& go_on)
        : db_(db),
          options_(options),
          go_on_(go_on),
          log_(db),
          wal_(db.text("PRAGMA main.journal_mode") == "wal") {}

    thinning_report run() {
        if (load()) {
            report_.finished = true;
            const relaxed_sync relaxed(db_);
            remove_through(std::max(end_by_age(), end_by_count()));
            fold();
        }
        report_.finished = report_.finished && !stopped_;
        report_.pause = {};
        return report_;
    }

  private:
    // False when there is nothing to do.
    bool load() {
        const transaction read(db_, transaction::kind::deferred);
        const meta m = read_meta(db_);
        schema_version_ = db_.integer("PRAGMA main.schema_version");
        report_.floor = m.floor;
        entries_max_ = m.entries_max;
        statement newest =
            prepare_own(db_, "SELECT seq, at_ms FROM main.litefeed_log ORDER BY seq DESC LIMIT 1");
        if (!newest.step()) return false;
        head_ = {newest.integer(0)};
        if (head_ <= m.floor) return false;
        // Anybody may write a number into the file.
        folded_ = std::clamp<std::int64_t>(m.folded, 0, head_.n - m.floor.n);
        here_ = log_.cursor_at(head_, m);
        now_ms_ = std::clamp<std::int64_t>(newest.integer(1), 0, options_.now_ms);
        statement slowest = prepare_own(db_, "SELECT min(seq) FROM main.litefeed_consumers");
        if (slowest.step() && !slowest.is_null(0)) slowest_ = {slowest.integer(0)};
        for (const watched_table& t : read_tables(db_)) {
            const std::int64_t window_s =
                t.keeping.retention_s > 0 ? t.keeping.retention_s : m.retention_s;
            const bool latest = t.keeping.latest && t.watched;
            // Of a table that is not watched any more only its end (`x`) is told.
            const stamp tells_from = t.watched ? t.generation_at : stamp_max;
            rules_[t.table_id] = {latest, now_ms_ - window_ms(window_s), tells_from};
            any_latest_ = any_latest_ || latest;
        }
        return true;
    }

    [[nodiscard]] const table_rule& rule(std::int64_t table_id) const {
        const auto found = rules_.find(table_id);
        return found != rules_.end() ? found->second : rule_of_nobody;
    }

    // The newest is never removed, or a number would come twice.
    [[nodiscard]] stamp highest_removable() const { return {head_.n - 1}; }
    [[nodiscard]] stamp highest_by_age() const { return std::min(highest_removable(), slowest_); }

    // Calls `each(seq, table_id, op, at_ms, row)` for the entries above `after` until it answers false.
    template <class Each>
    bool read_entries_above(stamp after, Each&& each) {
        statement rows =
            prepare_own(db_, "SELECT seq, table_id, op, at_ms, " +
                                 log_key_columns(static_cast<std::size_t>(log_.key_width())) +
                                 " FROM main.litefeed_log WHERE seq > ?1 ORDER BY seq LIMIT ?2");
        for (;;) {
            const auto begun = clock::now();
            {
                const transaction read(db_, transaction::kind::deferred);
                // A log that is wider by now has keys of which only a part would be seen.
                if (db_.integer("PRAGMA main.schema_version") != schema_version_) {
                    stopped_ = true;
                    return false;
                }
                rows.bind(1, after.n).bind(2, read_entries);
                std::int64_t count = 0;
                bool more = true;
                while (more && rows.step()) {
                    ++count;
                    after = {rows.integer(0)};
                    const std::string_view op = rows.text(2);
                    more = each(after, rows.integer(1), op.empty() ? ' ' : op.front(),
                                rows.integer(3), rows);
                }
                rows.reset();
                if (!more || count < read_entries) return true;
            }
            // Readers stand in a writer's way in a rollback journal only.
            if (!goes_on(wal_ ? clock::duration{} : clock::now() - begun)) return false;
        }
    }

    // How far the log's beginning is older than its tables' windows. An entry from the future, by a clock that stood
    // wrong, goes with what follows it: it neither ends the search nor is old by itself.
    stamp end_by_age() {
        stamp end;
        if (any_latest_) return end;
        (void)read_entries_above(report_.floor, [&](stamp at, std::int64_t table_id, char,
                                                    std::int64_t at_ms, const statement&) {
            if (at > highest_by_age()) return false;
            if (at_ms < rule(table_id).cutoff_ms) end = at;
            return at_ms < rule(table_id).cutoff_ms || at_ms > now_ms_;
        });
        return end;
    }

    stamp end_by_count() {
        stamp end;
        if (entries_max_ <= 0) return end;
        std::int64_t surplus = head_.n - report_.floor.n - folded_ - entries_max_;
        if (surplus <= 0) return end;
        (void)read_entries_above(report_.floor,
                                 [&](stamp at, std::int64_t, char, std::int64_t, const statement&) {
                                     end = std::min(at, highest_removable());
                                     return --surplus > 0;
                                 });
        return end;
    }

    void remove_through(stamp end) {
        report_.expected += std::max<std::int64_t>(0, end.n - report_.floor.n);
        while (report_.floor < end && !stopped_) {
            (void)write([&] { remove_some(end); });
        }
    }

    void remove_some(stamp end) {
        const meta m = read_meta(db_);  // somebody else may thin it, too
        report_.floor = std::max(report_.floor, m.floor);
        if (m.floor >= end) return;
        statement last = prepare_own(
            db_,
            "SELECT max(seq), count(*) FROM (SELECT seq FROM main.litefeed_log WHERE seq > ?1 AND "
            "seq <= ?2 ORDER BY seq LIMIT ?3)");
        last.bind(1, m.floor.n).bind(2, end.n).bind(3, batch_);
        if (!last.step() || last.is_null(0)) {
            report_.floor = end;  // folded meanwhile
            return;
        }
        const stamp through{last.integer(0)};
        const std::int64_t count = last.integer(1);
        last.reset();
        const std::uint32_t digest = log_.digest_at(through).value_or(0);
        statement remove =
            prepare_own(db_, "DELETE FROM main.litefeed_log WHERE seq > ?1 AND seq <= ?2");
        remove.bind(1, m.floor.n).bind(2, through.n).run();
        const std::int64_t folded = m.folded > 0 ? log_.count_folded(m.floor, through) : 0;
        if (m.folded > 0) drop_marks_below(db_, through);
        statement state = prepare_own(
            db_,
            "UPDATE main.litefeed_meta SET floor = ?1, floor_digest = ?2, folded = folded - ?3, "
            "compacted_at_ms = ?4 WHERE id = 0");
        state.bind(1, through.n).bind(2, static_cast<std::int64_t>(digest)).bind(3, folded);
        state.bind(4, options_.now_ms).run();
        report_.floor = through;
        report_.removed += count;
    }

    void fold() {
        if (!any_latest_ || stopped_) return;
        const stamp begin = report_.floor, end = highest_by_age();
        const std::int64_t standing =
            std::max<std::int64_t>(0, head_.n - report_.floor.n - folded_);
        const auto passes = static_cast<std::uint64_t>(standing / fold_rows_max + 1);
        for (std::uint64_t pass = 0; pass < passes && !stopped_; ++pass)
            remove_each(foldable(begin, end, pass, passes));
    }

    // What stands of one row and may become needless; 0: none.
    struct row_entries {
        stamp last, touch_before;  // an entry, and of one that replaced the row, its touch
        stamp touch;               // after it
        bool touch_stays = false;
        bool inserts = false;  // the row was not there before `last`
    };

    // The entries that the next one of the same row makes needless, of those rows whose turn it is, so that no reader's
    // delta changes, hints included, wherever a commit left it: an insert stands for an insert only, and a touch for a
    // touch. REPLACE of a row that is there writes a touch and an insert, with other touches between at most: an update.
    // Its touch goes after its insert, since a touch alone says nothing wrong.
    std::vector<stamp> foldable(stamp begin, stamp end, std::uint64_t pass, std::uint64_t passes) {
        std::unordered_map<XXH128_hash_t, row_entries, hash_of_key, same_key> rows;
        std::vector<stamp> out, touches_of_inserts;
        std::string name;
        stamp seen = begin,
              last_not_touch = begin;  // or one that is folded: nobody knows what it was
        const auto let_go = [](stamp at, std::vector<stamp>& to) {
            if (at != stamp{}) to.push_back(at);
        };
        const auto look = [&](stamp at, std::int64_t table_id, char op, std::int64_t at_ms,
                              const statement& row) {
            const stamp before = at.n == seen.n + 1 ? last_not_touch : stamp{at.n - 1};
            last_not_touch = op != 't' ? at : before;
            seen = at;
            const table_rule& how = rule(table_id);
            const bool old = at <= end && at_ms < how.cutoff_ms;
            if (at < how.tells_from) {
                if (pass == 0 && old && op != 'x') out.push_back(at);
                return true;
            }
            if (op != 'i' && op != 'u' && op != 'd' && op != 't') return true;
            name.assign(reinterpret_cast<const char*>(&table_id), sizeof table_id);
            encode_columns(row, first_key_column, log_.key_width(), name);
            const XXH128_hash_t hash = XXH3_128bits(name.data(), name.size());
            if (hash.high64 % passes != pass) return true;
            const auto found = rows.find(hash);
            const row_entries was = found != rows.end() ? found->second : row_entries{};
            row_entries now;
            const stamp touch = was.touch_stays ? stamp{} : was.touch;
            if (op == 't') {
                let_go(touch, out);
                now = was;
                now.touch = at;
                now.touch_stays = !old;
            } else {
                const bool replaces = op == 'i' && was.touch > before;
                now.last = at;
                now.inserts = op == 'i' && !replaces;
                if (replaces) now.touch_before = was.touch;
                const bool stands_for_a_touch = !now.inserts && !replaces;
                if (stands_for_a_touch) let_go(touch, out);
                if (now.inserts == was.inserts && (!now.inserts || was.touch == stamp{})) {
                    let_go(was.last, out);
                    let_go(was.touch_before, touches_of_inserts);
                }
            }
            if (old || op == 't') {
                rows[hash] = now;
            } else if (found != rows.end()) {
                rows.erase(found);
            }
            return true;
        };
        if (!read_entries_above(begin, look)) return {};
        std::sort(out.begin(), out.end());
        std::sort(touches_of_inserts.begin(), touches_of_inserts.end());
        out.insert(out.end(), touches_of_inserts.begin(), touches_of_inserts.end());
        return out;
    }

    void remove_each(const std::vector<stamp>& entries) {
        report_.expected += static_cast<std::int64_t>(entries.size());
        for (auto next = entries.begin(); next != entries.end() && !stopped_;) {
            const auto last = next + std::min<std::ptrdiff_t>(batch_, entries.end() - next);
            if (write([&] { fold_some(next, last); })) next = last;
        }
    }

    void fold_some(std::vector<stamp>::const_iterator next,
                   std::vector<stamp>::const_iterator last) {
        const stamp floor = read_meta(db_).floor;
        statement remove = prepare_own(db_, "DELETE FROM main.litefeed_log WHERE seq = ?1");
        std::vector<folded_entry> folded;
        for (; next != last; ++next) {
            if (*next <= floor) continue;
            const auto digest = log_.digest_at(*next);
            remove.bind(1, next->n).run();
            if (sqlite3_changes(db_.get()) > 0) folded.emplace_back(*next, digest.value_or(0));
        }
        keep_marks(db_, folded);
        const auto count = static_cast<std::int64_t>(folded.size());
        statement state = prepare_own(
            db_,
            "UPDATE main.litefeed_meta SET folded = folded + ?1, compacted_at_ms = ?2 WHERE id = "
            "0");
        state.bind(1, count).bind(2, options_.now_ms).run();
        report_.folded += count;
    }

    bool goes_on(clock::duration pause) {
        report_.pause = std::chrono::duration_cast<std::chrono::microseconds>(pause);
        stopped_ = stopped_ || !go_on_(report_);
        return !stopped_;
    }

    // One batch, whose size follows from how long the last one held the lock. False when nothing was written: it is a
    // writer's turn, or thinning is to end.
    template <class Work>
    bool write(Work&& work) {
        if (!wal_has_room()) {
            stopped_ = true;
            return false;
        }
        const thinning_report before = report_;
        const auto aim = wal_ ? work_in_wal : work_in_rollback;
        clock::duration worked{}, held{};
        try {
            transaction batch(db_, transaction::kind::immediate);
            // What was planned are numbers of a log: in a file that was restored meanwhile they name other entries.
            if (log_.cursor_at(head_, read_meta(db_)) != here_) {
                stopped_ = true;
                return false;
            }
            const auto begun = clock::now();
            work();
            worked = clock::now() - begun;
            batch.commit();
            held = clock::now() - begun;
        } catch (const sqlite_error& e) {
            if (e.code() != make_error_code(errc::busy)) throw;
            report_ = before;
            (void)goes_on(pause_for_a_writer);
            return false;
        }
        if (worked > aim) batch_ = std::max(batch_ / 2, batch_min);
        if (worked < aim / 2) batch_ = std::min(batch_ * 2, batch_max);
        (void)goes_on(pauses_per_batch * held);
        return true;
    }

    bool wal_has_room() const {
        if (!wal_) return true;
        const std::int64_t frames = wal_frames(db_);
        if (!options_.checkpoints) return frames < wal_frames_max;
        if (frames < wal_frames_to_checkpoint) return true;
        statement checkpoint = db_.prepare("PRAGMA main.wal_checkpoint(PASSIVE)");
        const bool all = checkpoint.step() && checkpoint.integer(1) == checkpoint.integer(2);
        return all || frames < wal_frames_max;
    }

    static constexpr int first_key_column = 4;

    const connection& db_;
    const thinning_options& options_;
    const std::function<bool(const thinning_report&)>& go_on_;
    log_reader log_;
    const bool wal_;
    thinning_report report_;
    stamp head_, slowest_ = stamp_max;
    rest_cursor here_;  // at the head
    std::int64_t now_ms_ = 0, folded_ = 0, entries_max_ = 0, schema_version_ = 0;
    bool any_latest_ = false, stopped_ = false;
    std::unordered_map<std::int64_t, table_rule> rules_;
    std::int64_t batch_ = batch_begin;
};

}  // namespace

thinning_report thin_log(const connection& db, const thinning_options& options,
                         const std::function<bool(const thinning_report&)>& go_on) {
    return thinner(db, options, go_on).run();
}

}  // namespace litefeed
