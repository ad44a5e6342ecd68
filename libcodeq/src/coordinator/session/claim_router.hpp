// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace codeq::coordinator {

/// Decides where a worker's credits wait. Pure: the session feeds it what happens and carries out
/// the moves it returns. Idle credits are spread over all shards; as soon as a shard says that it
/// has work, credits move there, taken back from shards without work when none are free. So nothing
/// idles while work waits, and no more is ever claimed than there are credits.
class claim_router {
public:
  /// Adds credits at a shard, or asks for unused ones back.
  struct move {
    enum class kind : std::uint8_t { claim, revoke };

    kind what = kind::claim;
    shard_id shard{};
    std::uint32_t credits = 0;
  };

  using moves = std::vector<move>;

  /// `first` says where the first credit goes, modulo the number of shards. @pre shard_count > 0
  explicit claim_router(std::size_t shard_count, std::size_t first = 0);

  /// The worker can take so many more tasks.
  [[nodiscard]] moves add_credits(std::uint32_t credits);

  /// A shard handed out tasks and says whether more is ready there; `more` is empty when the tasks
  /// come late and what else the shard said meanwhile is newer.
  [[nodiscard]] moves granted(shard_id shard, std::uint32_t tasks, std::optional<bool> more);

  /// A shard has nothing more for this worker.
  [[nodiscard]] moves drained(shard_id shard);

  /// A shard has work for this worker.
  [[nodiscard]] moves has_work(shard_id shard);

  /// A shard gave back credits that it was asked for.
  [[nodiscard]] moves returned(shard_id shard, std::uint32_t credits);

  /// Stops or resumes placing credits; those that wait at shards are taken back.
  [[nodiscard]] moves pause(bool paused);

  /// Credits that wait anywhere: here, at shards or on their way back.
  [[nodiscard]] std::uint32_t credits() const;

  /// Those of them that are at shards or on their way back.
  [[nodiscard]] std::uint32_t waiting() const { return credits() - free_; }

private:
  struct place {
    std::uint32_t waiting = 0;
    bool busy = false;
    bool revoking = false;
  };

  [[nodiscard]] moves rebalance();
  void spread(moves& out, bool only_busy);
  void fetch_for_busy(moves& out);

  std::vector<place> places_;
  std::uint32_t free_ = 0;
  /// Where the next credit goes, so that no shard is always first.
  std::size_t next_ = 0;
  bool paused_ = false;
};

} // namespace codeq::coordinator
