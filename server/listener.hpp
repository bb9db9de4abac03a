#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace litefeed::server {

/// `HOST:PORT` taken apart. A host in brackets is an IPv6 address; a port alone is one on 127.0.0.1.
struct listen_address {
    std::string host;
    std::uint16_t port = 0;
    friend bool operator==(const listen_address&, const listen_address&) = default;
};
/// Throws `cannot` for what is no such thing.
[[nodiscard]] listen_address parse_listen(std::string_view text);

/// A listening socket that nobody has taken yet; closes what was not taken.
class listening_socket {
  public:
    listening_socket(int fd, bool v6, std::string url) : fd_(fd), v6_(v6), url_(std::move(url)) {}
    listening_socket(listening_socket&& from) noexcept;
    listening_socket& operator=(listening_socket&&) = delete;
    ~listening_socket();

    [[nodiscard]] int take();
    [[nodiscard]] bool v6() const { return v6_; }
    /// `http://127.0.0.1:7070`
    [[nodiscard]] const std::string& url() const { return url_; }

  private:
    int fd_;
    bool v6_;
    std::string url_;
};

/// One set of sockets for each loop, all on the same addresses; the kernel spreads the connections. The first of an
/// address is bound alone, so that a port that anybody else listens on is refused, another litefeed too.
/// `localhost` is both loopbacks. Throws `cannot`; for an address that is not loopback unless `beyond_loopback`.
[[nodiscard]] std::vector<std::vector<listening_socket>> open_listeners(const std::string& where,
                                                                        int loops,
                                                                        bool beyond_loopback);

}  // namespace litefeed::server
