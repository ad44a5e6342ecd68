// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::sim {

/// The contract's arithmetic over what shards decided to write: attempts and charges, times,
/// groups, cancellations, totals. Reads the records one by one and knows nothing of the shards'
/// memory.
class ledger {
public:
  using breach_function = std::function<void(const std::string& rule, const std::string& what)>;

  explicit ledger(breach_function breach) : breach_(std::move(breach)) {}

  /// A turn was sealed at this shard time.
  void follow(shard_id shard, const std::vector<core::event>& events, timestamp sealed_at);

  /// A process ended: from here on only these records count, all of them durable.
  void rebuild(const std::vector<std::pair<shard_id, core::event>>& durable);

  /// A live lease was beaten.
  void beaten(shard_id shard, fencing_token token, bool queued);

  /// With this turn all leases of the worker's older processes end, or all of its own.
  void replaced(shard_id shard, const worker_identity& by);
  void left(shard_id shard, const worker_identity& worker);

  /// Which attempt of its task a token is.
  [[nodiscard]] std::optional<std::uint32_t> attempt_of(shard_id shard, fencing_token token) const;

private:
  struct task {
    queue_address queue;
    int priority = 0;
    core::task_settings settings;
    std::string group;
    timestamp not_before;
    bool allow_promotion = false;
    timestamp retry_at;
    /// `leased`, an end, or anything else for waiting.
    task_state state = task_state::ready;
    fencing_token token{};
    std::uint32_t attempt = 0;
    std::uint32_t lost = 0;
    std::uint32_t refunds = 0;
    bool cancelling = false;
    /// The lease was last beaten as not started.
    bool queued = false;
    worker_identity holder;
  };

  using group_key = std::pair<queue_address, std::string>;

  struct shard_book {
    std::map<sequence, task> tasks;
    std::map<group_key, std::set<sequence>> groups;
    std::map<fencing_token, sequence> leases;
    std::map<queue_address, core::queue_totals> totals;
    std::set<std::pair<producer_id, std::uint64_t>> requests;
    /// Holders whose leases are to be over when the turn is sealed.
    std::vector<std::function<bool(const worker_identity&)>> gone;
  };

  void breach(const std::string& rule, sequence seq, const std::string& what);
  void read(const core::segment_appended& e);
  void read(const core::batch_granted& e);
  void read(const core::leases_ended& e);
  void read(const core::tasks_changed& e);

  /// Of the queues, nothing is configured here.
  void read(const core::queue_configured&) {}

  /// What they come to is seen where they become tasks.
  void read(const core::follow_ups_sent&) {}

  void read(const core::checkpoint_taken& e);
  void grant(const core::batch_granted& e, sequence seq, fencing_token token);
  void check_order(const task& t, sequence seq);
  [[nodiscard]] bool may_run(sequence seq, const task& t) const;
  /// Nothing that might have run waits behind what the turn leased.
  void check_places(const std::vector<core::event>& events);
  void end(const core::leases_ended& record, const core::lease_end& e);
  void check_charge(const task& t, const core::lease_end& e);
  void check_next(const task& t, const core::leases_ended& record, const core::lease_end& e);
  void check_delay(const task& t, const core::leases_ended& record, const core::lease_end& e);
  void change(const core::task_change& c);
  void check_gone();

  breach_function breach_;
  std::map<shard_id, shard_book> shards_;
  std::map<std::pair<shard_id, fencing_token>, std::uint32_t> attempts_;
  /// Of the turn that is read.
  shard_id shard_{};
  shard_book* book_ = nullptr;
  timestamp sealed_at_;
  bool checking_ = true;
};

} // namespace codeq::sim
