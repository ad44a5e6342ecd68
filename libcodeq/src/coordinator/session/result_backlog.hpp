// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/commands/command.hpp"
#include "protocol/peer_messages.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace codeq::coordinator {

/// Awaited tasks that have ended but cannot be reported yet, because too many results wait for the
/// peer's connection. Only the tasks' numbers are kept; the shard is asked for the results again
/// once the connection has room. Memory: 8 bytes per task, for at most the tasks that the peer
/// awaits. Pure.
class result_backlog {
public:
  /// Splits the tasks by the room for bytes of results: returns those that may be sent now and
  /// keeps the others. Progress may always be sent.
  [[nodiscard]] protocol::tasks_told
  admit(shard_id shard, const protocol::tasks_told& told, std::uint64_t room);

  /// The tasks to await again at a shard, now that there is room; a few at a time, since the size
  /// of their results is unknown.
  [[nodiscard]] std::optional<std::pair<shard_id, std::vector<sequence>>> take();

  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

private:
  std::map<shard_id, std::deque<sequence>> waiting_;
};

} // namespace codeq::coordinator
