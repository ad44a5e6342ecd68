// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/connection_hall.hpp"
#include "http/server/socket_stream.hpp"

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

/// Included by the files that speak to sockets only, for Boost.Beast takes long to compile.
namespace codeq::http {

/// One client's connection. Keeps itself alive by its pending operations, and until the exchange
/// that it waits for was answered. Used on the server's thread.
class connection : public std::enable_shared_from_this<connection> {
public:
  /// Has its place among those of `remote` already.
  connection(
    boost::asio::ip::tcp::socket socket, std::shared_ptr<connection_hall> hall, std::string remote);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Shakes hands, where that is to be done, and reads the first request.
  void start();

  /// Closes it at once, since others need its place.
  void evict();

  /// Ends it now when it waits for a request, else after the answer.
  void wind_up();

  /// Lets go of a call that will not be answered, once the thread of the connections has ended.
  void abandon();

private:
  using error_code = boost::beast::error_code;
  using string_request = boost::beast::http::request<boost::beast::http::string_body>;
  using string_response = boost::beast::http::response<boost::beast::http::string_body>;

  /// Reads the next request.
  void read();
  void on_header(error_code failure);
  void read_body();

  /// Finds out whose token it is and takes a place of that tenant; false when it has none left.
  [[nodiscard]] bool identify();

  /// Takes bytes for the request's body; false when its tenant has none left.
  [[nodiscard]] bool reserve_body();

  /// Whose share of bytes it uses.
  [[nodiscard]] const std::string& payer() const { return tenant_.empty() ? remote_ : tenant_; }

  void on_request(error_code failure);
  void serve();

  /// Notices when the client goes away while its answer is waited for.
  void watch();
  void on_readable(error_code failure, std::uint64_t number);

  /// The same within TLS, where what can be read may be no word of the client's.
  void watch_secured();
  void take_answer(response answer);
  void write(response answer);
  void on_written(error_code failure);

  /// Reads and drops what is left of a refused request, within `limits::http_drain_bytes_max` and
  /// `http_drain_time_max`.
  void drain();

  /// Answers without asking anybody and closes.
  void refuse(unsigned status, std::string_view text);
  void close();

  /// Closes without a word.
  void drop();
  void release_body();
  void release_answer();

  socket_stream stream_;
  std::shared_ptr<connection_hall> hall_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::optional<string_response> response_;
  exchange_ptr open_;
  std::string remote_;
  /// Of the latest token; empty until there was one.
  std::string tenant_;
  /// Who sends the request that is being read; null for those who show no token.
  std::shared_ptr<const caller> caller_;
  std::string request_id_;
  std::size_t reserved_ = 0;
  std::size_t written_ = 0;
  /// Who pays for those.
  std::string body_payer_;
  std::string answer_payer_;
  std::uint64_t served_ = 0;
  /// Left to be drained.
  std::size_t drain_bytes_ = 0;
  bool keep_alive_ = false;
  /// TLS is up, so that its end is to be said.
  bool is_secured_ = false;
  /// Waits for a request of which nothing has come.
  bool is_idle_ = false;
};

} // namespace codeq::http
