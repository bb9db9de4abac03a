#include "server/keeper_thread.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/sql_text.hpp"

namespace litefeed::server {
namespace {

// A repair meets writers: a few short tries, then whoever asked decides.
constexpr int tries_max = 20;
constexpr std::chrono::milliseconds pause_between_tries{10};
// What a few tries did not do waits for something: the owner's file is left alone meanwhile.
constexpr std::chrono::milliseconds pause_after_a_failure{250};
// What stopped it has passed by then: a long WAL, a writer that wrote all the time.
constexpr std::chrono::minutes pause_after_a_stop{1};

// Of one history the further; else what came last. Lineage 0: nothing was seen.
rest_cursor latest(const rest_cursor& before, const rest_cursor& now) {
    const bool keeps = now.lineage == 0 || (before.lineage == now.lineage && before.at > now.at);
    return keeps ? before : now;
}

// Soon, since a server may be restarted more often than it thins; not at once, since a start has other things to do.
std::chrono::steady_clock::duration first_thinning(std::chrono::seconds every) {
    return std::min<std::chrono::seconds>(every, std::chrono::minutes(1));
}

}  // namespace

watch_report grant(keeper& by, const watch_wish& wish) {
    return wish.all ? by.watch_all(wish.options, wish.keeping)
                    : by.watch(wish.tables, wish.options, wish.keeping);
}

patient_clock::wall patient_clock::now(wall by_system, steady by_steady) {
    // Before this was built no clock can have been right.
    constexpr wall built{std::chrono::sys_days{std::chrono::year{2026} / 11 / 1}};
    if (!begun_ || begun_->first < built) begun_.emplace(by_system, by_steady);
    const wall seen =
        begun_->first + std::chrono::duration_cast<wall::duration>(by_steady - begun_->second);
    return std::min(by_system, seen);
}

void tell(const watch_report& report, bool kept) {
    for (const auto& t : report.watched) spdlog::info("watches {}", t);
    for (const auto& t : report.repaired) spdlog::warn("watches {} again, in a new generation", t);
    if (kept)
        for (const auto& t : report.kept) spdlog::info("watches {} already", t);
    for (const auto& [t, why] : report.refused) spdlog::warn("skips {}: {}", t, why);
    for (const auto& [t, what] : report.warnings) spdlog::warn("{}: {}", t, what);
}

keeper_thread::keeper_thread(keeper_orders orders, std::optional<keeper> writer, bool open)
    : orders_(std::move(orders)),
      writer_(std::move(writer)),
      next_thinning_(std::chrono::steady_clock::now() + first_thinning(orders_.compact_every)),
      wish_open_(open),
      thread_([this] { work(); }) {}

keeper_thread::~keeper_thread() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    came_.notify_all();
    thread_.join();
}

void keeper_thread::repair(const rest_cursor& seen, done after) {
    {
        const std::lock_guard lock(mutex_);
        asked_.push_back(std::move(after));
        seen_ = latest(seen_, seen);
    }
    came_.notify_all();
}

void keeper_thread::begin_lineage(const rest_cursor& known, done after) {
    {
        const std::lock_guard lock(mutex_);
        gone_ = known;
        asked_.push_back(std::move(after));
    }
    came_.notify_all();
}

void keeper_thread::watch_again() {
    if (orders_.wish.empty()) return;
    {
        const std::lock_guard lock(mutex_);
        wish_open_ = true;
    }
    came_.notify_all();
}

void keeper_thread::see_watched(const std::vector<std::string>& tables) {
    const auto& wish = orders_.wish;
    const auto stands = [&](const std::string& wanted) {
        return std::any_of(tables.begin(), tables.end(),
                           [&](const auto& name) { return same_name(name, wanted); });
    };
    const bool all =
        wish.all ? !tables.empty() : std::all_of(wish.tables.begin(), wish.tables.end(), stands);
    if (!all) watch_again();
}

std::string keeper_thread::trouble() const {
    const std::lock_guard lock(mutex_);
    return trouble_;
}

void keeper_thread::work() {
    bool wish_open = false, repair_open = false;
    rest_cursor seen;
    std::optional<rest_cursor> gone;
    for (;;) {
        std::vector<done> now;
        {
            std::unique_lock lock(mutex_);
            const auto asked = [&] { return !asked_.empty() || wish_open_ || gone_; };
            if (repair_open || wish_open || gone)
                came_.wait_for(lock, pause_after_a_failure, [&] { return stopping_; });
            else if (orders_.compact_every.count() > 0)
                came_.wait_until(lock, next_thinning_, [&] { return stopping_ || asked(); });
            else
                came_.wait(lock, [&] { return stopping_ || asked(); });
            if (stopping_) return;
            now.swap(asked_);
            seen = latest(seen, std::exchange(seen_, rest_cursor{}));
            if (gone_) gone = std::exchange(gone_, std::nullopt);
            if (wish_open_) writer_.reset();  // it has the file that was
            wish_open = std::exchange(wish_open_, false) || wish_open;
        }
        if (gone && attempt_write([&](keeper& by) { return by.begin_lineage(*gone); }))
            gone.reset();
        if (wish_open) wish_open = !attempt_wish();
        if (!now.empty() || repair_open) repair_open = !attempt(seen);
        if (!repair_open) seen = {};
        for (const auto& after : now) after();
        if (orders_.compact_every.count() > 0 && std::chrono::steady_clock::now() >= next_thinning_)
            thin();
    }
}

void keeper_thread::thin() {
    next_thinning_ = std::chrono::steady_clock::now() + orders_.compact_every;
    if (!open_writer()) return;
    bool called_away = false;
    const auto go_on = [&](const thinning_report& so_far) {
        std::unique_lock lock(mutex_);
        called_away = came_.wait_for(lock, so_far.pause, [&] {
            return stopping_ || !asked_.empty() || wish_open_ || gone_;
        });
        return !called_away;
    };
    const auto now = clock_.now(std::chrono::system_clock::now(), std::chrono::steady_clock::now());
    const auto report = writer_->thin(
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count(),
        go_on);
    if (!report) {
        if (report.error() == errc::busy) return;
        if (report.error() == errc::damaged) {
            (void)attempt({});
            return;
        }
        spdlog::error("the log in {} cannot be thinned: {}", orders_.path,
                      report.error().message());
        writer_.reset();  // it may be another file by now
        return;
    }
    if (report->removed + report->folded > 0)
        spdlog::info("thinned the log: {} entries removed, {} folded, the floor is {}",
                     report->removed, report->folded, report->floor.n);
    if (called_away)
        next_thinning_ = std::chrono::steady_clock::now();
    else if (!report->finished)
        next_thinning_ = std::chrono::steady_clock::now() +
                         std::min<std::chrono::seconds>(pause_after_a_stop, orders_.compact_every);
}

bool keeper_thread::open_writer() {
    if (writer_) return true;
    try {
        writer_.emplace(keeper::open(orders_.path, true));
    } catch (const not_now& why) {
        failed(why.what(), false);
    } catch (const cannot& why) {
        failed(why.what(), true);
    }
    return writer_.has_value();
}

bool keeper_thread::attempt_wish() {
    if (!open_writer()) return false;
    try {
        auto report = grant(*writer_, orders_.wish);
        if (!orders_.names_columns) {
            report.refused.clear();
            report.warnings.clear();
        }
        tell(report, false);
    } catch (const not_now& why) {
        failed(why.what(), false);
        return false;
    } catch (const cannot& why) {
        writer_.reset();  // it may be yet another file by now
        failed(orders_.names_columns
                   ? why.what()
                   : "what --watch names cannot be watched; litefeed watch says why",
               true);
        return false;
    }
    done_well();
    return true;
}

void keeper_thread::tell_repair(const repair_report& report) const {
    for (const auto& [table, reason] : report.generations)
        spdlog::warn("{}: a new generation begins ({})", table, reason);
    for (const auto& table : report.dropped) spdlog::warn("{}: the table is gone", table);
    // In words, a refusal names columns, and not every column may be named.
    if (orders_.names_columns)
        for (const auto& text : report.problems) spdlog::error("{}", text);
    else if (!report.problems.empty())
        spdlog::error("a table cannot be watched any more: litefeed status {}", orders_.path);
}

// False: to be tried again.
template <class Write>
bool keeper_thread::attempt_write(Write&& write) {
    bool opened_anew = false;
    for (int i = 0; i < tries_max; ++i) {
        if (!open_writer()) return false;
        const result<repair_report> report = write(*writer_);
        if (report) {
            tell_repair(*report);
            done_well();
            return true;
        }
        const std::string words =
            "capture in " + orders_.path + " cannot be put in order: " + report.error().message();
        if (report.error() != errc::busy) {
            writer_.reset();  // it may be another file by now
            if (!std::exchange(opened_anew, true)) continue;
            failed(words, true);
            return false;
        }
        if (i + 1 == tries_max) failed(words, false);
        std::unique_lock lock(mutex_);
        if (came_.wait_for(lock, pause_between_tries, [&] { return stopping_; })) return false;
    }
    return false;
}

bool keeper_thread::attempt(const rest_cursor& seen) {
    return attempt_write([&](keeper& by) { return by.repair(seen); });
}

void keeper_thread::failed(const std::string& words, bool log) {
    {
        const std::lock_guard lock(mutex_);
        if (trouble_ == words) return;
        trouble_ = words;
    }
    if (log) spdlog::error("{}", words);
}

void keeper_thread::done_well() {
    const std::lock_guard lock(mutex_);
    trouble_.clear();
}

}  // namespace litefeed::server
