// SPDX-License-Identifier: Apache-2.0
#include "http/server/server.hpp"

#include <gtest/gtest.h>

#include <chrono>
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
    options.gone = [this](exchange_ptr call) { gone_.set_value(std::move(call)); };
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
  std::promise<exchange_ptr> gone_;
  std::shared_ptr<server_meter> meter_ = std::make_shared<server_meter>();
  std::unique_ptr<server> server_;
  asio::io_context io_;
  tcp::socket client_{io_};
};

TEST_F(HttpServer, LetsGoOfACallThatWasNeverAnswered) {
  std::weak_ptr<exchange> call = arrived();

  server_->stop();

  EXPECT_TRUE(call.expired());
  EXPECT_EQ(meter_->connections, 0);
}

TEST_F(HttpServer, EndsAConnectionOnItsThreadWhileItsAnsweredCallIsHeldOnAnother) {
  auto call = arrived();
  call->answer({});
  EXPECT_TRUE(read_all().starts_with("HTTP/1.1 200"));

  // Waits for the server's thread, which ends with its last connection.
  server_->stop();

  EXPECT_EQ(meter_->connections, 0);
}

TEST_F(HttpServer, SeesTheEndOfAConnectionBehindBytesOfTheNextRequest) {
  auto call = arrived();
  asio::write(client_, asio::buffer(std::string("\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n")));
  client_.close();

  auto gone = gone_.get_future();

  ASSERT_EQ(std::future_status::ready, gone.wait_for(std::chrono::seconds(10)));
  EXPECT_EQ(call, gone.get());
  call->answer({});
}

TEST_F(HttpServer, AClientThatSendsMoreThanIsReadAheadCountsAsGoneAfterAWhile) {
  auto call = arrived();
  asio::write(client_, asio::buffer(std::string(100'000, 'x')));

  auto gone = gone_.get_future();

  ASSERT_EQ(std::future_status::ready, gone.wait_for(std::chrono::seconds(10)));
  EXPECT_EQ(call, gone.get());
  call->answer({});
}

TEST_F(HttpServer, ReportsAResponseThatItsClientCannotHaveRead) {
  auto call = arrived();
  response answer;
  answer.body = std::string(64u << 20, 'x');
  std::promise<void> unwritten;
  answer.on_unwritten = [&] { unwritten.set_value(); };
  call->answer(std::move(answer));
  std::string begin(1, ' ');
  asio::read(client_, asio::buffer(begin));

  client_.close();

  auto known = unwritten.get_future().wait_for(std::chrono::seconds(10));
  EXPECT_EQ(std::future_status::ready, known);
}

/// A server that answers each request at once.
class AnsweringServer : public testing::Test {
protected:
  void SetUp() override {
    server_options options;
    options.address = "127.0.0.1";
    options.serve = [](const exchange_ptr& call) { call->answer({}); };
    options.gone = [](const exchange_ptr&) {};
    options.meter = std::make_shared<server_meter>();
    auto started = server::start(std::move(options));
    ASSERT_TRUE(started) << started.error().context;
    server_ = std::move(*started);
  }

  /// The server's response to a client that sends this text and nothing more.
  std::string answers_to(const std::string& text) {
    asio::io_context io;
    tcp::socket client(io);
    client.connect({asio::ip::make_address("127.0.0.1"), server_->port()});
    asio::write(client, asio::buffer(text));
    client.shutdown(tcp::socket::shutdown_send);
    std::string answers;
    boost::system::error_code end;
    asio::read(client, asio::dynamic_buffer(answers), end);
    return answers;
  }

  std::unique_ptr<server> server_;
};

/// The number of responses in the text.
std::size_t count_answers(const std::string& text) {
  std::size_t count = 0;
  for (auto at = text.find("HTTP/1.1 "); at != text.npos; at = text.find("HTTP/1.1 ", at + 1))
    ++count;
  return count;
}

TEST_F(AnsweringServer, RefusesARequestWhoseEndAProxyMayFindElsewhere) {
  const std::string next = "0\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (std::string fields :
       {"Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked;a=b\r\n",
        "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"}) {
    auto said = answers_to("POST / HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n" + next);
    EXPECT_TRUE(said.starts_with("HTTP/1.1 400")) << fields << said;
    EXPECT_NE(said.npos, said.find("Connection: close")) << fields << said;
    EXPECT_EQ(1u, count_answers(said)) << fields << said;
  }
  auto older = answers_to("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + next);
  EXPECT_TRUE(older.starts_with("HTTP/1.1 400")) << older;
}

TEST_F(AnsweringServer, ClosesTheConnectionOfAnOlderClientThatAsksToKeepIt) {
  const std::string keep = "Host: localhost\r\nConnection: keep-alive\r\n\r\n";

  EXPECT_NE(
    std::string::npos, answers_to("GET / HTTP/1.0\r\n" + keep).find("Connection: close\r\n"));
  EXPECT_EQ(std::string::npos, answers_to("GET / HTTP/1.1\r\n" + keep).find("Connection: "));
}

TEST_F(AnsweringServer, TakesChunks) {
  auto said = answers_to(
    "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: Chunked\r\n\r\n"
    "2\r\n{}\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n");

  EXPECT_TRUE(said.starts_with("HTTP/1.1 200")) << said;
  EXPECT_EQ(2u, count_answers(said)) << said;
}

} // namespace
} // namespace codeq::http
