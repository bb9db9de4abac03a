#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "server/keeper_thread.hpp"
#include "server/listener.hpp"
#include "server/loop.hpp"
#include "server/options.hpp"
#include "server/read_pool.hpp"
#include "server/tokens.hpp"

namespace litefeed::server {

/// The running server: its loops, the pool, the keeper. Runs from construction to `stop` or destruction.
class server {
  public:
    /// `writer`: none when nothing is written. `tokens`: none when everyone may ask. Throws `cannot`. Signals that `stop`
    /// waits for must be blocked by the caller before, since threads start here.
    server(server_options options, std::unique_ptr<keeper_thread> writer,
           std::unique_ptr<token_file> tokens, std::vector<std::vector<listening_socket>> sockets);
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Ends every stream with a `bye`, and returns when all loops have ended: within a second.
    void stop();
    /// Whether a loop ended by an error of its own.
    [[nodiscard]] bool failed() const { return failed_; }

  private:
    server_options options_;
    chosen_columns columns_;
    std::unique_ptr<read_pool> pool_;
    std::unique_ptr<keeper_thread> writer_;
    std::unique_ptr<token_file> tokens_;
    shared_parts shared_;
    std::vector<std::unique_ptr<loop>> loops_;
    std::vector<std::thread> threads_;
    std::atomic<bool> failed_{false};
};

}  // namespace litefeed::server
