#include "server/read_pool.hpp"

namespace litefeed::server {

read_pool::read_pool(const std::string& path, const feed_options& options, chosen_columns* columns,
                     int threads) {
    std::vector<source> sources;
    sources.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) sources.emplace_back(source::later{}, path, options, columns);
    for (auto& s : sources)
        threads_.emplace_back([this, from = std::move(s)]() mutable { work(std::move(from)); });
}

read_pool::~read_pool() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    came_.notify_all();
    for (auto& t : threads_) t.join();
}

void read_pool::submit(job what) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(what));
    }
    came_.notify_one();
}

void read_pool::work(source from) {
    for (;;) {
        job next;
        {
            std::unique_lock lock(mutex_);
            came_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
            if (stopping_) return;
            next = std::move(jobs_.front());
            jobs_.pop_front();
        }
        next(from);
    }
}

}  // namespace litefeed::server
