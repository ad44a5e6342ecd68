// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/server.hpp"
#include "http/server/socket_stream.hpp"

#include <memory>
#include <optional>
#include <unordered_set>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

/// Included by the files that speak to sockets only, for Boost.Beast takes long to compile.
namespace codeq::http {

class connection;

/// What the connections of one server share. Used on the server's thread.
struct connection_hall {
  server_options options;
  std::unordered_set<connection*> connections;
  /// Bytes of bodies that are being read or answered.
  std::size_t body_bytes = 0;
  /// Bytes of bodies that are being written.
  std::size_t answer_bytes = 0;
  bool is_stopping = false;
  /// Called when the last connection ends while the server stops; may be empty.
  std::function<void()> on_empty;
};

/// One client's connection. Keeps itself alive by its pending operations, and until the exchange
/// that it waits for was answered. Used on the server's thread.
class connection : public std::enable_shared_from_this<connection> {
public:
  connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<connection_hall> hall);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Shakes hands, where that is to be done, and reads the first request.
  void start();

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
  void refuse(unsigned status, const char* text);
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
  std::string request_id_;
  std::size_t reserved_ = 0;
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
