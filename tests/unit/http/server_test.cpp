// SPDX-License-Identifier: Apache-2.0
#include "http/server/server.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

namespace codeq::http {
namespace {

namespace asio = boost::asio;
using tcp = boost::asio::ip::tcp;

TEST(HttpServer, LetsGoOfACallThatWasNeverAnswered) {
  std::promise<std::weak_ptr<exchange>> arrived;
  server_options options;
  options.address = "127.0.0.1";
  options.serve = [&](exchange_ptr call) { arrived.set_value(call); };
  options.gone = [](exchange_ptr) {};
  options.meter = std::make_shared<server_meter>();
  auto started = server::start(std::move(options));
  ASSERT_TRUE(started) << started.error().context;
  asio::io_context io;
  tcp::socket client(io);
  client.connect({asio::ip::make_address("127.0.0.1"), (*started)->port()});
  asio::write(client, asio::buffer(std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")));
  auto call = arrived.get_future().get();

  (*started)->stop();

  EXPECT_TRUE(call.expired());
}

} // namespace
} // namespace codeq::http
