// SPDX-License-Identifier: Apache-2.0
#include "model/lock_step.hpp"

#include "core/checks/invariants.hpp"
#include "core/state/apply.hpp"
#include "core/state/survivors.hpp"
#include "core/state/task_keys.hpp"
#include "model/words.hpp"

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace codeq::model {

namespace {

/// After this many turns the shard is recovered and compared; the run continues with the old one.
constexpr std::size_t turns_between_recoveries = 3;

/// Much longer than the time that any turn stays open.
constexpr duration turn_length_max{60'000};

bool is_any(const core::live_grant&) {
  return true;
}

/// Advances the state's time without a turn, so that states of different turns can be compared.
void reach(core::shard_state& state, timestamp now) {
  state.at = std::max(state.at, now);
  core::release_due(state, state.at);
}

/// The only header of a task is the first letter of its body.
std::string letter_of(const bytes& body, std::string_view) {
  return std::string(body.view().substr(0, 1));
}

} // namespace

lock_step::lock_step(std::unique_ptr<history> kept, const core::paging_limits& paging)
  : history_(std::move(kept)),
    paging_(paging),
    state_(std::make_unique<core::shard_state>(shard_id{}, epoch_)),
    reference_(epoch_),
    snapshots_{reference_} {
  state_->segments.set_limits(paging_);
  state_->read_header = letter_of;
}

void lock_step::require(bool condition, const std::string& what) {
  if (!condition)
    wrong_ += what + '\n';
}

void lock_step::pass(duration time) {
  // Turns are never open that long, and all events of a record have the same time.
  if (time > turn_length_max)
    close_turn();
  clock_.advance(time);
}

std::optional<failure> lock_step::run(const std::vector<step>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& s = steps[i];
    if (s.kind == step_kind::advance || s.kind == step_kind::leap)
      pass(step_maker::advance_of(s));
    else if (s.kind == step_kind::end_turn)
      close_turn();
    else if (s.kind == step_kind::restart)
      restart(s);
    for (const auto& c : maker_.commands_of(s, reference_, clock_.now()))
      decide(c);
    if (!wrong_.empty())
      return failure{i, wrong_};
  }
  close_turn();
  if (!wrong_.empty())
    return failure{steps.size(), wrong_};
  return std::nullopt;
}

void lock_step::open_turn() {
  if (turn_)
    return;
  turn_ = std::make_unique<core::turn>(*state_);
  turn_begin_ = state_->sequences.next;
  copy_survivors();
}

void lock_step::copy_survivors() {
  for (const auto& left : std::exchange(sparse_, {})) {
    core::copy_survivors c{left.segment, {}};
    for (auto seq : left.tasks) {
      const auto& body = reference_.tasks.at(seq).body;
      c.bodies[seq] = {bytes(std::string(body)), {static_cast<std::uint32_t>(body.size())}};
    }
    turn_->decide(c, clock_.now());
  }
}

void lock_step::decide(const core::command& c) {
  open_turn();
  if (auto recalled = closed_keys_.recall(c))
    turn_->decide(*recalled, clock_.now());
  turn_->decide(c, clock_.now());
  reference_.number_tasks(added_tasks());
  reference_.decide(c, clock_.now());
}

std::vector<sequence> lock_step::added_tasks() const {
  std::vector<sequence> added;
  state_->segments.walk(turn_begin_, core::segment_table::no_end, [&](const core::segment& s) {
    for (auto seq = s.first; seq < s.first + s.count; ++seq) {
      if (!s.view(seq).gone && !reference_.tasks.contains(seq))
        added.push_back(seq);
    }
    return true;
  });
  return added;
}

void lock_step::close_turn() {
  if (!turn_)
    return;
  auto sealed = turn_->seal(clock_.now());
  turn_.reset();
  closed_keys_.note(sealed.events);
  if (!sealed.events.empty() && std::holds_alternative<core::snapshot_taken>(sealed.events.back()))
    sparse_ = core::take_sparse(*state_);
  auto seen = observer_.observe(sealed);
  for (const auto& answer : seen.listed)
    reference_.check_listed(answer);
  reference_.check_all_answered();
  reference_.settle(seen.grants, clock_.now());
  reference_.hand_out(seen.deliveries);
  for (const auto& e : sealed.events)
    if (const auto* snapshot = std::get_if<core::snapshot_taken>(&e)) {
      reference_.forget_ended_sessions(*snapshot);
      reference_.remove_queues(*snapshot);
    }
  compare_turn(seen);
  compare_state();
  reference_.expected.clear();
  reference_.expected_for.clear();
  reference_.expected_parts.clear();
  reference_.broken.clear();
  history_->append(sealed.events);
  snapshots_.push_back(reference_);
  closed_keys_then_.push_back(closed_keys_);
  purges_then_.push_back(observer_.purges());
  if (++turns_ % turns_between_recoveries == 0)
    compare_recovery();
}

void lock_step::compare_turn(observed_turn& seen) {
  // A timer that answers a hint is expected; other timers start because of their lease's age.
  std::vector<core::timer_wanted> timer_due;
  for (const auto& t : seen.timers) {
    auto line = say_timer({t.seq, t.token}, t.deadline);
    auto asked = std::find(reference_.expected.begin(), reference_.expected.end(), line);
    if (asked == reference_.expected.end())
      timer_due.push_back(t);
    else
      reference_.expected.erase(asked);
  }
  reference_.start_timers(timer_due, clock_.now());
  for (auto& line : seen.lines)
    if (auto other = reference_.expected_for.find(line); other != reference_.expected_for.end())
      line = other->second;
  auto& expected = reference_.expected;
  std::sort(expected.begin(), expected.end());
  std::sort(seen.lines.begin(), seen.lines.end());
  std::vector<std::string> missing;
  std::vector<std::string> surplus;
  std::set_difference(
    expected.begin(),
    expected.end(),
    seen.lines.begin(),
    seen.lines.end(),
    std::back_inserter(missing));
  std::set_difference(
    seen.lines.begin(),
    seen.lines.end(),
    expected.begin(),
    expected.end(),
    std::back_inserter(surplus));
  for (const auto& line : missing)
    require(false, "not said: " + line);
  for (const auto& line : surplus)
    require(false, "said, but wrong: " + line);
  for (const auto& rule : reference_.broken)
    require(false, "broken rule: " + rule);
  compare_parts(seen.parts);
}

void lock_step::compare_parts(const std::vector<core::bulk_answered>& parts) {
  const auto& expected = reference_.expected_parts;
  require(parts.size() == expected.size(), "another number of changes of many tasks");
  for (std::size_t i = 0; i < std::min(parts.size(), expected.size()); ++i) {
    bool fits =
      !parts[i].more
      || (parts[i].after >= expected[i].after_min && parts[i].after <= expected[i].after_max);
    require(fits, say_bulk(parts[i]) + ", and the next part begins elsewhere");
  }
}

void lock_step::compare_state() {
  for (const auto& violation : core::find_violations(*state_))
    require(false, violation);
  std::size_t kept = 0;
  state_->segments.for_each([&](const core::segment& s) {
    for (std::uint32_t i = 0; i < s.count; ++i)
      kept += s.view(s.first + i).gone ? 0 : 1;
  });
  std::size_t found = 0;
  for (auto& [seq, task] : reference_.tasks) {
    auto* s = core::find_segment(state_->segments, seq);
    found += s ? 1 : 0;
    // Only completed and cancelled tasks may leave memory.
    bool may_be_gone = task.state == task_state::completed || task.state == task_state::cancelled;
    require(s || may_be_gone, short_number(seq) + " is lost");
    task.filed = !s;
    if (s)
      compare_task(task, *s);
  }
  require(found == kept, "the core has tasks that nobody enqueued");
  std::size_t awaited = 0;
  for (const auto& [seq, peers] : reference_.awaited)
    awaited += peers.empty() ? 0 : 1;
  require(awaited == state_->awaited.size(), "the core remembers other tasks that are awaited");
  compare_totals();
  compare_settings();
  compare_keys();
  compare_checkpoints();
}

void lock_step::compare_task(const reference_task& expected, core::segment& s) {
  auto entry = s.view(expected.seq);
  bool scheduled = expected.state == task_state::scheduled;
  bool agrees = !entry.gone && entry.state == expected.state && entry.token == expected.token
                && entry.attempt == expected.attempt && entry.lost == expected.lost
                && entry.refunds == expected.refunds && entry.cancelling == expected.cancelling
                && entry.notes == expected.history.size()
                && (!scheduled || s.eligible_at(expected.seq) == expected.eligible_at());
  if (!agrees)
    require(
      false,
      "task " + short_number(expected.seq) + " should be " + std::string(to_string(expected.state))
        + " at attempt " + std::to_string(expected.attempt) + ", lost "
        + std::to_string(expected.lost) + ", refunds " + std::to_string(expected.refunds)
        + ", noted " + std::to_string(expected.history.size()) + ", but is "
        + std::string(to_string(entry.state)) + " at attempt " + std::to_string(entry.attempt)
        + ", lost " + std::to_string(entry.lost) + ", refunds " + std::to_string(entry.refunds)
        + ", noted " + std::to_string(entry.notes));
  require(s.settings == expected.settings, short_number(expected.seq) + " has other settings");
  if (expected.state != task_state::leased)
    return;
  auto name = say_task(expected.seq, expected.token);
  const auto* l = state_->leases.find(expected.token);
  if (!l)
    return require(false, name + " has no lease");
  const auto& grant = state_->leases.grant_at(l->grant);
  require(*grant.worker == expected.holder, name + " is held by another worker");
  require(l->deadline == expected.deadline, name + " has another deadline");
  require(l->run_deadline == expected.run_deadline, name + " has another run deadline");
  require(
    l->progress_deadline == expected.progress_deadline, name + " has another progress deadline");
  require(l->queued == expected.queued, name + " differs in whether it is queued");
}

void lock_step::compare_totals() {
  for (const auto& [arrival, index] : state_->queues_by_arrival) {
    const auto& queue = state_->queues[index];
    const auto& expected = reference_.totals[queue->address];
    const auto& t = queue->totals;
    bool agrees = t.completed == expected.completed && t.dead == expected.dead
                  && t.cancelled == expected.cancelled && t.lost == expected.lost;
    require(agrees, "the totals of queue " + queue->address.queue + " are wrong");
  }
}

void lock_step::compare_settings() {
  for (const auto& [address, expected] : reference_.queues) {
    const auto* queue = state_->find_queue(address);
    auto found = queue ? queue->settings : core::queue_settings{};
    require(found == expected, "queue " + address.queue + " has other settings");
  }
}

void lock_step::compare_keys() {
  auto now = clock_.now().shard;
  for (const auto& [seq, task] : reference_.tasks) {
    if (task.key.empty())
      continue;
    task_key name{task.queue, task.group, task.key};
    auto* expected = reference_.owner_of(name, now);
    auto found = closed_keys_.owner_of(*state_, name, now);
    bool agrees = expected ? found && found->seq == expected->seq : !found;
    require(agrees, "key " + task.key + " is another task's than it should be");
  }
}

void lock_step::compare_checkpoints() {
  std::size_t expected = 0;
  for (const auto& [seq, task] : reference_.tasks) {
    if (!task.checkpoint)
      continue;
    ++expected;
    auto found = state_->checkpoints.find(seq);
    bool agrees = found != state_->checkpoints.end()
                  && found->second.token == task.checkpoint->token
                  && found->second.number == task.checkpoint->number;
    require(agrees, short_number(seq) + " has another checkpoint than it was given");
  }
  require(state_->checkpoints.size() == expected, "the core has checkpoints that nobody saved");
}

void lock_step::compare_recovery() {
  auto recovered = history_->recover(epoch_ + 1, clock_.now().steady);
  reach(*recovered, clock_.now().shard);
  reach(*state_, clock_.now().shard);
  reference_.release_due(clock_.now().shard);
  auto expected = core::durable_text(*state_);
  auto found = core::durable_text(*recovered);
  require(found == expected, "recovered:\n" + found + "instead of:\n" + expected);
  for (const auto& violation : core::find_violations(*recovered))
    require(false, "recovered: " + violation);
  require(
    recovered->leases.tokens_of(is_any) == state_->leases.tokens_of(is_any),
    "recovered other leases");
  auto lowest = recovered->tokens.next;
  require(lowest > reference_.token_floor(), "a recovered shard would give a token again");
  auto unreadable = history_->find_unreadable(reference_, *state_);
  require(unreadable.empty(), unreadable);
}

void lock_step::restart(const step& s) {
  close_turn();
  if (!wrong_.empty())
    return;
  // In half of the restarts everything was durable; otherwise the last turns are lost.
  std::minstd_rand random(s.randomness);
  std::size_t lost = random() % 2 == 0 ? 0 : std::min(random() % 5, snapshots_.size() - recovered_);
  if (lost == 0)
    compare_recovery();
  snapshots_.erase(snapshots_.end() - static_cast<std::ptrdiff_t>(lost), snapshots_.end());
  recovered_ = snapshots_.size();
  history_->cut(recovered_ - 1);
  state_ = history_->recover(++epoch_, clock_.now().steady);
  state_->segments.set_limits(paging_);
  state_->read_header = letter_of;
  sparse_ = core::take_sparse(*state_);
  reach(*state_, clock_.now().shard);
  purges_then_.resize(recovered_);
  observer_.go_back_to(*state_, purges_then_.back());
  auto floor = reference_.token_floor();
  reference_ = snapshots_.back();
  closed_keys_then_.resize(recovered_);
  closed_keys_ = closed_keys_then_.back();
  reference_.restart(epoch_, clock_.now(), floor);
  compare_state();
}

namespace {

class event_history final : public history {
public:
  void append(const std::vector<core::event>& events) override { turns_.push_back(events); }

  void cut(std::size_t turns) override { turns_.resize(turns); }

  std::unique_ptr<core::shard_state> recover(std::uint32_t epoch, monotonic_time steady) override {
    auto state = std::make_unique<core::shard_state>(shard_id{}, epoch);
    state->steady = steady;
    for (const auto& turn : turns_)
      for (const auto& e : turn)
        core::apply(*state, e);
    return state;
  }

private:
  std::vector<std::vector<core::event>> turns_;
};

} // namespace

std::unique_ptr<history> make_event_history() {
  return std::make_unique<event_history>();
}

} // namespace codeq::model
