// SPDX-License-Identifier: Apache-2.0
#include "http/server/server.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

namespace codeq::http {
namespace {

namespace asio = boost::asio;
using tcp = boost::asio::ip::tcp;

/// A server whose only request waits for the test, and its client.
class HttpServer : public testing::Test {
protected:
  void SetUp() override {
    server_options options;
    options.address = "127.0.0.1";
    options.serve = [this](exchange_ptr call) { arrived_.set_value(std::move(call)); };
    options.gone = [](exchange_ptr) {};
    options.meter = meter_;
    auto started = server::start(std::move(options));
    ASSERT_TRUE(started) << started.error().context;
    server_ = std::move(*started);
    client_.connect({asio::ip::make_address("127.0.0.1"), server_->port()});
    const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    asio::write(client_, asio::buffer(request));
  }

  exchange_ptr arrived() { return arrived_.get_future().get(); }

  /// Reads until the server closes the connection.
  std::string read_all() {
    std::string text;
    boost::system::error_code end;
    asio::read(client_, asio::dynamic_buffer(text), end);
    return text;
  }

  std::promise<exchange_ptr> arrived_;
  std::shared_ptr<server_meter> meter_ = std::make_shared<server_meter>();
  std::unique_ptr<server> server_;
  asio::io_context io_;
  tcp::socket client_{io_};
};

TEST_F(HttpServer, LetsGoOfACallThatWasNeverAnswered) {
  std::weak_ptr<exchange> call = arrived();

  server_->stop();

  EXPECT_TRUE(call.expired());
}

TEST_F(HttpServer, EndsAConnectionOnItsThreadWhileItsAnsweredCallIsHeldOnAnother) {
  auto call = arrived();
  call->answer({});
  EXPECT_TRUE(read_all().starts_with("HTTP/1.1 200"));

  // Waits for the server's thread, which ends with its last connection.
  server_->stop();

  EXPECT_EQ(meter_->connections, 0);
}

} // namespace
} // namespace codeq::http
