#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

namespace litefeed::server {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Everything of a loop runs on its one io_context, so its executor is no `any_io_executor`: no virtual call and eight
/// bytes in each socket.
using executor = asio::io_context::executor_type;
using tcp_socket = asio::basic_stream_socket<tcp, executor>;
using tcp_acceptor = asio::basic_socket_acceptor<tcp, executor>;
using steady = std::chrono::steady_clock;
using timer = asio::basic_waitable_timer<steady, asio::wait_traits<steady>, executor>;

template <class T>
using task = asio::awaitable<T, executor>;
inline constexpr asio::use_awaitable_t<executor> use_task{};

}  // namespace litefeed::server
