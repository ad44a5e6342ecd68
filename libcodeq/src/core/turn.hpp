// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/command.hpp"
#include "core/effect.hpp"
#include "core/event.hpp"
#include "core/shard_state.hpp"

#include <cstddef>
#include <vector>

namespace codeq::core {

/// What a turn came to: write the events, then carry out the effects, both in order.
struct sealed_turn {
  std::vector<event> events;
  std::vector<effect> effects;
};

/// One mailbox turn of one shard: commands are decided one by one against the state that the
/// earlier ones left; what they lead to is gathered in batch records. Sealing matches ready tasks
/// with waiting credits, so that a task meets a waiting worker in the turn that enqueued it.
/// Effects may leave only after the sealed events are durable.
class turn {
public:
  explicit turn(shard_state& state);
  ~turn();
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;

  /// Decides one command. A refusal leaves the state untouched and is answered by an effect.
  /// @pre `now` of either clock is not before that of the last call (it is clamped)
  void decide(const command& c, const instant& now);

  /// Closes the turn. Nothing may be decided afterwards.
  [[nodiscard]] sealed_turn seal(const instant& now);

  /// Commands decided so far.
  [[nodiscard]] std::size_t commands() const noexcept { return commands_; }

  /// Bytes of task bodies and texts gathered so far.
  [[nodiscard]] std::size_t body_bytes() const noexcept { return body_bytes_; }

private:
  /// What one worker gets in this turn, and the bytes of its bodies.
  struct open_grant {
    tasks_granted batch;
    std::uint64_t bytes = 0;
  };

  void advance(const instant& now);

  // Enqueue.
  void run(const enqueue& c);
  [[nodiscard]] error refusal_of(const enqueue& c) const;
  [[nodiscard]] const std::vector<seq_run>* known_answer(const request_id& request) const;
  void add_run(const request_id& request, const enqueue_run& r);
  [[nodiscard]] bool is_untouched(sequence segment) const;
  segment_appended& segment_for(const enqueue_run& r, std::size_t bytes);

  // Claim.
  void run(const attach_worker& c);
  void run(const detach_peer& c);
  void run(const claim& c);
  void run(const revoke_credits& c);
  void match();
  void match_queue(std::uint32_t queue);
  void grant(std::uint32_t queue, peer_id peer, std::uint32_t count);
  void lease_run(segment& s, const seq_run& tasks, peer_id peer);
  [[nodiscard]] fencing_token extend_grant(
    const std::shared_ptr<const worker_identity>& worker, duration lease, const seq_run& tasks);
  [[nodiscard]] bool has_ready(const attached_worker& a) const;
  void tell_claimers();

  // Leases.
  void run(const heartbeat& c);
  void run(const expire_lease& c);
  void run(const resume& c);
  void run(const release_worker& c);
  void run(const replace_worker& c);
  void expire(fencing_token token, const lease& l);
  void give_back(fencing_token token, const lease& l);
  void redeliver(peer_id peer, const std::vector<fencing_token>& tokens);
  void want_timers();

  // Reports.
  void run(const report& c);
  [[nodiscard]] errc answer_to(const lease_report& r, peer_id peer, bool& is_here);
  void end_reported(const lease_report& r);
  void end_failed(lease_end e, const std::optional<duration>& delay);
  [[nodiscard]] leases_ended& record_for(duration retention);
  void append_end(lease_end e);

  // Changes.
  void run(const cancel& c);
  void run(const promote& c);
  void run(const redrive& c);
  [[nodiscard]] segment* find_to_change(peer_id peer, std::uint64_t number, sequence seq);
  void append_change(const task_change& change);
  void send_cancel(peer_id peer, fencing_token token);

  // Inquiries.
  void run(const await_tasks& c);
  void run(const describe_task& c);
  void describe(const inquiry& why, sequence seq);
  void tell_awaiting(sequence seq);
  [[nodiscard]] std::optional<bytes> text_at_hand(const task_entry& entry) const;
  [[nodiscard]] task_view view_of(segment& s, sequence seq);

  void run(const tick&) {}

  void run(const take_checkpoint&) { checkpoint_wanted_ = true; }

  [[nodiscard]] checkpoint_taken make_checkpoint();

  shard_state& state_;
  instant now_{};
  std::size_t commands_ = 0;
  std::size_t body_bytes_ = 0;
  std::vector<segment_appended> segments_;
  std::vector<batch_granted> grants_;
  std::vector<leases_ended> ended_;
  std::vector<tasks_changed> changed_;
  bool checkpoint_wanted_ = false;
  std::vector<open_grant> granted_;
  std::vector<effect> effects_;
};

/// How long until something happens by time alone: a task becomes due or a lease needs a timer.
/// Empty when nothing waits for time.
[[nodiscard]] std::optional<duration> next_wakeup(shard_state& state, const instant& now);

} // namespace codeq::core
