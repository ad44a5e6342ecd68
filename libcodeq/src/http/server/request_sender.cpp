// SPDX-License-Identifier: Apache-2.0
#include "http/server/request_sender.hpp"

#include <memory>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace codeq::http {

namespace asio = boost::asio;

request_sender::request_sender() : io_(std::make_shared<asio::io_context>(1)) {
  std::thread([io = io_] {
    auto work = asio::make_work_guard(*io);
    io->run();
  }).detach();
}

request_sender::~request_sender() {
  io_->stop();
}

void request_sender::send(
  const std::string& tenant,
  outgoing_request request,
  std::function<void(result<outgoing_answer>)> done) {
  request.resolve = [weak = std::weak_ptr(io_), resolver = resolver_, tenant, t = request.timeout](
                      const std::string& host, host_resolver::done_function found) {
    resolver->resolve({tenant, host, t}, [weak, found](const result<host_addresses>& addresses) {
      if (auto io = weak.lock())
        asio::post(*io, [found, addresses] { found(addresses); });
    });
  };
  asio::post(
    *io_, [io = io_.get(), request = std::move(request), done = std::move(done)]() mutable {
      http::send(*io, std::move(request), std::move(done));
    });
}

} // namespace codeq::http
