// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/outgoing.hpp"

#include <functional>
#include <memory>

namespace codeq::http {

/// Sends requests on a thread of its own.
class request_sender {
public:
  request_sender();

  /// Ends the thread without waiting for it: a look-up of a host cannot be interrupted.
  ~request_sender();
  request_sender(const request_sender&) = delete;
  request_sender& operator=(const request_sender&) = delete;

  /// Calls `done` on the thread, once; never when this ends before.
  void send(outgoing_request request, std::function<void(result<outgoing_answer>)> done);

private:
  std::shared_ptr<boost::asio::io_context> io_;
};

} // namespace codeq::http
