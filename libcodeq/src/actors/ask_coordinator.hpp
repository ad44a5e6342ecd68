// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "protocol/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace codeq::actors {

/// The coordinators of a cluster that a sum of their answers lacks.
struct missing_answers {
  /// Number of coordinators that could not be asked or were lost.
  std::size_t coordinators = 0;
  /// The shards whose coordinators these are, or are not known; ascending.
  std::vector<shard_id> shards{};
};

/// Sends a request to a coordinator. After a reconnect it is sent again, unless `repeatable` is
/// false; then `failed` is called when the connection is lost before the answer. It is also called
/// at once for a shard that was not reached when an earlier request for it was given up, nor since.
/// All functions are called on the inquiry's thread.
struct ask_coordinator {
  /// Builds the request with this number.
  std::function<protocol::wire_frame(std::uint64_t number)> question;
  /// Handles the reply with that number. Errors: `protocol_error` when it cannot be used; the
  /// connection is then closed and the request sent again.
  std::function<result<void>(const protocol::wire_frame& reply)> answered;
  std::function<void(const error& reason)> failed;
  bool repeatable = true;
  /// If set, every coordinator of a cluster is asked, and `answered` handles each reply; then this
  /// is called.
  std::function<void(const missing_answers& missing)> completed{};
};

} // namespace codeq::actors
