#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace litefeed::server {

/// Some program that knows nothing of litefeed: it makes a database and goes on writing to it.
class demo_app {
  public:
    /// Throws `cannot`.
    explicit demo_app(const std::string& database);
    ~demo_app();
    demo_app(const demo_app&) = delete;
    demo_app& operator=(const demo_app&) = delete;

    /// A few prices a second, a note now and then.
    void start();

  private:
    struct state;
    std::unique_ptr<state> state_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace litefeed::server
