// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/flow/ready_board.hpp"

#include <cstddef>
#include <optional>

namespace codeq::core {

/// The tasks of other shards that come before all others, as one match of a queue knows them: of
/// the shards of the process, and of those of other coordinators. They are read again when the
/// match comes to tasks of a lower priority: grants of a higher one may end what a task on another
/// shard waited for.
class known_rival {
public:
  /// The board may be null: there are no other shards then.
  explicit known_rival(const queue_board* board) : board_(board) {}

  /// The shard of the process with a task that comes before that one; empty when there is none.
  [[nodiscard]] std::optional<shard_id> before(const ready_head& own);

  /// The same of the shards of other coordinators.
  [[nodiscard]] std::optional<shard_id> far_before(const ready_head& own);

private:
  void read(std::size_t priority);

  const queue_board* board_;
  std::optional<std::size_t> read_at_;
  std::optional<rival_head> rival_;
  std::optional<rival_head> far_;
};

} // namespace codeq::core
