#include "server/keeper_thread.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace litefeed::server {
namespace {

// A repair meets writers: a few short tries, then whoever asked decides.
constexpr int tries_max = 20;
constexpr std::chrono::milliseconds pause_between_tries{10};
constexpr std::chrono::milliseconds pause_between_wishes{250};

}  // namespace

watch_report grant(keeper& by, const watch_wish& wish) {
    return wish.all ? by.watch_all(wish.options) : by.watch(wish.tables, wish.options);
}

void tell(const watch_report& report, bool kept) {
    for (const auto& t : report.watched) spdlog::info("watches {}", t);
    for (const auto& t : report.repaired) spdlog::warn("watches {} again, in a new generation", t);
    if (kept)
        for (const auto& t : report.kept) spdlog::info("watches {} already", t);
    for (const auto& [t, why] : report.refused) spdlog::warn("skips {}: {}", t, why);
    for (const auto& [t, what] : report.warnings) spdlog::warn("{}: {}", t, what);
}

keeper_thread::keeper_thread(std::string path, std::optional<keeper> writer, watch_wish wish,
                             bool open, bool names_columns)
    : path_(std::move(path)),
      writer_(std::move(writer)),
      wish_(std::move(wish)),
      names_columns_(names_columns),
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

void keeper_thread::repair(stamp seen, done after) {
    {
        const std::lock_guard lock(mutex_);
        asked_.push_back(std::move(after));
        seen_ = std::max(seen_, seen);
    }
    came_.notify_all();
}

void keeper_thread::watch_again() {
    if (wish_.empty()) return;
    {
        const std::lock_guard lock(mutex_);
        wish_open_ = true;
    }
    came_.notify_all();
}

std::string keeper_thread::trouble() const {
    const std::lock_guard lock(mutex_);
    return trouble_;
}

void keeper_thread::work() {
    bool wish_open = false;
    for (;;) {
        std::vector<done> now;
        stamp seen;
        {
            std::unique_lock lock(mutex_);
            const auto asked = [&] { return stopping_ || !asked_.empty(); };
            if (wish_open)
                came_.wait_for(lock, pause_between_wishes, asked);
            else
                came_.wait(lock, [&] { return asked() || wish_open_; });
            if (stopping_) return;
            now.swap(asked_);
            seen = std::exchange(seen_, stamp{});
            if (wish_open_) writer_.reset();  // it has the file that was
            wish_open = std::exchange(wish_open_, false) || wish_open;
        }
        if (wish_open) wish_open = !attempt_wish();
        if (!now.empty()) attempt(seen);
        for (const auto& after : now) after();
    }
}

bool keeper_thread::open_writer() {
    if (writer_) return true;
    try {
        writer_.emplace(keeper::open(path_, true));
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
        auto report = grant(*writer_, wish_);
        if (!names_columns_) {
            report.refused.clear();
            report.warnings.clear();
        }
        tell(report, false);
    } catch (const not_now& why) {
        failed(why.what(), false);
        return false;
    } catch (const cannot& why) {
        writer_.reset();  // it may be yet another file by now
        failed(names_columns_ ? why.what()
                              : "what --watch names cannot be watched; litefeed watch says why",
               true);
        return false;
    }
    done_well();
    return true;
}

void keeper_thread::attempt(stamp seen) {
    for (int i = 0; i < tries_max; ++i) {
        if (!open_writer()) return;
        const auto report = writer_->repair(seen);
        if (report) {
            for (const auto& [table, reason] : report->generations)
                spdlog::warn("{}: a new generation begins ({})", table, reason);
            for (const auto& table : report->dropped) spdlog::warn("{}: the table is gone", table);
            // In words, a refusal names columns, and not every column may be named.
            if (names_columns_)
                for (const auto& text : report->problems) spdlog::error("{}", text);
            else if (!report->problems.empty())
                spdlog::error("a table cannot be watched any more: litefeed status {}", path_);
            done_well();
            return;
        }
        if (report.error() != errc::busy) {
            failed("capture in " + path_ + " cannot be put in order: " + report.error().message(),
                   true);
            writer_.reset();  // opened anew at the next try
        }
        std::unique_lock lock(mutex_);
        if (came_.wait_for(lock, pause_between_tries, [&] { return stopping_; })) return;
    }
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
