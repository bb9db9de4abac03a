#include "server/source.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace litefeed::server {
namespace {

constexpr std::chrono::milliseconds pause_min{100}, pause_max{5000};
constexpr int sqlite_cantopen = 14;  // the code of "unable to open database file"

}  // namespace

source::source(std::string path, feed_options options)
    : path_(std::move(path)), options_(std::move(options)) {
    feed_.emplace(feed::open(path_, options_));
    ++openings_;
}

void source::lose(const error_code& why) {
    spdlog::error("{} cannot be read: {}; it is opened again until it can", path_, why.message());
    feed_.reset();
    trouble_ = why;
    words_ = why.message();
    pause_ = pause_min;
    again_at_ = std::chrono::steady_clock::now() + pause_;
}

bool source::reopen() {
    const auto now = std::chrono::steady_clock::now();
    if (now < again_at_) return false;
    try {
        feed_.emplace(feed::open(path_, options_));
    } catch (const cannot& why) {
        if (words_ != why.what()) spdlog::error("{}", why.what());
        words_ = why.what();
        trouble_ = error_code(sqlite_cantopen, sqlite_category());
        pause_ = std::min(std::max(pause_ * 2, pause_min), pause_max);
        again_at_ = now + pause_;
        return false;
    }
    spdlog::info("{} is read again", path_);
    words_.clear();
    trouble_ = {};
    pause_ = pause_min;
    ++openings_;
    return true;
}

}  // namespace litefeed::server
