// SPDX-License-Identifier: Apache-2.0
#include "testing/test_shard.hpp"

#include "codeq/limits.hpp"

#include "protocol/convert.hpp"
#include "protocol/reply.hpp"
#include "protocol/task_convert.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace codeq::testing {

namespace {

constexpr core::peer_id producer_peer = 1;
constexpr core::peer_id worker_peer = 2;
constexpr protocol::shard_place place{};

/// A test holds what it enqueues in memory in any case.
constexpr std::size_t no_limit = std::size_t{1} << 40;

error taken_by(const enqueued_task& duplicate) {
  return {errc::duplicate, "task " + to_string(duplicate.id) + " has the key"};
}

task_status status_of(const core::task_view& view) {
  task_status status;
  status.id = {shard_id{}, view.seq};
  status.tenant = view.queue.tenant;
  status.queue = view.queue.queue;
  status.priority = view.priority;
  status.state = view.entry.state;
  status.attempt = view.entry.attempt;
  status.max_attempts = view.max_attempts;
  status.token = view.entry.token;
  status.enqueued_at = view.enqueued_at;
  if (view.entry.state == task_state::scheduled)
    status.eligible_at = view.eligible_at;
  status.worker = view.worker;
  status.group = view.group;
  status.key = view.key;
  status.lost_in_row = view.entry.lost;
  return status;
}

} // namespace

test_shard::test_shard()
  : now_(base::manual_clock().now()),
    state_(shard_id{}, 1),
    bodies_(no_limit),
    producer_(make_producer_id(now_.shard, 1, 1)) {
}

void test_shard::decide(const core::command& command) {
  core::turn turn(state_);
  turn.decide(command, now_);
  auto sealed = turn.seal(now_);
  for (auto& e : sealed.events)
    keep(e);
  for (auto& e : sealed.effects)
    std::visit([this](auto& x) { carry_out(x); }, e);
}

void test_shard::keep(core::event& e) {
  if (const auto* added = std::get_if<core::segment_appended>(&e)) {
    for (std::uint32_t i = 0; i < added->count; ++i)
      tasks_[added->queue.queue].push_back(added->first + i);
  } else if (const auto* ended = std::get_if<core::leases_ended>(&e)) {
    for (const auto& end : ended->ends)
      texts_[ended->position].push_back(end.text);
  } else if (const auto* handed = std::get_if<core::checkpoints_changed>(&e)) {
    for (const auto& checkpoint : handed->saved)
      checkpoints_[checkpoint.seq] = checkpoint.data;
    for (auto seq : handed->dropped)
      checkpoints_.erase(seq);
  }
  bodies_.take_bodies(e);
}

result<enqueued_task> test_shard::enqueue(const task_spec& spec) {
  auto encoded = protocol::encoded_tasks::encode(std::span(&spec, 1));
  if (!encoded)
    return encoded.error();
  ++requests_;
  auto request = encoded->to_request({producer_, requests_, requests_, shard_id{}});
  auto command = protocol::to_command(request, producer_peer, now_.shard, place);
  if (!command)
    return command.error();
  decide(*command);
  const auto& answer = *answered_;
  if (answer.refusal.code != errc::none)
    return answer.refusal;
  enqueued_task made{{shard_id{}, answer.tasks.front().first}};
  made.kind = answer.kinds.empty() ? enqueue_kind::created : answer.kinds.front();
  if (made.kind == enqueue_kind::duplicate)
    return taken_by(made);
  return made;
}

void test_shard::connect(const std::vector<std::string>& queues, std::size_t slots) {
  decide(core::detach_peer{worker_peer});
  worker_ = std::make_shared<const worker_identity>(worker_identity{"testbed", ++incarnation_});
  decide(core::replace_worker{worker_});
  core::attach_worker attach{worker_peer, worker_, {}};
  for (const auto& queue : queues)
    attach.queues.push_back({"default", queue});
  decide(attach);
  claim(static_cast<std::uint32_t>(slots));
}

void test_shard::release() {
  decide(core::detach_peer{worker_peer});
  decide(core::release_worker{worker_});
}

void test_shard::claim(std::uint32_t credits) {
  decide(core::claim{worker_peer, credits, duration{0}});
}

void test_shard::report(const protocol::result_request& request) {
  auto command = protocol::to_command(request, worker_peer, now_.shard, place);
  if (command)
    decide(*command);
}

void test_shard::beat(const core::lease_beat& beat) {
  decide(core::heartbeat{worker_peer, {beat}, {}, {}});
}

bool test_shard::save(const core::lease_checkpoint& checkpoint) {
  is_saved_ = false;
  decide(core::heartbeat{worker_peer, {}, {}, {checkpoint}});
  return is_saved_;
}

bool test_shard::cancel(sequence seq) {
  changed_.reset();
  decide(core::cancel{producer_peer, 1, seq});
  return changed_ && changed_->result != change_result::unchanged;
}

std::optional<duration> test_shard::next_event() {
  auto next = core::next_wakeup(state_, now_);
  for (const auto& [token, timer] : timers_) {
    auto wait = std::max(timer.deadline - now_.steady, duration{0});
    next = next ? std::min(*next, wait) : wait;
  }
  return next;
}

void test_shard::advance(duration by) {
  now_.steady += by;
  now_.shard += by;
  decide(core::tick{});
  std::vector<std::pair<fencing_token, sequence>> due;
  for (const auto& [token, timer] : timers_)
    if (timer.deadline <= now_.steady)
      due.emplace_back(token, timer.seq);
  for (const auto& [token, seq] : due) {
    // A lease that was extended wants another one.
    timers_.erase(token);
    decide(core::expire_lease{seq, token});
  }
}

void test_shard::carry_out(core::tasks_granted& e) {
  std::vector<core::encoded_tasks> bodies;
  for (auto& run : e.runs) {
    bodies.push_back(bodies_.find(run.segment, run.first, run.count).value());
    for (auto& checkpoint : run.checkpoints)
      checkpoint.data = checkpoints_.at(checkpoint.seq);
  }
  said_.tasks.push_back(protocol::make_task_batch(shard_id{}, e, bodies));
}

void test_shard::carry_out(core::leases_lost& e) {
  said_.lost.insert(said_.lost.end(), e.leases.begin(), e.leases.end());
}

monotonic_time test_shard::deadline_of(fencing_token token) {
  const auto* lease = state_.leases.find(token);
  return lease == nullptr ? now_.steady : lease->deadline;
}

const std::string* test_shard::refusal_of(fencing_token token) const {
  auto found = refusals_.find(token);
  return found == refusals_.end() ? nullptr : &found->second;
}

void test_shard::carry_out(core::reports_answered& e) {
  for (const auto& answer : e.answers)
    if (answer.code == errc::invalid_argument || answer.code == errc::too_large)
      refusals_[answer.token] = answer.context;
  said_.answers.insert(said_.answers.end(), e.answers.begin(), e.answers.end());
}

result<task_status> test_shard::status(sequence seq) {
  described_.reset();
  decide(core::describe_task{producer_peer, 1, seq});
  if (!described_)
    return error{errc::unknown_task, "no task " + to_string(task_id{shard_id{}, seq})};
  const auto& entry = described_->view.entry;
  auto status = status_of(described_->view);
  auto record = texts_.find(entry.outcome);
  std::string text;
  if (record != texts_.end())
    text = record->second.at(entry.outcome_index).view();
  (status.state == task_state::completed ? status.result : status.error_text) = std::move(text);
  return status;
}

std::vector<sequence> test_shard::tasks_of(const std::string& queue) const {
  auto found = tasks_.find(queue);
  return found == tasks_.end() ? std::vector<sequence>() : found->second;
}

} // namespace codeq::testing
