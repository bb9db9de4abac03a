#include "server/read_pool.hpp"

namespace litefeed::server {
namespace {

// An interrupt may fall between two statements of a read; the next one meets it.
constexpr std::chrono::milliseconds interrupt_every{5};

}  // namespace

read_pool::read_pool(const std::string& path, const feed_options& options, chosen_columns* columns,
                     int threads) {
    for (int i = 0; i < threads; ++i)
        sources_.emplace_back(source::later{}, path, options, columns);
    for (auto& from : sources_) threads_.emplace_back([this, &from] { work(from); });
}

read_pool::~read_pool() {
    stop(std::chrono::steady_clock::now());
    for (auto& t : threads_) t.join();
}

void read_pool::stop(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    ended_.wait_until(lock, deadline, [&] { return running_ == 0 && jobs_.empty(); });
    stopping_ = true;
    came_.notify_all();
    while (!ended_.wait_for(lock, interrupt_every, [&] { return running_ == 0; }))
        for (auto& from : sources_) from.interrupt();
}

bool read_pool::stopped() const {
    const std::lock_guard lock(mutex_);
    return stopping_;
}

void read_pool::submit(job what) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(what));
    }
    came_.notify_one();
}

void read_pool::work(source& from) {
    std::unique_lock lock(mutex_);
    for (;;) {
        came_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
        if (stopping_) return;
        job next = std::move(jobs_.front());
        jobs_.pop_front();
        ++running_;
        lock.unlock();
        next(from);
        next = nullptr;
        lock.lock();
        --running_;
        ended_.notify_all();
    }
}

}  // namespace litefeed::server
