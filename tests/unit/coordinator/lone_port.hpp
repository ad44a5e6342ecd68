// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/shard/shard.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::coordinator {

/// The port of a shard by itself: keeps the latest wake-up, the answers to schedule requests, the
/// refusals, and the notes about grants, breakers and purges.
class lone_port final : public shard_port {
public:
  void commit(turn_commit turn, const std::vector<core::event>&) override {
    submitted = turn.number;
  }

  void note_purge() override { ++purges; }

  void wake_after(duration wait, std::uint64_t number) override { wakeup = {wait, number}; }

  void close_turn_soon() override {}

  [[nodiscard]] const result<void>& check_disk(monotonic_time) override { return disk; }

  void raise_epoch() override {}
  void reply(core::peer_id, protocol::peer_reply reply) override {
    if (const auto* told = std::get_if<protocol::schedules_told>(&reply))
      answers += std::to_string(told->number) + ' ';
    std::visit([this](const auto& r) { note(r); }, reply);
  }

  void deliver(core::peer_id, task_delivery) override {}
  void tell_credits(core::peer_id, const credit_news&) override {}
  void tell_queues(core::peer_id, queues_added) override {}
  void end_peer(core::peer_id, const error&) override { answers += "ended "; }

  void fetch_bodies(core::peer_id, bodies_wanted) override {}
  void answer_inquiry(core::peer_id, stored_inquiry) override {}
  void list_stored(core::peer_id, stored_list) override {}
  void find_keys(keys_wanted) override {}
  void read_survivors(survivors_wanted) override {}
  [[nodiscard]] bool may_hold_key(const task_key&) override { return false; }
  void to_shard(shard_id, core::command command) override {
    if (auto* follow_ups = std::get_if<core::take_follow_ups>(&command))
      handed_over.push_back(std::move(*follow_ups));
  }
  bool make_timer(sequence, fencing_token) override { return true; }
  void fire_timer(fencing_token) override {}
  bool drop_timer(fencing_token) override { return true; }
  void note_limit(
    std::string_view name, std::uint64_t, std::string_view, std::string_view queue) override {
    limit = name;
    full_queue = queue;
  }

  void note_expired(const core::leases_expired&) override {}
  void note_breaker(const core::breaker_tripped& tripped) override {
    breakers += tripped.queue.queue + ": " + tripped.reason + '\n';
  }

  void note_occurrence(const core::occurrence_noted&, timestamp) override {}
  void note_grants(grant_pause why) override { pauses.push_back(why); }
  [[nodiscard]] bool accepts_writes() const override { return has_replicas; }
  [[nodiscard]] bool may_answer() const override { return is_primary; }
  void settled() override {}
  [[nodiscard]] bool is_disk_tight(monotonic_time, std::size_t) override { return is_tight; }

  template <class Reply>
  void note(const Reply&) {}

  void note(const protocol::leases_extended& extended) {
    answers += "extended " + std::to_string(extended.leases.size()) + " of "
               + std::to_string(extended.number) + ' ';
  }

  void note(const core::queue_answered& answered) {
    answers += "queue " + std::to_string(answered.number) + ' ';
    if (answered.lacks_copies)
      answers += "lacks copies ";
  }

  void note(const protocol::tasks_told& told) {
    for (const auto& task : told.tasks)
      answers += "task " + std::string(to_string(task.code)) + ' ';
  }

  template <class S>
  void note(const protocol::request_refused<S>& refused) {
    answers += std::to_string(refused.number) + ':'
               + std::string(to_string(refused.reason.code)) + ' ';
  }

  std::uint64_t submitted = 0;
  /// Number of turns in which an operator purged tasks.
  std::uint64_t purges = 0;
  std::optional<std::pair<duration, std::uint64_t>> wakeup;
  result<void> disk;
  /// Numbers of the answered requests, with the error of a refused one.
  std::string answers;
  std::string limit;
  /// The queue that the latest limit named.
  std::string full_queue;
  /// The breakers that tripped, one a line.
  std::string breakers;
  bool has_replicas = true;
  /// No other coordinator may serve the shard.
  bool is_primary = true;
  bool is_tight = false;
  std::vector<grant_pause> pauses;
  std::vector<core::take_follow_ups> handed_over;
};

} // namespace codeq::coordinator
