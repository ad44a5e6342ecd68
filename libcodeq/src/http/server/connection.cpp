// SPDX-License-Identifier: Apache-2.0
#include "http/server/connection.hpp"

#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "http/server/caller.hpp"
#include "http/server/gateway_limits.hpp"
#include "http/server/replies.hpp"
#include "http/server/response_text.hpp"
#include "http/server/target.hpp"

#include <array>
#include <chrono>
#include <new>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>

namespace codeq::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace field = boost::beast::http;

constexpr std::size_t drain_chunk_bytes = 64u << 10;
/// Maximum number of bytes that are read ahead from a client that waits for its response.
constexpr std::size_t watched_bytes = limits::http_header_bytes_max;
/// Maximum size of a body that is copied behind its header; a record of TLS holds as much.
constexpr std::size_t copied_body_bytes = 16u << 10;
/// HTTP/1.1, as Beast counts versions.
constexpr unsigned current_version = 11;

std::string_view view_of(beast::string_view text) {
  return {text.data(), text.size()};
}

/// Makes an `SSL` of the current certificate; null without TLS.
SSL* make_secured(const server_options& options) {
  if (!options.tls)
    return nullptr;
  auto* native = SSL_new(options.tls->current()->native());
  if (!native)
    throw std::bad_alloc();
  return native;
}

/// True for a handshake that failed because the peer sent a request of HTTP.
bool is_plain_request(boost::system::error_code failure) {
  return failure.category() == asio::error::get_ssl_category()
         && ERR_GET_REASON(static_cast<unsigned long>(failure.value())) == SSL_R_HTTP_REQUEST;
}

std::string host_and_port(const asio::ip::tcp::endpoint& remote) {
  auto host = remote.address().to_string();
  bool is_v6 = remote.address().is_v6();
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(remote.port());
}

} // namespace

connection::connection(
  asio::ip::tcp::socket socket, std::shared_ptr<connection_hall> hall, std::string remote)
  : stream_(std::move(socket), make_secured(hall->options)),
    patience_(stream_.get_executor()),
    expiry_(stream_.get_executor()),
    hall_(std::move(hall)),
    buffer_(limits::http_header_bytes_max + limits::http_batch_body_bytes_max),
    remote_(std::move(remote)) {
  hall_->connections.insert(this);
  hall_->enter(*this, remote_);
  ++hall_->options.meter->connections;
  error_code failure;
  auto& ours = stream_.lowest().socket();
  ours.set_option(asio::ip::tcp::no_delay(true), failure);
  auto endpoint = ours.remote_endpoint(failure);
  address_ = failure ? remote_ : host_and_port(endpoint);
}

connection::~connection() {
  release_body();
  release_answer();
  hall_->leave_strangers(*this, remote_);
  hall_->remotes.give_back(remote_);
  if (!tenant_.empty())
    hall_->tenants.give_back(tenant_);
  hall_->connections.erase(this);
  --hall_->options.meter->connections;
  if (hall_->is_stopping && hall_->connections.empty() && hall_->on_empty)
    hall_->on_empty();
}

void connection::start() {
  if (!stream_.is_secured())
    return read();
  is_idle_ = true;
  expire_after(limits::http_tls_handshake_max);
  stream_.async_accept([self = shared_from_this()](error_code failure) {
    if (is_plain_request(failure)) {
      self->is_idle_ = false;
      self->stream_.leave_tls();
      return self->refuse(400, "this port speaks TLS: use https://");
    }
    if (failure)
      return self->drop();
    self->is_secured_ = true;
    self->read();
  });
}

void connection::read() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(limits::http_header_bytes_max));
  parser_->body_limit(limits::http_batch_body_bytes_max);
  is_idle_ = buffer_.size() == 0;
  request_id_.clear();
  origin_.clear();
  is_head_ = false;
  expire_read(tuning::http_idle_max);
  field::async_read_header(
    stream_, buffer_, *parser_, [self = shared_from_this()](error_code failure, std::size_t) {
      self->on_header(failure);
    });
}

void connection::on_header(error_code failure) {
  is_idle_ = false;
  if (failure == field::error::header_limit)
    return refuse(431, "header fields are too large");
  if (failure == field::error::body_limit)
    return refuse_body();
  // A peer that does not speak HTTP gets a refusal; one that closed the connection gets none.
  if (
    failure && failure.category() == field::make_error_code(field::error::bad_method).category()
    && failure != field::error::end_of_stream && failure != field::error::partial_message)
    return refuse(400, "malformed request");
  if (failure)
    return close();
  const auto& head = parser_->get();
  request_id_ = hall_->ids.id_for(view_of(head["X-Request-Id"]));
  origin_ = std::string(view_of(head[field::field::origin]));
  is_head_ = head.method() == field::verb::head;
  if (!is_length_certain())
    return refuse(
      400, "malformed request: 'Transfer-Encoding' may only be chunked, and only in HTTP/1.1");
  if (!identify())
    return refuse(
      429,
      "tenant " + caller_->tenant + " has too many connections: all tenants share "
        + std::to_string(hall_->tenants.total()));
  auto limit = body_bytes_max(view_of(head.target()));
  auto length = parser_->content_length();
  if (length && *length > limit)
    return refuse_body();
  parser_->body_limit(limit);
  if (!reserve_body())
    return refuse(over_share());
  read_body();
}

bool connection::is_length_certain() const {
  const auto& head = parser_->get();
  if (head.count(field::field::transfer_encoding) == 0)
    return true;
  // Beast ignores codings that are not followed by `chunked`. It refuses a length beside chunks.
  bool is_chunked =
    parser_->chunked() && beast::iequals(head[field::field::transfer_encoding], "chunked");
  return is_chunked && head.version() >= current_version;
}

bool connection::identify() {
  const auto& head = parser_->get();
  caller_ = hall_->options.identify
              ? hall_->options.identify(bearer_of(view_of(head[field::field::authorization])))
              : nullptr;
  if (!caller_ || caller_->tenant == tenant_)
    return true;
  if (!hall_->tenants.take(caller_->tenant)) {
    hall_->note("http_connections_max", hall_->tenants.total(), "tenant", caller_->tenant);
    return false;
  }
  if (tenant_.empty())
    hall_->leave_strangers(*this, remote_);
  else
    hall_->tenants.give_back(tenant_);
  tenant_ = caller_->tenant;
  return true;
}

bool connection::reserve_body() {
  auto length = parser_->content_length();
  auto most = body_bytes_max(view_of(parser_->get().target()));
  auto bytes = length ? static_cast<std::size_t>(*length) : parser_->chunked() ? most : 0;
  if (bytes == 0)
    return true;
  if (!hall_->body_bytes.take(payer(), bytes))
    return false;
  reserved_ = bytes;
  body_payer_ = payer();
  return true;
}

response connection::over_share() {
  const auto& bytes = hall_->body_bytes;
  hall_->note("http_bodies_bytes_max", bytes.total(), payer_kind(), payer());
  return refusal_of(
    {errc::overloaded,
     std::string(payer_kind()) + " " + payer() + " has " + std::to_string(bytes.used_by(payer()))
       + " bytes at once; all share http_bodies_bytes_max=" + std::to_string(bytes.total())});
}

void connection::read_body() {
  expire_read(tuning::http_body_time_max);
  auto go_on = [self = shared_from_this()](error_code failure, std::size_t) {
    if (failure)
      return self->close();
    field::async_read(
      self->stream_, self->buffer_, *self->parser_, [self](error_code broken, std::size_t) {
        self->on_request(broken);
      });
  };
  bool is_asked = beast::iequals(parser_->get()[field::field::expect], "100-continue");
  if (!is_asked)
    return go_on({}, 0);
  static constexpr std::string_view yes = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(stream_, asio::buffer(yes.data(), yes.size()), std::move(go_on));
}

void connection::on_request(error_code failure) {
  if (failure == field::error::body_limit)
    return refuse_body();
  if (failure)
    return close();
  serve();
}

void connection::serve() {
  expire_never();
  auto& head = parser_->get();
  // An older client reads up to the end of the connection, unless the answer says that it is kept.
  keep_alive_ = head.keep_alive() && head.version() >= current_version;
  open_ = std::make_shared<exchange>();
  open_->by = caller_;
  auto& in = open_->in;
  in.method = std::string(view_of(head.method_string()));
  in.bearer = std::string(bearer_of(view_of(head[field::field::authorization])));
  in.host = std::string(view_of(head[field::field::host]));
  in.origin = origin_;
  in.preflight_method = std::string(view_of(head[field::field::access_control_request_method]));
  in.idempotency_key = std::string(view_of(head["Idempotency-Key"]));
  in.known_etag = std::string(view_of(head[field::field::if_none_match]));
  in.accepts_gzip = field::ext_list(head[field::field::accept_encoding]).exists("gzip");
  in.id = request_id_;
  in.remote = address_;
  if (!read_target(view_of(head.target()), in))
    return refuse(400, "malformed request target");
  in.body = std::move(head.body());
  // The last reference to the call may be dropped on any thread, so it must not own the connection.
  unanswered_ = shared_from_this();
  open_->answer = [weak = weak_from_this(), to = stream_.get_executor()](response answer) {
    asio::post(to, [weak, answer = std::move(answer)]() mutable {
      auto self = weak.lock();
      if (self && self->open_)
        self->take_answer(std::move(answer));
      else if (answer.on_unwritten)
        answer.on_unwritten();
    });
  };
  ++served_;
  hall_->options.serve(open_);
  watch();
}

void connection::watch() {
  // The end of the connection is behind the bytes that the client has sent already.
  auto room = watched_bytes - std::min(watched_bytes, buffer_.size());
  if (room == 0)
    return stop_watching();
  stream_.async_read_some(
    buffer_.prepare(room),
    [self = shared_from_this(), number = served_](error_code failure, std::size_t count) {
      self->buffer_.commit(count);
      bool has_ended = failure && failure != asio::error::operation_aborted;
      self->has_ended_ = self->has_ended_ || has_ended;
      if (!self->open_ || number != self->served_)
        return;
      if (has_ended)
        self->hall_->options.gone(self->open_);
      else if (!failure)
        self->watch();
    });
}

void connection::expire_read(duration limit) {
  expire_after(limit);
  // Asio would not report the end of a connection a second time.
  if (has_ended_)
    stream_.lowest().expires_after(duration{0});
}

void connection::expire_after(duration limit) {
  if (has_ended_)
    stream_.lowest().expires_never();
  deadline_ = std::chrono::steady_clock::now() + limit;
  if (deadline_ < armed_)
    arm_deadline();
}

void connection::arm_deadline() {
  armed_ = deadline_;
  expiry_.expires_at(armed_);
  expiry_.async_wait([weak = weak_from_this()](error_code stopped) {
    if (auto self = weak.lock(); self && !stopped)
      self->look_at_deadline();
  });
}

void connection::look_at_deadline() {
  armed_ = time_point::max();
  if (deadline_ == time_point::max())
    return;
  if (std::chrono::steady_clock::now() < deadline_)
    return arm_deadline();
  has_expired_ = true;
  // Pending reads and writes end with an error.
  drop();
}

void connection::stop_watching() {
  patience_.expires_after(limits::http_gone_grace);
  patience_.async_wait([self = shared_from_this(), number = served_](error_code stopped) {
    if (!stopped && self->open_ && number == self->served_)
      self->hall_->options.gone(self->open_);
  });
}

void connection::take_answer(response answer) {
  open_.reset();
  unanswered_.reset();
  error_code ignored;
  stream_.lowest().socket().cancel(ignored);
  patience_.cancel();
  write(std::move(answer));
}

void connection::take_share(response& answer) {
  auto bytes = is_head_ ? 0 : answer.body.size();
  if (answer.share)
    return answer.share->force(bytes);
  auto share = hall_->options.answers->open(payer_kind(), payer());
  // Clients that request much and read slowly must not fill the memory together.
  if (bytes > limits::http_small_answer_bytes) {
    if (auto ok = share->resize(bytes); !ok) {
      answer = refusal_of(ok.error());
      keep_alive_ = false;
    }
  }
  share->force(is_head_ ? 0 : answer.body.size());
  answer.share = std::move(share);
}

void connection::write(response answer) {
  release_body();
  take_share(answer);
  ++hall_->options.meter->answers[std::min(answer.status / 100, 5u)];
  keep_alive_ = keep_alive_ && !hall_->is_stopping;
  hall_->options.cors.admit(origin_, answer);
  header_ = header_text(answer, {request_id_, keep_alive_});
  body_ = is_head_ ? std::string() : std::move(answer.body);
  share_ = std::move(answer.share);
  on_unwritten_ = std::move(answer.on_unwritten);
  events_ = is_head_ ? nullptr : std::move(answer.events);
  if (events_)
    return write_events();
  // A small body is copied, so that it is sent as one piece, and as one record of TLS.
  if (body_.size() <= copied_body_bytes) {
    header_ += body_;
    body_.clear();
  }
  expire_after(tuning::http_write_time_max);
  std::array<asio::const_buffer, 2> pieces{asio::buffer(header_), asio::buffer(body_)};
  asio::async_write(
    stream_, pieces, [self = shared_from_this()](error_code failure, std::size_t) {
      self->on_written(failure);
    });
}

void connection::on_written(error_code failure) {
  if (auto unwritten = std::exchange(on_unwritten_, nullptr); failure && unwritten)
    unwritten();
  release_answer();
  if (!failure && drain_bytes_ > 0 && !has_ended_) {
    error_code ignored;
    // The rest of the request is read below TLS and dropped.
    is_secured_ = false;
    stream_.lowest().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    expire_after(limits::http_drain_time_max);
    return drain();
  }
  bool has_more = !has_ended_ || buffer_.size() > 0;
  if (failure || !keep_alive_ || !has_more)
    return close();
  read();
}

void connection::drain() {
  buffer_.clear();
  auto room = buffer_.prepare(drain_chunk_bytes);
  stream_.lowest().async_read_some(
    room, [self = shared_from_this()](error_code failure, std::size_t count) {
      self->drain_bytes_ -= std::min(self->drain_bytes_, count);
      bool is_over_limit = self->has_expired_ || self->drain_bytes_ == 0;
      if (is_over_limit)
        self->hall_->note(
          "http_drain_bytes_max", limits::http_drain_bytes_max, "remote", self->remote_);
      if (failure || is_over_limit)
        return self->close();
      self->drain();
    });
}

void connection::refuse_body() {
  // A header that names too large a body is refused before it is read as a whole.
  auto length = parser_->is_header_done() ? parser_->content_length() : boost::none;
  auto has = length ? "it has " + std::to_string(*length) + " bytes; " : std::string();
  auto most = std::to_string(body_bytes_max(view_of(parser_->get().target())));
  refuse(413, "request body is too large: " + has + "it must have at most " + most + " bytes");
}

void connection::refuse(unsigned status, std::string_view text) {
  refuse(refusal(status, text));
}

void connection::refuse(response answer) {
  open_.reset();
  keep_alive_ = false;
  drain_bytes_ = limits::http_drain_bytes_max;
  if (request_id_.empty())
    request_id_ = hall_->ids.id_for({});
  write(std::move(answer));
}

void connection::abandon() {
  auto self = std::move(unanswered_);
  open_.reset();
  patience_.cancel();
  drop();
}

void connection::evict() {
  hall_->leave_strangers(*this, remote_);
  drop();
}

void connection::wind_up() {
  keep_alive_ = false;
  if (events_)
    return events_->end();
  if (is_idle_)
    close();
}

void connection::close() {
  release_body();
  bool says_so = std::exchange(is_secured_, false);
  if (!says_so)
    return drop();
  expire_after(tuning::connection_linger);
  stream_.async_end([self = shared_from_this()](error_code) { self->drop(); });
}

void connection::drop() {
  release_body();
  error_code ignored;
  stream_.lowest().socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.lowest().close();
}

void connection::release_answer() {
  header_.clear();
  // An assignment would keep the memory until the connection closes.
  std::string().swap(body_);
  share_.reset();
}

void connection::release_body() {
  if (auto bytes = std::exchange(reserved_, 0); bytes > 0)
    hall_->body_bytes.give_back(body_payer_, bytes);
}

} // namespace codeq::http
