// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "etcd/gateway_json.hpp"
#include "etcd/member_url.hpp"
#include "security/tls_context.hpp"

#include <functional>
#include <memory>

namespace boost::asio {

class io_context;

} // namespace boost::asio

namespace codeq::etcd {

/// One HTTP connection to a member, for one request after the other. Used on the thread that runs
/// its `io_context`. After `close`, and after an error, it is of no more use.
class connection {
public:
  virtual ~connection() = default;

  struct exchange {
    gateway_request what;
    /// Called before the first byte is written.
    std::function<void()> sending;
    /// Called once, unless the connection is closed before.
    std::function<void(result<gateway_answer>)> done;
  };

  struct stream {
    gateway_request what;
    /// Called for each line of the answer.
    std::function<void(std::string_view)> line;
    /// Called once, unless the connection is closed before: why there are no further lines.
    std::function<void(std::string)> ended;
  };

  /// Connects if necessary, sends a request and reads the answer. @pre none is under way
  virtual void request(exchange what) = 0;

  /// Sends a request and reads lines until the connection ends. @pre none is under way
  virtual void follow(stream what) = 0;

  /// Closes the connection; no function is called any more.
  virtual void close() = 0;

  /// Whether it can be used for another request.
  [[nodiscard]] virtual bool is_reusable() const = 0;
};

/// A connection to a member that is not opened yet. `tls` is needed for a secured URL; the member's
/// certificate has to name its host.
[[nodiscard]] std::shared_ptr<connection> make_connection(
  boost::asio::io_context& io,
  const member_url& member,
  std::shared_ptr<const security::tls_context> tls);

} // namespace codeq::etcd
