#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <functional>
#include <string>

#include "server/net.hpp"

namespace litefeed::server {

/// Told by the kernel (inotify) that the database or its -wal is being written. A hint and no more: it mostly comes before
/// the commit can be seen, and over a network, or out of a virtual machine, it never comes. One loop's.
class file_watch {
  public:
    file_watch(const executor& on, std::string database);

    /// Calls `written` once, on the loop, when something was told that `drain` did not take. While a call is still to
    /// come, asking again does nothing.
    void wait(std::function<void()> written);
    /// Takes what was told so far; whether there was anything.
    bool drain();
    /// Watches what now bears the names: the -wal can be another file, or a new one.
    void renew();
    /// Nothing is told any more, and nothing waits.
    void close();
    /// The kernel watches the database at least.
    [[nodiscard]] bool stands() const { return stands_; }

  private:
    std::string database_;
    asio::posix::basic_stream_descriptor<executor> events_;
    bool stands_ = false;
    bool waits_ = false;
};

}  // namespace litefeed::server
