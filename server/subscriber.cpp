#include "server/subscriber.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "server/subscribers.hpp"

namespace litefeed::server {
namespace {

// A stream's client has nothing to say; one that talks on is not listening.
constexpr std::size_t ignored_bytes_max = 64 * 1024;

}  // namespace

subscriber::subscriber(tcp_socket socket, subscribers& set, subscriber_group* in, place_ptr from)
    : at(std::move(from)), home(in), socket_(std::move(socket)), set_(set) {}

subscriber::written subscriber::send(block_ptr what, steady::time_point now) {
    out_ = std::move(what);
    sent_ = 0;
    progress = now;
    return flush(now);
}

subscriber::written subscriber::flush(steady::time_point now) {
    while (sent_ < out_->bytes.size()) {
        const auto n = ::send(socket_.native_handle(), out_->bytes.data() + sent_,
                              out_->bytes.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            if (errno == EINTR) continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK) return written::lost;
            wait_writable();
            return written::partly;
        }
        sent_ += static_cast<std::size_t>(n);
        progress = now;
    }
    if (out_->then) at = out_->then;
    out_.reset();
    return written::whole;
}

void subscriber::wait_writable() {
    socket_.async_wait(tcp_socket::wait_write,
                       [self = shared_from_this()](const error_code& failed) {
                           if (failed || self->ended()) return;
                           self->set_.wrote(*self, self->flush(steady::now()));
                       });
}

void subscriber::notice_close() {
    socket_.async_wait(tcp_socket::wait_read,
                       [self = shared_from_this()](const error_code& failed) {
                           if (!failed && !self->ended()) self->drain();
                       });
}

void subscriber::drain() {
    std::array<char, 2048> dropped;
    for (;;) {
        const auto n =
            ::recv(socket_.native_handle(), dropped.data(), dropped.size(), MSG_DONTWAIT);
        if (n > 0) {
            ignored_ += static_cast<std::size_t>(n);
            if (ignored_ <= ignored_bytes_max) continue;
            set_.drop(*this);
        } else if (n == 0) {
            // Half-closed: it may still listen. If it does not, what we write now brings a reset back.
            wait_broken();
            set_.probe(*this);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            notice_close();
        } else if (errno == EINTR) {
            continue;
        } else {
            set_.drop(*this);
        }
        return;
    }
}

void subscriber::wait_broken() {
    socket_.async_wait(tcp_socket::wait_error,
                       [self = shared_from_this()](const error_code& failed) {
                           if (!failed && !self->ended()) self->set_.drop(*self);
                       });
}

void subscriber::end() {
    if (ended()) return;
    error_code ignored;
    // Unread bytes would turn the close into a reset, and that can destroy what is still on its way.
    std::array<char, 2048> dropped;
    for (int i = 0; i < 32; ++i)
        if (::recv(socket_.native_handle(), dropped.data(), dropped.size(), MSG_DONTWAIT) <= 0)
            break;
    socket_.shutdown(tcp_socket::shutdown_send, ignored);
    socket_.close(ignored);
}

}  // namespace litefeed::server
