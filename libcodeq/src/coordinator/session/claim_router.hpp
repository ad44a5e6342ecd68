// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/limits.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace codeq::coordinator {

/// Decides at which shards a worker's credits wait. Pure: the session notifies it of events and
/// carries out the moves that it returns. Idle credits are spread over all shards. When a shard has
/// work, credits move there; if none are free, they are taken back from shards without work. So no
/// credit is idle while work waits, and never more is claimed than there are credits. A shard whose
/// tasks come after those of another shard gives its credits back, and gets none while another
/// shard has work, until that shard has granted the better tasks.
class claim_router {
public:
  /// Adds credits at a shard, or requests unused ones back.
  struct move {
    enum class kind : std::uint8_t { claim, revoke };

    kind what = kind::claim;
    shard_id shard{};
    std::uint32_t credits = 0;
  };

  using moves = std::vector<move>;

  /// `first` is the place of the first credit, modulo the number of shards. @pre shard_count > 0
  explicit claim_router(std::size_t shard_count, std::size_t first = 0);

  /// The worker can take this many more tasks.
  [[nodiscard]] moves add_credits(std::uint32_t credits);

  /// A shard granted tasks, the last of them of `priority`, and says whether more are ready; `more`
  /// is empty when the tasks arrive late and the shard has sent newer information meanwhile.
  [[nodiscard]] moves granted(
    shard_id shard,
    std::uint32_t tasks,
    std::optional<bool> more,
    int priority = limits::priority_max);

  /// A shard has nothing more for this worker.
  [[nodiscard]] moves drained(shard_id shard);

  /// A shard has work for this worker.
  [[nodiscard]] moves has_work(shard_id shard);

  /// A shard has returned credits on request.
  [[nodiscard]] moves returned(shard_id shard, std::uint32_t credits);

  /// A shard has returned credits: its first task, of `priority`, comes after one of shard `by`.
  /// When that one is away, the shard gets no credits until it has work that does not wait for it:
  /// they are for the other coordinator.
  [[nodiscard]] moves outranked(shard_id shard, std::uint32_t credits, shard_id by, int priority);

  /// Stops or resumes placing credits; a stop takes back those that wait at shards.
  [[nodiscard]] moves pause(bool paused);

  /// A shard is served by this coordinator from now on, or not any more; the credits that were at
  /// one that left are placed elsewhere. At first all shards are here.
  [[nodiscard]] moves set_here(shard_id shard, bool is_here);

  /// The worker asks for unused credits, which it gives to another coordinator; those at shards
  /// without work come back first.
  [[nodiscard]] moves take_back(std::uint32_t credits);

  /// Credits that it asked for may still come back.
  [[nodiscard]] bool is_taking_back() const { return wanted_back_ > 0; }

  /// The credits that have come back for the worker since the last call.
  [[nodiscard]] std::uint32_t take_returned() { return std::exchange(returned_, 0); }

  /// Whether tasks wait while there are no credits; `before` when it is undecided, because there
  /// are both.
  [[nodiscard]] bool is_starving(bool before) const;

  [[nodiscard]] bool is_here(shard_id shard) const { return !places_[value(shard)].is_away; }

  /// Number of unused credits: here, at shards or on their way back.
  [[nodiscard]] std::uint32_t credits() const;

  /// Number of those that are at shards or on their way back.
  [[nodiscard]] std::uint32_t waiting() const { return credits() - free_; }

private:
  struct place {
    std::uint32_t waiting = 0;
    bool busy = false;
    bool revoking = false;
    /// Credits were added since they were requested back.
    bool added = false;
    /// The shard has no unused credits: all of `waiting` are on their way with tasks.
    bool spent = false;
    bool is_away = false;
    /// The shard's first task comes after one on a shard that is away.
    bool is_behind_away = false;
    /// The shard's first task, of `priority`, comes after one on the shard `rival`.
    std::optional<shard_id> rival;
    int priority = 0;

    [[nodiscard]] bool takes_credits() const { return !is_away && !is_behind_away; }
    [[nodiscard]] bool has_work() const { return busy && takes_credits(); }
  };

  /// The shard's tasks do not come before those of other shards from that priority on.
  void drop_rival(shard_id shard, int priority);

  /// True when credits are to be requested back from the place; notes that they are.
  [[nodiscard]] static bool begin_revoke(place& p);

  [[nodiscard]] moves rebalance();
  void spread(moves& out, bool only_busy);

  /// True when a credit must not wait at the place while another one may be chosen.
  [[nodiscard]] bool is_passed_over(const place& p, bool only_busy, bool only_first) const;
  void fetch_for_busy(moves& out);

  void withdraw(moves& out);

  std::vector<place> places_;
  std::uint32_t free_ = 0;
  /// Credits that the worker has asked for and that have not come back, and those that have.
  std::uint32_t wanted_back_ = 0;
  std::uint32_t returned_ = 0;
  /// Place of the next credit, so that no shard is always first.
  std::size_t next_ = 0;
  bool paused_ = false;
};

} // namespace codeq::coordinator
