// SPDX-License-Identifier: Apache-2.0
#include "http/server/outgoing.hpp"

#include "security/socket_stream.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace codeq::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace field = boost::beast::http;
using tcp = asio::ip::tcp;
using error_code = boost::system::error_code;

constexpr std::size_t header_bytes_max = 16u << 10;

/// The blocks of the IANA registries of special-purpose addresses that are not global.
constexpr std::array<const char*, 16> special_v4{
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "255.255.255.255/32"};

bool is_public(const asio::ip::address_v4& address) {
  return std::none_of(special_v4.begin(), special_v4.end(), [&](const char* text) {
    auto block = asio::ip::make_network_v4(text);
    auto mask = block.netmask().to_uint();
    return (address.to_uint() & mask) == (block.network().to_uint() & mask);
  });
}

bool is_public(const asio::ip::address_v6& address) {
  // Only 2000::/3 is allocated. These blocks in it are for protocols, documentation and tunnels.
  constexpr std::array<const char*, 4> special_v6{
    "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"};
  auto bytes = address.to_bytes();
  auto is_in = [&](const char* text) {
    auto block = asio::ip::make_network_v6(text);
    auto wanted = block.network().to_bytes();
    for (unsigned bit = 0; bit < block.prefix_length(); ++bit) {
      auto mask = 0x80u >> bit % 8;
      if ((bytes[bit / 8] & mask) != (wanted[bit / 8] & mask))
        return false;
    }
    return true;
  };
  return is_in("2000::/3") && std::none_of(special_v6.begin(), special_v6.end(), is_in);
}

bool is_public(const asio::ip::address& address) {
  return address.is_v4() ? is_public(address.to_v4()) : is_public(address.to_v6());
}

/// One request on its way. Its pending operations keep it alive.
class outgoing : public std::enable_shared_from_this<outgoing> {
public:
  using done_function = std::function<void(result<outgoing_answer>)>;

  outgoing(asio::io_context& io, outgoing_request request, done_function done)
    : io_(io), request_(std::move(request)), done_(std::move(done)), resolver_(io), deadline_(io) {}

  void start() {
    deadline_.expires_after(request_.timeout);
    deadline_.async_wait([self = shared_from_this()](error_code stopped) {
      if (!stopped)
        self->finish(error{errc::timeout, "no answer in time"});
    });
    request_.resolve ? ask_resolver() : ask_system();
  }

private:
  void ask_system();

  /// Looks up the host. The resolver may hold its callback long after the request has ended, and
  /// even after `io_` has.
  void ask_resolver();
  void take_addresses(const result<host_addresses>& found);
  void connect(const std::vector<tcp::endpoint>& found);
  void shake_hands(error_code failure);
  void write(error_code failure);
  void read(error_code failure);
  void take(error_code failure);
  void finish(result<outgoing_answer> answer);

  [[nodiscard]] bool is_over() const { return !done_; }

  void fail(errc code, const error_code& why) {
    finish(error{code, security::describe_tls_reason(why.message())});
  }

  asio::io_context& io_;
  outgoing_request request_;
  done_function done_;
  tcp::resolver resolver_;
  asio::steady_timer deadline_;
  std::vector<tcp::endpoint> endpoints_;
  std::optional<tcp::socket> socket_;
  std::optional<security::socket_stream> stream_;
  field::request<field::string_body> message_;
  beast::flat_buffer buffer_;
  std::optional<field::response_parser<field::string_body>> parser_;
};

void outgoing::ask_system() {
  resolver_.async_resolve(
    request_.url.host,
    request_.url.port,
    [self = shared_from_this()](error_code failure, const tcp::resolver::results_type& found) {
      if (self->is_over())
        return;
      if (failure)
        return self->fail(errc::disconnected, failure);
      self->connect({found.begin(), found.end()});
    });
}

void outgoing::ask_resolver() {
  error_code failure;
  asio::ip::make_address(request_.url.host, failure);
  if (!failure)
    return take_addresses(host_addresses{request_.url.host});
  request_.resolve(
    request_.url.host, [weak = weak_from_this()](const result<host_addresses>& found) {
      if (auto self = weak.lock())
        self->take_addresses(found);
    });
}

void outgoing::take_addresses(const result<host_addresses>& found) {
  if (is_over())
    return;
  if (!found)
    return finish(found.error());
  auto port = static_cast<std::uint16_t>(std::stoul(request_.url.port));
  std::vector<tcp::endpoint> endpoints;
  for (const auto& text : *found) {
    error_code failure;
    auto address = asio::ip::make_address(text, failure);
    if (!failure)
      endpoints.emplace_back(address, port);
  }
  connect(endpoints);
}

void outgoing::connect(const std::vector<tcp::endpoint>& found) {
  for (const auto& one : found)
    if (!request_.public_only || is_public(one.address()))
      endpoints_.push_back(one);
  if (endpoints_.empty())
    return finish(
      error{errc::unauthorized, "the host has no address on the internet; others are not allowed"});
  socket_.emplace(io_);
  asio::async_connect(
    *socket_, endpoints_, [self = shared_from_this()](error_code broken, const tcp::endpoint&) {
      self->shake_hands(broken);
    });
}

void outgoing::shake_hands(error_code failure) {
  if (is_over())
    return;
  if (failure)
    return finish(
      error{errc::disconnected, std::string(cannot_connect) + failure.message()});
  if (!request_.url.is_secured) {
    stream_.emplace(std::move(*socket_), nullptr);
    return write({});
  }
  auto* native = request_.tls ? SSL_new(request_.tls->native()) : nullptr;
  if (!native || !security::expect_name(native, request_.url.host)) {
    SSL_free(native);
    return finish(error{errc::unauthorized, "TLS cannot be used for this host"});
  }
  stream_.emplace(std::move(*socket_), native);
  stream_->async_connect([self = shared_from_this(), native](error_code broken) {
    if (self->is_over())
      return;
    auto verified = SSL_get_verify_result(native);
    if (broken && verified != X509_V_OK)
      return self->finish(error{
        errc::unauthorized,
        security::certificate_fault(verified)});
    self->write(broken);
  });
}

void outgoing::write(error_code failure) {
  if (failure)
    return fail(errc::disconnected, failure);
  message_.version(11);
  message_.method_string({request_.method.data(), request_.method.size()});
  message_.target({request_.url.target.data(), request_.url.target.size()});
  message_.set(field::field::host, host_field(request_.url));
  message_.set(field::field::user_agent, "codeq");
  for (const auto& [name, value] : request_.fields)
    message_.set(name, value);
  message_.keep_alive(false);
  message_.body() = std::move(request_.body);
  message_.prepare_payload();
  field::async_write(
    *stream_, message_, [self = shared_from_this()](error_code broken, std::size_t) {
      self->read(broken);
    });
}

void outgoing::read(error_code failure) {
  if (is_over())
    return;
  if (failure)
    return fail(errc::disconnected, failure);
  parser_.emplace();
  parser_->header_limit(header_bytes_max);
  auto taken = [self = shared_from_this()](error_code broken, std::size_t) { self->take(broken); };
  if (request_.answer_bytes_max == 0) {
    parser_->body_limit(boost::none);
    return field::async_read_header(*stream_, buffer_, *parser_, std::move(taken));
  }
  parser_->body_limit(request_.answer_bytes_max);
  field::async_read(*stream_, buffer_, *parser_, std::move(taken));
}

void outgoing::take(error_code failure) {
  if (is_over())
    return;
  if (failure == field::error::body_limit)
    return fail(errc::too_large, failure);
  bool is_malformed =
    failure.category() == field::make_error_code(field::error::bad_method).category()
    && failure != field::error::end_of_stream && failure != field::error::partial_message;
  if (failure)
    return fail(is_malformed ? errc::protocol_error : errc::disconnected, failure);
  auto& message = parser_->get();
  outgoing_answer answer{message.result_int(), std::move(message.body())};
  for (const auto& one : message) {
    const auto name = one.name_string();
    const auto value = one.value();
    answer.fields.emplace_back(
      std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  finish(std::move(answer));
}

void outgoing::finish(result<outgoing_answer> answer) {
  if (is_over())
    return;
  auto done = std::exchange(done_, nullptr);
  deadline_.cancel();
  resolver_.cancel();
  error_code ignored;
  if (stream_)
    stream_->lowest().close();
  else if (socket_)
    socket_->close(ignored);
  done(std::move(answer));
}

} // namespace

void send(
  asio::io_context& io,
  outgoing_request request,
  std::function<void(result<outgoing_answer>)> done) {
  std::make_shared<outgoing>(io, std::move(request), std::move(done))->start();
}

result<outgoing_answer> send_and_wait(outgoing_request request) {
  asio::io_context io{1};
  result<outgoing_answer> answered = error{errc::disconnected, "not sent"};
  send(
    io, std::move(request), [&](result<outgoing_answer> answer) { answered = std::move(answer); });
  io.run();
  return answered;
}

bool is_public_address(const std::string& address) {
  error_code failure;
  auto parsed = asio::ip::make_address(address, failure);
  return !failure && is_public(parsed);
}

} // namespace codeq::http
