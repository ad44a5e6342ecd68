// SPDX-License-Identifier: Apache-2.0
#include "etcd/connection.hpp"

#include "etcd/etcd_limits.hpp"
#include "security/socket_stream.hpp"

#include <array>
#include <optional>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace codeq::etcd {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using error_code = boost::system::error_code;

constexpr std::size_t header_bytes_max = 16u << 10;
constexpr std::size_t read_bytes = 16u << 10;

/// Its pending operations keep it alive.
class beast_connection final : public connection,
                               public std::enable_shared_from_this<beast_connection> {
public:
  beast_connection(
    asio::io_context& io, member_url member, std::shared_ptr<const security::tls_context> tls)
    : io_(io), member_(std::move(member)), tls_(std::move(tls)), resolver_(io) {}

  void request(exchange what) override {
    exchange_ = std::move(what);
    begin(exchange_->what);
  }

  void follow(stream what) override {
    stream_ = std::move(what);
    begin(stream_->what);
  }

  void close() override {
    is_closed_ = true;
    exchange_.reset();
    stream_.reset();
    resolver_.cancel();
    error_code ignored;
    if (socket_)
      socket_->close(ignored);
    if (channel_)
      channel_->lowest().close();
  }

  [[nodiscard]] bool is_reusable() const override { return !is_closed_ && is_idle_; }

private:
  void begin(const gateway_request& what);
  void resolve();
  void shake_hands(error_code failure);
  void write(error_code failure);
  void read(error_code failure);
  void take(error_code failure);
  void read_lines(error_code failure);
  void take_lines(error_code failure, std::size_t unused);
  void fail(errc code, const std::string& words);

  void fail(errc code, const error_code& why) {
    fail(code, security::describe_tls_reason(why.message()));
  }

  asio::io_context& io_;
  member_url member_;
  std::shared_ptr<const security::tls_context> tls_;
  tcp::resolver resolver_;
  std::optional<tcp::socket> socket_;
  std::optional<security::socket_stream> channel_;
  std::optional<exchange> exchange_;
  std::optional<stream> stream_;
  http::request<http::string_body> message_;
  beast::flat_buffer buffer_;
  std::optional<http::response_parser<http::string_body>> parser_;
  std::optional<http::response_parser<http::buffer_body>> line_parser_;
  std::array<char, read_bytes> chunk_{};
  /// The line that is not complete yet.
  std::string line_;
  bool is_closed_ = false;
  bool is_idle_ = false;
};

void beast_connection::begin(const gateway_request& what) {
  is_idle_ = false;
  message_ = {};
  message_.version(11);
  message_.method(http::verb::post);
  message_.target({what.target.data(), what.target.size()});
  message_.set(http::field::host, host_and_port(member_));
  message_.set(http::field::user_agent, "codeq");
  message_.set(http::field::content_type, "application/json");
  message_.body() = what.body;
  message_.prepare_payload();
  if (channel_)
    asio::post(io_, [self = shared_from_this()] { self->write({}); });
  else
    resolve();
}

void beast_connection::resolve() {
  socket_.emplace(io_);
  resolver_.async_resolve(
    member_.host,
    member_.port,
    [self = shared_from_this()](error_code failure, const tcp::resolver::results_type& found) {
      if (self->is_closed_)
        return;
      if (failure)
        return self->fail(errc::disconnected, failure);
      asio::async_connect(
        *self->socket_, found, [self](error_code broken, const tcp::endpoint&) {
          self->shake_hands(broken);
        });
    });
}

void beast_connection::shake_hands(error_code failure) {
  if (is_closed_)
    return;
  if (failure)
    return fail(errc::disconnected, failure);
  error_code ignored;
  socket_->set_option(tcp::no_delay(true), ignored);
  if (!member_.is_secured) {
    channel_.emplace(std::move(*socket_), nullptr);
    return write({});
  }
  auto* native = tls_ ? SSL_new(tls_->native()) : nullptr;
  if (!native || !security::expect_name(native, member_.host)) {
    SSL_free(native);
    return fail(errc::unauthorized, "TLS cannot be used for this host; is --etcd-ca given?");
  }
  channel_.emplace(std::move(*socket_), native);
  channel_->async_connect([self = shared_from_this(), native](error_code broken) {
    if (self->is_closed_)
      return;
    const auto verified = SSL_get_verify_result(native);
    if (broken && verified != X509_V_OK)
      return self->fail(errc::unauthorized, security::certificate_fault(verified));
    self->write(broken);
  });
}

void beast_connection::write(error_code failure) {
  if (is_closed_)
    return;
  if (failure)
    return fail(errc::disconnected, failure);
  if (exchange_)
    exchange_->sending();
  http::async_write(
    *channel_, message_, [self = shared_from_this()](error_code broken, std::size_t) {
      if (self->is_closed_)
        return;
      self->exchange_ ? self->read(broken) : self->read_lines(broken);
    });
}

void beast_connection::read(error_code failure) {
  if (failure)
    return fail(errc::disconnected, failure);
  parser_.emplace();
  parser_->header_limit(header_bytes_max);
  parser_->body_limit(limits::answer_bytes_max);
  http::async_read(
    *channel_, buffer_, *parser_, [self = shared_from_this()](error_code broken, std::size_t) {
      self->take(broken);
    });
}

void beast_connection::take(error_code failure) {
  if (is_closed_)
    return;
  if (failure == http::error::body_limit)
    return fail(
      errc::too_large,
      "an answer of more than " + std::to_string(limits::answer_bytes_max) + " bytes");
  if (failure)
    return fail(errc::disconnected, failure);
  is_idle_ = parser_->keep_alive();
  auto& message = parser_->get();
  auto done = std::move(exchange_->done);
  exchange_.reset();
  done(gateway_answer{message.result_int(), std::move(message.body())});
}

void beast_connection::read_lines(error_code failure) {
  if (failure)
    return fail(errc::disconnected, failure);
  line_parser_.emplace();
  line_parser_->header_limit(header_bytes_max);
  line_parser_->body_limit(boost::none);
  http::async_read_header(
    *channel_, buffer_, *line_parser_, [self = shared_from_this()](error_code broken, std::size_t) {
      if (self->is_closed_)
        return;
      if (broken)
        return self->fail(errc::disconnected, broken);
      const auto status = self->line_parser_->get().result_int();
      if (status != 200)
        return self->fail(errc::unavailable, "HTTP " + std::to_string(status));
      self->take_lines({}, 0);
    });
}

void beast_connection::take_lines(error_code failure, std::size_t) {
  if (is_closed_)
    return;
  if (failure && failure != http::error::need_buffer)
    return fail(errc::disconnected, failure);
  auto& body = line_parser_->get().body();
  const auto known = line_.size();
  if (body.data)
    line_.append(chunk_.data(), chunk_.size() - body.size);
  // The function may close the connection, which forgets it.
  const auto tell = stream_->line;
  std::size_t begin = 0;
  auto end = line_.find('\n', known);
  for (; end != std::string::npos; end = line_.find('\n', begin)) {
    const auto line = std::string_view(line_).substr(begin, end - begin);
    begin = end + 1;
    if (!line.empty())
      tell(line);
    if (is_closed_)
      return;
  }
  line_.erase(0, begin);
  if (line_.size() > limits::line_bytes_max)
    return fail(
      errc::too_large,
      "a line of more than " + std::to_string(limits::line_bytes_max) + " bytes");
  if (line_parser_->is_done())
    return fail(errc::disconnected, "the member ended the watch");
  body.data = chunk_.data();
  body.size = chunk_.size();
  body.more = true;
  http::async_read_some(
    *channel_,
    buffer_,
    *line_parser_,
    [self = shared_from_this()](error_code broken, std::size_t bytes) {
      self->take_lines(broken, bytes);
    });
}

void beast_connection::fail(errc code, const std::string& words) {
  auto exchange = std::move(exchange_);
  auto stream = std::move(stream_);
  close();
  if (exchange)
    exchange->done(error{code, words});
  else if (stream)
    stream->ended(words);
}

} // namespace

std::shared_ptr<connection> make_connection(
  asio::io_context& io,
  const member_url& member,
  std::shared_ptr<const security::tls_context> tls) {
  return std::make_shared<beast_connection>(io, member, std::move(tls));
}

} // namespace codeq::etcd
