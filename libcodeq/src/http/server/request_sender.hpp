// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/outgoing.hpp"

#include <functional>
#include <memory>
#include <string>

namespace codeq::http {

/// Sends requests on its own thread, and looks up their hosts on other threads.
class request_sender {
public:
  request_sender();

  /// Ends the thread without waiting for it, because a look-up of a host cannot be interrupted.
  ~request_sender();
  request_sender(const request_sender&) = delete;
  request_sender& operator=(const request_sender&) = delete;

  /// Calls `done` once on the sender's thread, or never when the sender is destroyed first. Hosts
  /// are looked up in the name of `tenant`.
  void send(
    const std::string& tenant,
    outgoing_request request,
    std::function<void(result<outgoing_answer>)> done);

private:
  std::shared_ptr<boost::asio::io_context> io_;
  std::shared_ptr<host_resolver> resolver_ = std::make_shared<host_resolver>();
};

} // namespace codeq::http
