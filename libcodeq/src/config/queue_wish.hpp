// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace codeq::config {

/// How a worker is to serve one queue.
struct queue_wish {
  std::string queue;
  /// 0: as many as the worker has.
  std::size_t slots = 0;
  unsigned weight = 1;
  /// `shared`, `thread` or `process`.
  std::string isolation = "shared";
};

/// Parses `QUEUE=slots:N,weight:N,isolation:WHERE`, of which each part is optional. Errors:
/// `invalid_argument` names the value and what is allowed.
[[nodiscard]] result<queue_wish> parse_queue_wish(std::string_view text);

} // namespace codeq::config
