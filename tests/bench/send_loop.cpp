// The least that a server of event streams can do: what is posted goes to every subscriber by one
// send() each, from one prepared buffer, in one thread. What others are measured against.
// usage: send_loop PORT     GET anything: a stream; POST anything: sent to all. Ends by SIGTERM.
#include <sys/epoll.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <unordered_map>

#include "tests/bench/loopback.hpp"

namespace {

using namespace bench;

constexpr std::string_view stream_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
    "Transfer-Encoding: chunked\r\n\r\n4\r\n: x\n\r\n";
constexpr std::string_view posted = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

volatile std::sig_atomic_t ended = 0;

class server {
  public:
    explicit server(int port)
        : epoll_(epoll_create1(EPOLL_CLOEXEC)),
          listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        const int on = 1;
        setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        const sockaddr_in at = loopback(INADDR_LOOPBACK, port);
        if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) < 0 ||
            listen(listener_.get(), 4096) < 0) {
            fail("bind");
        }
        watch(listener_.get());
    }

    void run() {
        std::array<epoll_event, 256> ready{};
        while (ended == 0) {
            const int count = epoll_wait(epoll_.get(), ready.data(), ready.size(), 1000);
            for (int i = 0; i < count; ++i) {
                const int fd = ready[static_cast<std::size_t>(i)].data.fd;
                if (fd == listener_.get()) {
                    accept_all();
                } else {
                    read(fd);
                }
            }
        }
    }

  private:
    struct peer {
        descriptor socket;
        std::string request;
    };

    void watch(int fd) {
        epoll_event want{};
        want.events = EPOLLIN;
        want.data.fd = fd;
        epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &want);
    }

    void accept_all() {
        for (;;) {
            descriptor one(
                accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (one.get() < 0) return;
            const int on = 1;
            setsockopt(one.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            watch(one.get());
            const int fd = one.get();
            asking_.emplace(fd, peer{std::move(one), {}});
        }
    }

    void read(int fd) {
        std::array<char, 8192> bytes{};
        const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
        if (got <= 0) {
            if (got < 0 && errno == EAGAIN) return;
            subscribers_.erase(fd);
            asking_.erase(fd);
            return;
        }
        const auto at = asking_.find(fd);
        if (at == asking_.end()) return;
        std::string& request = at->second.request;
        request.append(bytes.data(), static_cast<std::size_t>(got));
        const auto end = request.find("\r\n\r\n");
        if (end == std::string::npos) return;
        if (request.compare(0, 4, "GET ") == 0) {
            send_all(fd, stream_head);
            subscribers_.emplace(fd, std::move(at->second.socket));
            asking_.erase(at);
            return;
        }
        const auto length = request.find("Content-Length: ");
        if (length == std::string::npos) return;
        const std::size_t whole = end + 4 + std::stoul(request.substr(length + 16));
        if (request.size() < whole) return;
        broadcast(request.substr(end + 4, whole - end - 4));
        send_all(fd, posted);
        request.clear();
    }

    void broadcast(const std::string& body) {
        const std::string event = "data: " + body + "\n\n";
        std::array<char, 32> size{};
        std::snprintf(size.data(), size.size(), "%zx\r\n", event.size());
        const std::string chunk = size.data() + event + "\r\n";
        for (const auto& [fd, socket] : subscribers_) {
            (void)send(fd, chunk.data(), chunk.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }

    descriptor epoll_, listener_;
    std::unordered_map<int, peer> asking_;
    std::unordered_map<int, descriptor> subscribers_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: send_loop PORT\n";
        return 2;
    }
    std::signal(SIGTERM, [](int) { ended = 1; });
    std::signal(SIGINT, [](int) { ended = 1; });
    try {
        raise_descriptor_limit();
        server(std::atoi(argv[1])).run();
    } catch (const std::exception& e) {
        std::cerr << "send_loop: " << e.what() << "\n";
        return 1;
    }
}
