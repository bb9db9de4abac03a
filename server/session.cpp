#include "server/session.hpp"

#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <cerrno>

#include "server/router.hpp"

namespace litefeed::server {
namespace {

using std::chrono::milliseconds;

// Headers as a whole, however the bytes trickle; the pause between requests; an answer without progress; what still
// comes after a refusal.
constexpr milliseconds header_deadline{10'000}, idle_deadline{30'000}, write_deadline{30'000},
    linger_deadline{2'000};
constexpr std::size_t linger_bytes_max = 256 * 1024;

task<void> run_session(loop* of, tcp_socket socket) {
    session one(*of, std::move(socket));
    co_await one.run();
}

}  // namespace

void serve_connection(loop& of, tcp_socket socket) {
    auto ended = [](std::exception_ptr failed) {
        if (!failed) return;
        try {
            std::rethrow_exception(failed);
        } catch (const boost::system::system_error& e) {
            if (e.code() != asio::error::operation_aborted)
                spdlog::error("a connection ended: {}", e.what());
        } catch (const std::exception& e) {
            spdlog::error("a connection ended: {}", e.what());
        }
    };
    asio::co_spawn(of.on(), run_session(&of, std::move(socket)), std::move(ended));
}

session::session(loop& of, tcp_socket socket) : loop_(of), socket_(std::move(socket)) {
    count(loop_.stats().connections);
    surplus_ = loop_.full();
    loop_.enter(*this);
    enter(phase::first_header, header_deadline);
}

session::~session() {
    if (!handed_on_) count(loop_.stats().connections, -1);
}

void session::enter(phase to, milliseconds deadline) {
    phase_ = to;
    deadline_ = steady::now() + deadline;
}

void session::expire(steady::time_point now) {
    if (phase_ == phase::answering || now < deadline_ || expired_) return;
    expired_ = true;
    error_code ignored;
    socket_.cancel(ignored);
}

void session::wind_up() {
    const bool between =
        phase_ == phase::idle || phase_ == phase::first_header || phase_ == phase::lingering;
    if (!between) return;
    expired_ = true;
    error_code ignored;
    socket_.cancel(ignored);
}

/// False when nothing more comes: the end, an error, or a deadline.
task<bool> session::read_some() {
    for (;;) {
        // All sessions of the loop read into one place: a connection that is idle holds no buffer.
        auto& into = loop_.scratch();
        const auto n = ::recv(socket_.native_handle(), into.data(), into.size(), MSG_DONTWAIT);
        if (n > 0) {
            buffer_.append(into.data(), static_cast<std::size_t>(n));
            co_return true;
        }
        if (n < 0 && errno == EINTR) continue;
        if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) co_return false;
        const auto [failed] =
            co_await socket_.async_wait(tcp_socket::wait_read, asio::as_tuple(use_task));
        if (failed || expired_) co_return false;
    }
}

task<void> session::run() {
    for (;;) {
        auto step = buffer_.empty() ? request_step(need_more{}) : read_request(buffer_);
        if (std::holds_alternative<need_more>(step)) {
            if (phase_ == phase::idle && !buffer_.empty()) enter(phase::header, header_deadline);
            const bool more = co_await read_some();
            if (more) continue;
            if (expired_ && !buffer_.empty() && !loop_.stopping()) {
                expired_ = false;
                problem late{.kind = problem_kind::request_timeout,
                             .detail = "The header must be complete within 10 seconds."};
                co_await refuse(std::move(late));
            }
            co_return;
        }
        if (auto* bad = std::get_if<problem>(&step)) {
            problem why = std::move(*bad);
            co_await refuse(std::move(why));
            co_return;
        }
        auto& read = std::get<request_read>(step);
        buffer_.erase(0, read.bytes);
        enter(phase::answering, write_deadline);
        request asked = std::move(read.request);
        const bool go_on = co_await serve(std::move(asked));
        if (!go_on) co_return;
        enter(phase::idle, idle_deadline);
    }
}

/// Answers one request; false when the connection is over or became a stream.
task<bool> session::serve(request asked) {
    last_ = std::move(asked);
    count(loop_.stats().requests);
    if (loop_.stopping()) last_.keep_alive = false;
    reply answered = co_await answer_request(&loop_, &last_, socket_.native_handle(), surplus_);
    if (auto* stream = std::get_if<stream_opening>(&answered)) {
        const bool chunked = last_.version >= 11;
        auto head = stream_head(last_, loop_, chunked);
        if (last_.is_head()) {
            const auto& from = stream->want.start.text;
            if (!from.empty()) head += "Last-Event-ID: " + from + "\r\n";
            head += "\r\n";
            std::string no_body;
            co_await write_all(std::move(head), std::move(no_body));
            co_return false;
        }
        // The parser, the buffer and this task end here; the stream keeps none of them.
        handed_on_ = true;
        loop_.listened();
        loop_.look();
        loop_.streams().join(std::move(socket_), stream->want, chunked, std::move(head),
                             stream->token_id);
        co_return false;
    }
    response out = std::move(std::get<response>(answered));
    out.fields += cors_fields(last_, loop_.options().cors_origins);
    // No body is read here, so nothing after one can be told to be a request.
    if (last_.has_body) out.close = true;
    if (out.close || loop_.stopping()) last_.keep_alive = false;
    const bool keep = last_.keep_alive;
    const bool must_linger = out.close;
    const bool written = co_await write(std::move(out), !last_.is_head());
    if (!written) co_return false;
    if (must_linger) co_await linger();
    if (!keep && !must_linger) {
        error_code ignored;
        socket_.shutdown(tcp_socket::shutdown_send, ignored);
    }
    co_return keep;
}

task<bool> session::write(response out, bool body) {
    std::string head = head_of(out, last_, loop_.date());
    if (!body || out.status == 304) out.body.clear();
    return write_all(std::move(head), std::move(out.body));
}

task<bool> session::write_all(std::string head, std::string body) {
    enter(phase::writing, write_deadline);
    std::array<iovec, 2> rest{iovec{head.data(), head.size()}, iovec{body.data(), body.size()}};
    while (rest[0].iov_len + rest[1].iov_len > 0) {
        msghdr message{};
        message.msg_iov = rest.data();
        message.msg_iovlen = rest.size();
        const auto n = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            const auto [failed] =
                co_await socket_.async_wait(tcp_socket::wait_write, asio::as_tuple(use_task));
            if (failed || expired_) co_return false;
            continue;
        }
        if (n < 0) co_return false;
        enter(phase::writing, write_deadline);
        auto taken = static_cast<std::size_t>(n);
        for (auto& part : rest) {
            const auto of_this = std::min(taken, part.iov_len);
            part.iov_base = static_cast<char*>(part.iov_base) + of_this;
            part.iov_len -= of_this;
            taken -= of_this;
        }
    }
    co_return true;
}

/// An answer to what cannot be served, then the end.
task<void> session::refuse(problem why) {
    last_ = {};  // the request before it, which must not lend this answer its origin
    response out = to_response(why);
    out.close = true;
    out.fields += cors_fields(last_, loop_.options().cors_origins);
    const bool written = co_await write(std::move(out), true);
    if (written) co_await linger();
}

/// Reads off what still comes, bounded: closing over unread bytes sends a reset, which can take the answer with it.
task<void> session::linger() {
    error_code ignored;
    socket_.shutdown(tcp_socket::shutdown_send, ignored);
    enter(phase::lingering, linger_deadline);
    std::size_t dropped = 0;
    for (;;) {
        buffer_.clear();
        const bool more = co_await read_some();
        dropped += buffer_.size();
        if (!more || dropped > linger_bytes_max) co_return;
    }
}

}  // namespace litefeed::server
