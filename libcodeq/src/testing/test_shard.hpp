// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "base/clock.hpp"
#include "coordinator/shard/segment_cache.hpp"
#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "protocol/messages.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::testing {

/// One shard, its clock and all that it would have stored. What it says to its worker is gathered
/// until it is taken.
class test_shard {
public:
  /// What the shard said to the worker.
  struct said {
    std::vector<protocol::task_batch> tasks;
    std::vector<core::task_lease> lost;
    std::vector<core::task_lease> to_stop;
    std::vector<core::report_answer> answers;
  };

  test_shard();

  [[nodiscard]] said take_said() { return std::exchange(said_, {}); }

  /// Errors: as `producer::enqueue`.
  [[nodiscard]] result<enqueued_task> enqueue(const task_spec& spec);

  /// The worker connects as a new process: what an older one held is lost.
  void connect(const std::vector<std::string>& queues, std::size_t slots);
  /// It says goodbye: what it held is given back.
  void release();
  void claim(std::uint32_t credits);
  void report(const protocol::result_request& request);
  void beat(const core::lease_beat& beat);
  /// False when the lease is over.
  [[nodiscard]] bool save(const core::lease_checkpoint& checkpoint);
  /// False when the task was over.
  bool cancel(sequence seq);

  [[nodiscard]] bool is_live(fencing_token token) { return state_.leases.find(token) != nullptr; }

  /// When the lease runs out. @pre it is live
  [[nodiscard]] monotonic_time deadline_of(fencing_token token);

  /// Why the latest report on a lease was refused for what it carries; null when it was not.
  [[nodiscard]] const std::string* refusal_of(fencing_token token) const;

  /// When the next thing happens by time alone; empty when nothing waits.
  [[nodiscard]] std::optional<duration> next_event();

  /// Moves the clock; what is due happens.
  void advance(duration by);

  [[nodiscard]] instant now() const { return now_; }

  [[nodiscard]] result<task_status> status(sequence seq);

  /// The tasks of a queue in order of arrival.
  [[nodiscard]] std::vector<sequence> tasks_of(const std::string& queue) const;

private:
  void decide(const core::command& command);
  void keep(core::event& e);

  template <class Effect>
  void carry_out(Effect&) {}

  void carry_out(core::enqueue_answered& e) { answered_ = std::move(e); }

  void carry_out(core::change_answered& e) { changed_ = std::move(e); }

  void carry_out(core::task_described& e) { described_ = std::move(e); }

  void carry_out(core::checkpoints_saved&) { is_saved_ = true; }

  void carry_out(core::tasks_granted& e);
  void carry_out(core::leases_lost& e);

  void carry_out(core::cancel_wanted& e) { said_.to_stop.push_back(e.lease); }

  void carry_out(core::reports_answered& e);

  void carry_out(core::timer_wanted& e) { timers_[e.token] = {e.seq, e.deadline}; }

  void carry_out(core::timer_dropped& e) { timers_.erase(e.token); }

  struct timer {
    sequence seq = 0;
    monotonic_time deadline;
  };

  instant now_;
  core::shard_state state_;
  coordinator::segment_cache bodies_;
  producer_id producer_;
  std::uint64_t requests_ = 0;
  std::uint64_t incarnation_ = 0;
  std::shared_ptr<const worker_identity> worker_;
  std::map<fencing_token, timer> timers_;
  std::map<std::string, std::vector<sequence>> tasks_;
  /// The texts of each record of ended leases.
  std::map<core::log_position, std::vector<bytes>> texts_;
  /// What tasks were handed on.
  std::map<sequence, bytes> checkpoints_;
  bool is_saved_ = false;
  said said_;
  std::map<fencing_token, std::string> refusals_;
  std::optional<core::enqueue_answered> answered_;
  std::optional<core::change_answered> changed_;
  std::optional<core::task_described> described_;
};

} // namespace codeq::testing
