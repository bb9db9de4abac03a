#include "server/file_watch.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "core/errc.hpp"

namespace litefeed::server {

file_watch::file_watch(const executor& on, std::string database)
    : database_(std::move(database)), events_(on) {
    const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) return;
    events_.assign(fd);
    renew();
}

void file_watch::renew() {
    if (!events_.is_open()) return;
    // SQLite puts the -wal beside the file itself, not beside a link to it.
    std::error_code unresolved;
    const auto path = std::filesystem::canonical(database_, unresolved);
    stands_ =
        !unresolved && ::inotify_add_watch(events_.native_handle(), path.c_str(), IN_MODIFY) >= 0;
    if (stands_)
        (void)::inotify_add_watch(events_.native_handle(), (path.string() + "-wal").c_str(),
                                  IN_MODIFY);
}

void file_watch::wait(std::function<void()> written) {
    if (waits_ || !events_.is_open()) return;
    waits_ = true;
    events_.async_wait(asio::posix::descriptor_base::wait_read,
                       [this, written = std::move(written)](const error_code& ended) {
                           waits_ = false;
                           if (!ended) written();
                       });
}

bool file_watch::drain() {
    if (!events_.is_open()) return false;
    std::array<char, 4096> events;
    bool any = false;
    while (::read(events_.native_handle(), events.data(), events.size()) > 0) any = true;
    return any;
}

void file_watch::close() {
    error_code ignored;
    events_.close(ignored);
    stands_ = false;
}

}  // namespace litefeed::server
