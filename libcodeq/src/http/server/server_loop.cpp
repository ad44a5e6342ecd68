// SPDX-License-Identifier: Apache-2.0
#include "http/server/server_loop.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace codeq::http {

server_loop::server_loop() : io_(std::make_unique<boost::asio::io_context>(1)) {
}

server_loop::~server_loop() = default;

void server_loop::post(std::function<void()> action) {
  boost::asio::post(*io_, std::move(action));
}

void server_loop::run_rest() {
  io_->restart();
  io_->poll();
}

} // namespace codeq::http
