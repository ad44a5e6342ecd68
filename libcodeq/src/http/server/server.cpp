// SPDX-License-Identifier: Apache-2.0
#include "http/server/server.hpp"

#include "base/remote_block.hpp"
#include "base/tuning.hpp"
#include "http/server/connection.hpp"
#include "observe/log.hpp"

#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace codeq::http {

namespace {

namespace asio = boost::asio;
using tcp = boost::asio::ip::tcp;
using error_code = boost::system::error_code;

error not_listening(const server_options& options, const error_code& why) {
  // Without the right to a port below 1024 a later attempt is refused, too.
  const auto is_forbidden = why == boost::system::errc::permission_denied;
  return {
    is_forbidden ? errc::invalid_argument : errc::unavailable,
    "cannot serve HTTP on " + options.address + ":" + std::to_string(options.port) + ": "
      + why.message()};
}

} // namespace

struct server::impl {
  explicit impl(server_options options)
    : loop(options.loop), hall(std::make_shared<connection_hall>(std::move(options))) {}

  /// Opens the socket. Errors: `unavailable`.
  result<void> listen();
  void accept();
  void on_accepted(error_code failure, tcp::socket socket);

  void run() {
    thread = std::thread([this] { io.run(); });
  }

  void wind_up();

  /// Stops the thread's event loop when the last connection has ended, or when the time for that is
  /// over.
  void wait_for_rest();

  std::shared_ptr<server_loop> loop;
  asio::io_context& io = loop->io();
  /// The loop waits for actions until the server stops.
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  tcp::acceptor acceptor{io};
  asio::steady_timer pause{io};
  asio::steady_timer patience{io};
  std::shared_ptr<connection_hall> hall;
  std::thread thread;
};

result<void> server::impl::listen() {
  error_code failure;
  auto name = hall->options.address == "localhost" ? "127.0.0.1" : hall->options.address;
  auto address = asio::ip::make_address(name, failure);
  if (failure)
    return not_listening(hall->options, failure);
  tcp::endpoint endpoint(address, hall->options.port);
  acceptor.open(endpoint.protocol(), failure);
  if (!failure)
    acceptor.set_option(tcp::acceptor::reuse_address(true), failure);
  if (!failure)
    acceptor.bind(endpoint, failure);
  if (!failure)
    acceptor.listen(asio::socket_base::max_listen_connections, failure);
  if (failure)
    return not_listening(hall->options, failure);
  return {};
}

void server::impl::accept() {
  acceptor.async_accept(
    [this](error_code failure, tcp::socket socket) { on_accepted(failure, std::move(socket)); });
}

void server::impl::on_accepted(error_code failure, tcp::socket socket) {
  if (failure == asio::error::operation_aborted || hall->is_stopping)
    return;
  if (failure) {
    // Most likely the process has no descriptors left; some will soon be free.
    CODEQ_LOG_WARN("gateway cannot accept reason=\"{}\"", failure.message());
    pause.expires_after(tuning::accept_pause);
    return pause.async_wait([this](error_code stopped) {
      if (!stopped)
        accept();
    });
  }
  auto endpoint = socket.remote_endpoint(failure);
  auto remote = base::remote_block_of(endpoint.address().to_string());
  if (!failure && hall->admit(remote))
    std::make_shared<connection>(std::move(socket), hall, remote)->start();
  accept();
}

void server::impl::wind_up() {
  error_code ignored;
  hall->is_stopping = true;
  acceptor.close(ignored);
  pause.cancel();
  // The loop uses a copy, because a connection that ends removes itself from the set.
  std::vector<connection*> open(hall->connections.begin(), hall->connections.end());
  for (auto* one : open)
    one->wind_up();
}

void server::impl::wait_for_rest() {
  if (hall->connections.empty())
    return;
  hall->on_empty = [this] { patience.cancel(); };
  patience.expires_after(tuning::http_shutdown_max);
  patience.async_wait([this](error_code stopped) {
    if (!stopped)
      io.stop();
  });
}

server::server(std::unique_ptr<impl> state) : impl_(std::move(state)) {
}

server::~server() {
  stop();
}

result<std::unique_ptr<server>> server::start(server_options options) {
  auto state = std::make_unique<impl>(std::move(options));
  if (auto ok = state->listen(); !ok)
    return ok.error();
  state->accept();
  state->run();
  return std::unique_ptr<server>(new server(std::move(state)));
}

std::uint16_t server::port() const noexcept {
  error_code ignored;
  return impl_->acceptor.local_endpoint(ignored).port();
}

void server::stop_accepting() {
  asio::post(impl_->io, [state = impl_.get()] { state->wind_up(); });
}

void server::stop() {
  if (!impl_->thread.joinable())
    return;
  stop_accepting();
  asio::post(impl_->io, [state = impl_.get()] {
    state->work.reset();
    state->wait_for_rest();
  });
  impl_->thread.join();
  impl_->hall->on_empty = nullptr;
  // A connection whose call was not answered in time keeps itself alive.
  auto& open = impl_->hall->connections;
  if (open.empty())
    return;
  for (auto* one : std::vector<connection*>(open.begin(), open.end()))
    one->abandon();
  impl_->loop->run_rest();
}

} // namespace codeq::http
