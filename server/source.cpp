#include "server/source.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace litefeed::server {
namespace {

// A look costs little, and whoever waits should not wait much longer than the trouble lasts.
constexpr std::chrono::milliseconds pause_min{100}, pause_max{1000}, pause_max_locked{250};
constexpr std::chrono::minutes told_again_after{1};
constexpr std::size_t told_max = 100;
constexpr int sqlite_cantopen = 14;  // the code of "unable to open database file"

// Every thread sees the same trouble, and trouble may come and go: it is told once a minute.
bool first_to_tell(const std::string& words) {
    static std::mutex mutex;
    static std::map<std::string, std::chrono::steady_clock::time_point> told;
    const std::lock_guard lock(mutex);
    const auto now = std::chrono::steady_clock::now();
    if (told.size() > told_max) told.clear();
    const auto [known, is_new] = told.try_emplace(words, now);
    if (!is_new && now - known->second < told_again_after) return false;
    known->second = now;
    return true;
}

}  // namespace

source::source(std::string path, feed_options options, chosen_columns* columns)
    : path_(std::move(path)), options_(std::move(options)), columns_(columns) {
    try {
        take(open());
        ++openings_;
    } catch (const not_now& why) {
        wait(make_error_code(errc::busy), why.what(), pause_max_locked);
    }
}

source::source(later, std::string path, feed_options options, chosen_columns* columns)
    : path_(std::move(path)), options_(std::move(options)), columns_(columns) {}

feed source::open() const {
    auto options = options_;
    if (columns_ != nullptr && !columns_->empty()) {
        auto rules = columns_->rules();
        if (!rules) {
            auto looking = options;
            looking.read_only = true;
            auto bare = feed::open(path_, std::move(looking));
            const auto tables = bare.tables();
            if (!tables && tables.error() == errc::busy)
                throw not_now("cannot read " + path_ + ": another program holds it locked");
            if (!tables) throw cannot("cannot read " + path_ + ": " + tables.error().message());
            rules = columns_->read(tables->tables);
        }
        options.columns = std::move(*rules);
    }
    return feed::open(path_, std::move(options));
}

void source::take(std::optional<feed> fresh) {
    const std::lock_guard lock(mutex_);
    feed_ = std::move(fresh);
}

void source::interrupt() {
    const std::lock_guard lock(mutex_);
    if (feed_) feed_->interrupt();
}

void source::lose(const error_code& why) {
    take(std::nullopt);
    wait(why, why.message(), pause_max);
    tell(path_ + " cannot be read: " + words_ + "; it is opened again until it can");
}

void source::wait(const error_code& why, const std::string& words,
                  std::chrono::milliseconds longest) {
    trouble_ = why;
    words_ = words;
    pause_ = std::clamp(pause_ * 2, pause_min, longest);
    again_at_ = std::chrono::steady_clock::now() + pause_;
}

bool source::reopen() {
    if (std::chrono::steady_clock::now() < again_at_) return false;
    try {
        take(open());
    } catch (const not_now& why) {
        // A lock comes and goes, and is nothing to log.
        wait(make_error_code(errc::busy), why.what(), pause_max_locked);
        return false;
    } catch (const cannot& why) {
        wait(error_code(sqlite_cantopen, sqlite_category()), why.what(), pause_max);
        tell(words_);
        return false;
    }
    words_.clear();
    trouble_ = {};
    ++openings_;
    return true;
}

void source::tell(const std::string& words) {
    if (first_to_tell(words)) {
        spdlog::error("{}", words);
        told_ = true;
    }
}

void source::well() {
    pause_ = {};
    if (!told_) return;
    told_ = false;
    spdlog::info("{} is read again", path_);
}

}  // namespace litefeed::server
