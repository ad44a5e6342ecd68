// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/outgoing.hpp"

#include <functional>
#include <string>

namespace codeq::http {

/// Sends a request of a tenant, and calls back once, on any thread.
using send_request = std::function<void(
  const std::string& tenant, outgoing_request, std::function<void(result<outgoing_answer>)>)>;

struct webhook_options {
  /// Empty refuses all webhooks.
  send_request send{};
  /// The key that signs deliveries; empty does not sign them.
  std::string secret{};
  /// Also delivers to addresses that are not on the internet.
  bool allow_private = false;
  /// Wall-clock time, for signatures.
  std::function<timestamp()> wall_time{};
};

} // namespace codeq::http
