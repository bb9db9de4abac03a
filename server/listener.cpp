#include "server/listener.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "core/errc.hpp"
#include "server/host.hpp"
#include "server/parameters.hpp"

namespace litefeed::server {
namespace {

// A peer that vanished without a word is given up after this long; the kernel resends meanwhile.
constexpr unsigned user_timeout_ms = 60'000;
constexpr int backlog = 4096;

/// Not bound, and the system's word for why.
class cannot_bind : public cannot {
  public:
    cannot_bind(const std::string& what, int code) : cannot(what), code_(code) {}
    [[nodiscard]] int code() const { return code_; }

  private:
    int code_;
};

struct address {
    sockaddr_storage bytes{};
    socklen_t size = 0;
    [[nodiscard]] bool v6() const { return bytes.ss_family == AF_INET6; }
    void set_port(std::uint16_t port) {
        if (v6())
            reinterpret_cast<sockaddr_in6*>(&bytes)->sin6_port = htons(port);
        else
            reinterpret_cast<sockaddr_in*>(&bytes)->sin_port = htons(port);
    }
};

std::vector<address> resolve(const std::string& host) {
    std::vector<address> out;
    const std::vector<std::string> names = host == "localhost"
                                               ? std::vector<std::string>{"127.0.0.1", "::1"}
                                               : std::vector<std::string>{host};
    for (const auto& name : names) {
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = AI_PASSIVE;
        addrinfo* found = nullptr;
        const int failed = ::getaddrinfo(name.c_str(), nullptr, &hints, &found);
        if (failed != 0)
            throw cannot("cannot listen on " + host + ": " + ::gai_strerror(failed) +
                         "; give an address of this machine");
        const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
        address a;
        a.size = found->ai_addrlen;
        std::memcpy(&a.bytes, found->ai_addr, found->ai_addrlen);
        out.push_back(a);
    }
    return out;
}

std::string address_text(const address& a) {
    char text[INET6_ADDRSTRLEN] = {};
    if (a.v6())
        ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&a.bytes)->sin6_addr, text,
                    sizeof text);
    else
        ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&a.bytes)->sin_addr, text,
                    sizeof text);
    return text;
}

std::uint16_t bound_port(int fd) {
    address a;
    a.size = sizeof a.bytes;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&a.bytes), &a.size) != 0) return 0;
    return ntohs(a.v6() ? reinterpret_cast<sockaddr_in6*>(&a.bytes)->sin6_port
                        : reinterpret_cast<sockaddr_in*>(&a.bytes)->sin_port);
}

std::string url_of(const address& a, std::uint16_t port) {
    const auto text = address_text(a);
    return "http://" + (a.v6() ? "[" + text + "]" : text) + ":" + std::to_string(port);
}

void set(int fd, int level, int name, int value) {
    // Options only tune; a kernel that does not know one still serves.
    ::setsockopt(fd, level, name, &value, sizeof value);
}

/// Binds and listens. `shared`: other sockets of this process may have the address already.
listening_socket open_one(const address& a, bool shared, bool will_share) {
    const int fd = ::socket(a.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        throw cannot_bind(std::string("cannot open a socket: ") + std::strerror(errno), errno);
    listening_socket out(fd, a.v6(), "");
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (a.v6()) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (shared) set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    // Accepted sockets inherit these, which saves a call for each.
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(user_timeout_ms));
    const auto port = ntohs(a.v6() ? reinterpret_cast<const sockaddr_in6*>(&a.bytes)->sin6_port
                                   : reinterpret_cast<const sockaddr_in*>(&a.bytes)->sin_port);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&a.bytes), a.size) != 0) {
        const int why = errno;
        throw cannot_bind(
            "cannot listen on " + url_of(a, port) + ": " + std::strerror(why) +
                (why == EADDRINUSE ? "; another program has it: choose another port with --listen"
                                   : ""),
            why);
    }
    // Only now may others of ours join: the bind above was refused to any second server.
    if (!shared && will_share) set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (::listen(fd, backlog) != 0)
        throw cannot_bind("cannot listen on " + url_of(a, port) + ": " + std::strerror(errno),
                          errno);
    return {out.take(), a.v6(), url_of(a, bound_port(fd))};
}

}  // namespace

listen_address parse_listen(std::string_view text) {
    const auto bad = [&]() {
        return cannot("--listen " + std::string(text) +
                      ": give HOST:PORT, for example 127.0.0.1:7070 or [::1]:7070");
    };
    const auto colon = text.rfind(':');
    const auto port =
        parse_digits(colon == std::string_view::npos ? text : text.substr(colon + 1), 65535);
    if (!port) throw bad();
    auto host =
        colon == std::string_view::npos ? std::string_view("127.0.0.1") : text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    else if (host.find(':') != std::string_view::npos)
        throw bad();
    if (host.empty()) throw bad();
    return {std::string(host), static_cast<std::uint16_t>(*port)};
}

listening_socket::listening_socket(listening_socket&& from) noexcept
    : fd_(from.take()), v6_(from.v6_), url_(std::move(from.url_)) {}

listening_socket::~listening_socket() {
    if (fd_ >= 0) ::close(fd_);
}

int listening_socket::take() { return std::exchange(fd_, -1); }

std::vector<std::vector<listening_socket>> open_listeners(const std::string& where, int loops,
                                                          bool beyond_loopback) {
    const auto asked = parse_listen(where);
    auto addresses = resolve(asked.host);
    for (const auto& a : addresses)
        if (!beyond_loopback && !is_loopback(address_text(a)))
            throw cannot("listening on " + address_text(a) +
                         " lets anyone who reaches it read the tables: give --token-file FILE, or, "
                         "if that is meant, --insecure");
    std::vector<std::vector<listening_socket>> out(static_cast<std::size_t>(loops));
    auto port = asked.port;
    for (auto& a : addresses) {
        a.set_port(port);
        try {
            out[0].push_back(open_one(a, false, loops > 1));
        } catch (const cannot_bind& why) {
            // A machine without IPv6 has one loopback only.
            if (a.v6() && !out[0].empty() && why.code() != EADDRINUSE) {
                spdlog::warn("{}", why.what());
                continue;
            }
            throw;
        }
        const auto& url = out[0].back().url();
        port = static_cast<std::uint16_t>(*parse_digits(url.substr(url.rfind(':') + 1), 65535));
        a.set_port(port);
        for (std::size_t i = 1; i < out.size(); ++i) out[i].push_back(open_one(a, true, true));
    }
    return out;
}

}  // namespace litefeed::server
