#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// What the load generators share. Loopback only: nothing here can reach another machine.
namespace bench {

inline double now_us() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

[[noreturn]] inline void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

/// A descriptor that closes itself.
class descriptor {
  public:
    descriptor() = default;
    explicit descriptor(int fd) : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() {
        if (fd_ >= 0) close(fd_);
    }
    [[nodiscard]] int get() const { return fd_; }

  private:
    int fd_ = -1;
};

/// As many descriptors as the machine lets us have.
inline void raise_descriptor_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

inline sockaddr_in loopback(std::uint32_t host, int port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(static_cast<std::uint16_t>(port));
    out.sin_addr.s_addr = htonl(host);
    return out;
}

/// A blocking connection to 127.0.0.1. `from` spreads the source over 127.0.0.2 and on: one address has 28,000 ports.
inline descriptor connect_to(int port, std::size_t from = 0) {
    descriptor out(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (out.get() < 0) fail("socket");
    const int on = 1;
    setsockopt(out.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (from > 0) {
        setsockopt(out.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        const sockaddr_in source = loopback(0x7f000001U + static_cast<std::uint32_t>(from), 0);
        if (bind(out.get(), reinterpret_cast<const sockaddr*>(&source), sizeof source) < 0) {
            fail("bind");
        }
    }
    const sockaddr_in to = loopback(INADDR_LOOPBACK, port);
    if (connect(out.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) < 0) fail("connect");
    return out;
}

inline void send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) fail("send");
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

inline void make_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

/// What processes have worked so far, in µs; the scheduler counts in ns, over all their threads.
inline double cpu_us(const std::vector<int>& pids) {
    double ns = 0;
    for (const int pid : pids) {
        std::error_code gone;
        const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
        for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
            double one = 0;
            std::ifstream(task.path() / "schedstat") >> one;
            ns += one;
        }
    }
    return ns / 1e3;
}

/// Resident memory of processes, in KB.
inline double resident_kb(const std::vector<int>& pids) {
    double out = 0;
    for (const int pid : pids) {
        std::ifstream file("/proc/" + std::to_string(pid) + "/status");
        for (std::string word; file >> word;) {
            double kb = 0;
            if (word == "VmRSS:" && file >> kb) out += kb;
        }
    }
    return out;
}

/// The value below which `part` (0 to 1) of the values lie.
inline double quantile(std::vector<double> of, double part) {
    if (of.empty()) return 0;
    std::sort(of.begin(), of.end());
    const double place = part * static_cast<double>(of.size() - 1);
    return of[static_cast<std::size_t>(place + 0.5)];
}

}  // namespace bench
