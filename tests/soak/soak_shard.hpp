// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "coordinator/shard/shard.hpp"
#include "coordinator/store/reader.hpp"
#include "storage/retention/retention_filter.hpp"
#include "storage/task_store.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::test {

/// Drives a shard and its reader over a store under virtual time, in one thread: every call commits
/// its decisions and their consequences before it returns. All commits count as synced. Failures
/// throw.
class soak_shard final : public coordinator::shard_port, public coordinator::reader_port {
public:
  using receiver = std::function<void(const coordinator::task_delivery&)>;

  /// `receive` gets what the one worker, peer `worker`, is granted.
  soak_shard(
    std::shared_ptr<storage::task_store> store,
    std::shared_ptr<storage::retention_horizons> horizons,
    const queue_address& queue,
    receiver receive);

  static constexpr core::peer_id worker = 1;
  static constexpr core::peer_id producer = 2;

  void decide(const core::command& command);

  /// Advances time in steps of a second at most, and does what is due.
  void advance(duration by);

  [[nodiscard]] instant now() { return clock_.now(); }

  [[nodiscard]] const core::shard_state& state() const { return shard_.state(); }

  void commit(coordinator::turn_commit turn, const std::vector<core::event>& events) override;
  void raise_epoch() override;

  void reply(core::peer_id, protocol::peer_reply) override {}

  void reply(core::peer_id, coordinator::shard_reply) override {}

  void deliver(core::peer_id, coordinator::task_delivery tasks) override { receive_(tasks); }

  void tell_credits(core::peer_id, const coordinator::credit_news&) override {}

  void tell_queues(core::peer_id, coordinator::queues_added) override {}

  [[noreturn]] void end_peer(core::peer_id, const error& reason) override { fail(reason); }

  void fetch_bodies(core::peer_id, coordinator::bodies_wanted wanted) override {
    reader_.fetch(std::move(wanted));
  }

  void answer_inquiry(core::peer_id, coordinator::stored_inquiry inquiry) override {
    reader_.answer(inquiry);
  }

  void list_stored(core::peer_id, coordinator::stored_list list) override {
    reader_.answer(std::move(list));
  }

  void find_keys(coordinator::keys_wanted wanted) override { keys_.push_back(std::move(wanted)); }

  void
  keys_found(shard_id shard, std::uint64_t number, std::vector<core::recalled_key> found) override;

  void read_survivors(coordinator::survivors_wanted wanted) override { reader_.read(wanted); }

  void survivors_read(shard_id, core::copy_survivors found) override {
    commands_.emplace_back(std::move(found));
  }

  void survivors_damaged(const coordinator::survivors_wanted&, const error& reason) override {
    fail(reason);
  }

  [[nodiscard]] bool may_hold_key(const task_key& name) override;

  void to_shard(shard_id, core::command command) override {
    commands_.push_back(std::move(command));
  }

  bool make_timer(sequence, fencing_token token) override { return timers_.insert(token).second; }

  /// No lease here lasts longer than a turn.
  void fire_timer(fencing_token) override {}

  bool drop_timer(fencing_token token) override { return timers_.erase(token) > 0; }

  void close_turn_soon() override {}

  void wake_after(duration wait, std::uint64_t number) override;

  void note_limit(
    std::string_view, std::uint64_t, std::string_view, std::string_view) override {}

  void note_expired(const core::leases_expired&) override {}
  void note_breaker(const core::breaker_tripped&) override {}
  void note_occurrence(const core::occurrence_noted&, timestamp) override {}
  void note_grants(coordinator::grant_pause) override {}

  void settled() override {}

  [[nodiscard]] const result<void>& check_disk(monotonic_time) override { return disk_; }

  [[nodiscard]] bool is_disk_tight(monotonic_time, std::size_t) override { return false; }

  [[noreturn]] void fail(const error& reason) override;

private:
  struct wakeup {
    monotonic_time at;
    std::uint64_t number = 0;
  };

  /// Commits all decisions, then processes and commits their consequences.
  void settle();

  std::shared_ptr<storage::task_store> store_;
  std::shared_ptr<storage::retention_horizons> horizons_;
  receiver receive_;
  base::manual_clock clock_;
  coordinator::reader reader_;
  coordinator::shard shard_;
  std::uint32_t epoch_ = 1;
  std::uint64_t submitted_ = 0;
  std::uint64_t committed_ = 0;
  std::deque<core::command> commands_;
  std::deque<coordinator::keys_wanted> keys_;
  std::optional<wakeup> wakeup_;
  std::set<fencing_token> timers_;
  result<void> disk_;
};

} // namespace codeq::test
