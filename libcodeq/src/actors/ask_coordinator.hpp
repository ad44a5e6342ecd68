// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "protocol/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace codeq::actors {

/// Sends a request to a coordinator. After a reconnect it is sent again, unless `repeatable` is
/// false; then `failed` is called when the connection is lost before the answer. All functions are
/// called on the inquiry's thread.
struct ask_coordinator {
  /// Builds the request with this number.
  std::function<protocol::wire_frame(std::uint64_t number)> question;
  /// Handles the reply with that number. Errors: `protocol_error` when it cannot be used; the
  /// connection is then closed and the request sent again.
  std::function<result<void>(const protocol::wire_frame& reply)> answered;
  std::function<void(const error& reason)> failed;
  bool repeatable = true;
  /// If set, every coordinator of a cluster is asked, and `answered` handles each reply; then this
  /// is called with the number of coordinators that could not be asked or were lost.
  std::function<void(std::size_t missing)> completed{};
};

} // namespace codeq::actors
