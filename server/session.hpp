#pragma once

#include <string>

#include "server/loop.hpp"
#include "server/net.hpp"
#include "server/request.hpp"
#include "server/response.hpp"

namespace litefeed::server {

/// Serves a connection on the loop, from its first request to its end or until it becomes a stream.
void serve_connection(loop&, tcp_socket);

/// One HTTP/1.x connection: requests in order, each answered before the next is read. Lives in its own task.
class session final : public live_session {
  public:
    session(loop& of, tcp_socket socket);
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    task<void> run();

    void expire(steady::time_point now) override;
    void wind_up() override;

  private:
    enum class phase { first_header, idle, header, answering, writing, lingering };

    task<bool> serve(request asked);
    task<bool> write(response out, bool body);
    task<bool> write_all(std::string head, std::string body);
    task<void> refuse(problem why);
    task<bool> read_some();
    task<void> linger();
    void enter(phase, std::chrono::milliseconds deadline);

    loop& loop_;
    tcp_socket socket_;
    std::string buffer_;  ///< outlives each request: what was pipelined stands here
    request last_;        ///< what is answered now
    phase phase_ = phase::first_header;
    steady::time_point deadline_;
    bool expired_ = false;
    bool handed_on_ = false;
    bool surplus_ = false;  ///< came when the loop was full
};

}  // namespace litefeed::server
