// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/flow/ready_board.hpp"

#include <cstddef>
#include <optional>

namespace codeq::core {

/// The task of another shard that comes before all others, as one match of a queue knows it. It is
/// read again when the match comes to tasks of a lower priority: grants of a higher one may end
/// what a task on another shard waited for.
class known_rival {
public:
  /// The board may be null: there are no other shards then.
  explicit known_rival(const queue_board* board) : board_(board) {}

  /// For a task of that priority on this shard.
  [[nodiscard]] const std::optional<rival_head>& at(std::size_t priority);

private:
  const queue_board* board_;
  std::optional<std::size_t> read_at_;
  std::optional<rival_head> rival_;
};

} // namespace codeq::core
