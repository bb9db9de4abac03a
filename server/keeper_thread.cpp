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

}  // namespace

keeper_thread::keeper_thread(std::string path, keeper writer, bool names_columns)
    : path_(std::move(path)),
      writer_(std::move(writer)),
      names_columns_(names_columns),
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

void keeper_thread::work() {
    for (;;) {
        std::vector<done> now;
        stamp seen;
        {
            std::unique_lock lock(mutex_);
            came_.wait(lock, [&] { return stopping_ || !asked_.empty(); });
            if (stopping_) return;
            now.swap(asked_);
            seen = std::exchange(seen_, stamp{});
        }
        attempt(seen);
        for (const auto& after : now) after();
    }
}

void keeper_thread::attempt(stamp seen) {
    for (int i = 0; i < tries_max; ++i) {
        if (!writer_) {
            try {
                writer_.emplace(keeper::open(path_, true));
            } catch (const cannot& why) {
                spdlog::error("{}", why.what());
                return;
            }
        }
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
            return;
        }
        if (report.error() != errc::busy) {
            spdlog::error("repair of {}: {}", path_, report.error().message());
            writer_.reset();  // opened anew at the next try
        }
        std::unique_lock lock(mutex_);
        if (came_.wait_for(lock, pause_between_tries, [&] { return stopping_; })) return;
    }
}

}  // namespace litefeed::server
