#include "server/server.hpp"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace litefeed::server {
namespace {

// Two threads answer what is too long for a loop: one long read does not wait for another, and the owner's machine is
// left alone otherwise.
constexpr int pool_threads = 2;
// Kept for SQLite's files, the log, and answers that say that the server is full.
constexpr std::size_t descriptors_reserved = 128;
// A read on the pool may wait for a writer: nothing else waits for it. No longer, since such a wait hears no interrupt,
// and who is not answered by then asks again.
constexpr std::chrono::milliseconds pool_busy_timeout{200};

// For answers that the loops still wait for, in the time that they have themselves.
constexpr std::chrono::milliseconds pool_end{300};

std::size_t raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace

server::server(server_options options, std::unique_ptr<keeper_thread> writer,
               std::unique_ptr<token_file> tokens,
               std::vector<std::vector<listening_socket>> sockets)
    : options_(std::move(options)),
      columns_(options_.columns),
      writer_(std::move(writer)),
      tokens_(std::move(tokens)) {
    ::signal(SIGPIPE, SIG_IGN);
    const auto descriptors = raise_descriptor_limit();
    const auto usable = descriptors > 2 * descriptors_reserved ? descriptors - descriptors_reserved
                                                               : descriptors / 2;
    spdlog::info("{} descriptors, so at most {} connections", descriptors, usable);

    feed_options reading{.read_only = !writer_,
                         .serving = true,
                         .hands_off = options_.read_only,
                         .row_bytes_max = options_.row_bytes_max};
    auto pooled = reading;
    pooled.busy_timeout = pool_busy_timeout;
    pool_ = std::make_unique<read_pool>(options_.database, pooled, &columns_, pool_threads);
    shared_.options = &options_;
    shared_.columns = &columns_;
    shared_.pool = pool_.get();
    shared_.writer = writer_.get();
    shared_.tokens = tokens_.get();
    shared_.connections_max = usable / sockets.size();
    shared_.surplus_max = (descriptors - usable) / 2 / sockets.size();
    shared_.started = std::chrono::system_clock::now();
    for (auto& own : sockets) {
        auto& l = loops_.emplace_back(std::make_unique<loop>(shared_, reading));
        for (auto& s : own) {
            const bool v6 = s.v6();
            l->listen_on(s.take(), v6);
        }
    }
    for (auto& l : loops_) shared_.stats.push_back(&l->stats());
    for (auto& l : loops_)
        threads_.emplace_back([this, &l = *l] {
            try {
                l.run();
            } catch (const std::exception& why) {
                spdlog::critical("a loop ended: {}", why.what());
                failed_ = true;
                ::kill(::getpid(), SIGTERM);
            }
        });
}

server::~server() { stop(); }

void server::stop() {
    for (auto& l : loops_) l->stop();
    if (pool_) pool_->stop(std::chrono::steady_clock::now() + pool_end);
    for (auto& t : threads_)
        if (t.joinable()) t.join();
    threads_.clear();
    // Its jobs hold what belongs to the loops, so it goes first.
    pool_.reset();
    writer_.reset();
    loops_.clear();
}

}  // namespace litefeed::server
