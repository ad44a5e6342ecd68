// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/connection_hall.hpp"
#include "http/server/event_stream.hpp"
#include "security/socket_stream.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

/// Only the files that read and write sockets include this header, since Boost.Beast takes long to
/// compile.
namespace codeq::http {

/// One client's connection. Its pending operations keep it alive, and it keeps itself alive while a
/// call is not answered. Used on the server's thread, also when it is destroyed.
class connection : public std::enable_shared_from_this<connection> {
public:
  /// @pre `remote` was admitted by the hall
  connection(
    boost::asio::ip::tcp::socket socket, std::shared_ptr<connection_hall> hall, std::string remote);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Makes the TLS handshake, if there is TLS, and reads the first request.
  void start();

  /// Closes the connection at once, to free its place for another one.
  void evict();

  /// Closes the connection now if it waits for a request, otherwise after the response.
  void wind_up();

  /// Drops a call that will not be answered and closes the connection, which ends when the loop has
  /// run what is left. @pre the thread of the connections has ended
  void abandon();

private:
  using error_code = boost::beast::error_code;
  using string_request = boost::beast::http::request<boost::beast::http::string_body>;

  /// Reads the next request.
  void read();
  void on_header(error_code failure);
  void read_body();

  /// False when a proxy may find the end of the request elsewhere, and so take a part of its body
  /// for another request, or the other way round.
  [[nodiscard]] bool is_length_certain() const;

  /// Looks up the caller of the token and takes a place of its tenant; false when the tenant has
  /// none left.
  [[nodiscard]] bool identify();

  /// Takes bytes for the request's body; false when the tenant has none left.
  [[nodiscard]] bool reserve_body();

  /// The tenant or remote address whose share of bytes the connection uses.
  [[nodiscard]] const std::string& payer() const { return tenant_.empty() ? remote_ : tenant_; }

  void on_request(error_code failure);
  void serve();

  /// Notices when the client goes away before its request is answered, also behind bytes of its
  /// next request.
  void watch();

  /// The client has sent more than is read ahead, so that its end would not be seen: it counts as
  /// gone when its request is not answered within `limits::http_gone_grace`.
  void stop_watching();

  /// Closes the connection when it takes longer than that from now on, unless another limit is set
  /// or `expire_never` is called before. Cheap: the timer runs on, and is set again when it fires.
  void expire_after(duration limit);

  void expire_never() { deadline_ = time_point::max(); }

  /// Has the timer fire at the deadline.
  void arm_deadline();
  void look_at_deadline();

  /// Limits the time of the next read. Once the client has sent everything, requests are read only
  /// as far as they are buffered.
  void expire_read(duration limit);
  void take_answer(response answer);
  void write(response answer);
  void on_written(error_code failure);

  /// Writes the header of a response with events, and then the events as they are sent.
  void write_events();
  void take_event(live_event event);

  /// Writes the event that waits, or else the end of the response when that was sent.
  void write_next_event();
  void end_response();

  /// Notices when the client of events goes away.
  void watch_events();
  void end_events();

  /// Reads and drops the rest of a refused request, within `limits::http_drain_bytes_max` and
  /// `http_drain_time_max`.
  void drain();

  /// Answers on the server's thread, without `serve`, and closes the connection.
  /// Refuses a body over its limit.
  void refuse_body();
  void refuse(unsigned status, std::string_view text);
  void refuse(response answer);

  /// Counts and logs that the payer has its share of bodies; returns the refusal.
  [[nodiscard]] response over_share();

  /// Gives the response a share of its own if it has none. An answer that is too large for the
  /// payer's share is replaced by a refusal.
  void take_share(response& answer);

  /// The kind of the payer, for errors and counts.
  [[nodiscard]] std::string_view payer_kind() const {
    return tenant_.empty() ? "remote" : "tenant";
  }

  void close();

  /// Closes the connection without a response.
  void drop();
  void release_body();
  void release_answer();

  using time_point = boost::asio::steady_timer::time_point;

  security::socket_stream stream_;
  boost::asio::steady_timer patience_;
  boost::asio::steady_timer expiry_;
  time_point deadline_ = time_point::max();
  /// When `expiry_` fires; the maximum when it does not.
  time_point armed_ = time_point::max();
  std::shared_ptr<connection_hall> hall_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  /// The response that is being written; a small body is a part of `header_`.
  std::string header_;
  std::string body_;
  exchange_ptr open_;
  /// The connection itself, from the time a call is served until it is answered.
  std::shared_ptr<connection> unanswered_;
  /// The block of addresses that shares and limits count.
  std::string remote_;
  /// Host and port of the client.
  std::string address_;
  /// The tenant of the latest token; empty before the first one.
  std::string tenant_;
  /// The caller of the request that is being read; null without a token.
  std::shared_ptr<const caller> caller_;
  std::string request_id_;
  std::string origin_;
  std::size_t reserved_ = 0;
  /// The owner of the share that these bytes were taken from.
  std::string body_payer_;
  /// The share of the response that is being written.
  answer_share share_;
  /// Called when the response that is being written could not be sent; may be empty.
  std::function<void()> on_unwritten_;
  /// The events of the response that is being written; null for a response with a body.
  std::shared_ptr<event_stream> events_;
  /// The event that is written next; without texts when none waits.
  live_event waiting_event_;
  /// The text that is being written; null when nothing is.
  std::shared_ptr<const std::string> event_text_;
  /// An event was replaced before it was written.
  bool has_missed_event_ = false;
  bool have_events_ended_ = false;
  std::uint64_t served_ = 0;
  /// The number of bytes that may still be drained.
  std::size_t drain_bytes_ = 0;
  bool keep_alive_ = false;
  /// The request that is being answered is a HEAD.
  bool is_head_ = false;
  /// TLS is up, so that its end is to be said.
  bool is_secured_ = false;
  /// The end of what the client sends was read.
  bool has_ended_ = false;
  /// A deadline has passed.
  bool has_expired_ = false;
  /// The connection waits for the first byte of a request.
  bool is_idle_ = false;
};

} // namespace codeq::http
