#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "server/net.hpp"
#include "server/shared_blocks.hpp"

namespace litefeed::server {

class subscribers;
struct subscriber_group;

/// One open stream: a socket, a place, and at most one block on its way. No parser, no timer, no buffer of its own.
/// Loop thread only.
class subscriber : public std::enable_shared_from_this<subscriber> {
  public:
    enum class written { whole, partly, lost };

    subscriber(tcp_socket socket, subscribers& set, subscriber_group* home, place_ptr at);

    /// Hands a block to the kernel, as far as it takes it; `partly` goes on by itself and then tells the set. The
    /// place moves when the last byte was taken. Not while `sending`.
    written send(block_ptr, steady::time_point now);
    [[nodiscard]] bool sending() const { return out_ != nullptr; }
    [[nodiscard]] bool ended() const { return !socket_.is_open(); }

    /// Reads and drops what the client still sends, to notice when it goes.
    void notice_close();
    /// Ends the connection with a FIN after what was written.
    void end();

    place_ptr at;
    subscriber_group* const home;  ///< stands until it is out of its seat, so not after `ended`
    std::size_t seat = 0;          ///< index in the group
    std::uint32_t token_id = 0;    ///< the token that it was opened with; 0 where none is needed
    bool announced = false;        ///< the client knows where the stream starts
    bool asking = false;           ///< the pool reads for it
    /// Why `bye` follows what is on its way, and then the end: a word that outlives it; empty: it stays.
    std::string_view leaving;
    bool parting = false;         ///< `bye` is on its way
    steady::time_point progress;  ///< when the kernel last took a byte

  private:
    written flush(steady::time_point now);
    void wait_writable();
    void wait_broken();
    void drain();

    tcp_socket socket_;
    subscribers& set_;
    block_ptr out_;
    std::size_t sent_ = 0;
    std::size_t ignored_ = 0;  ///< bytes that the client sent after its request
};

}  // namespace litefeed::server
