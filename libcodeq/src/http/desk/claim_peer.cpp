// SPDX-License-Identifier: Apache-2.0
#include "http/desk/claim_peer.hpp"

#include "base/tuning.hpp"
#include "client/operator_questions.hpp"
#include "observe/log.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace codeq::http {

namespace {

/// The rounds of questions that a claim that may not wait asks at most. A claim that is still
/// chasing moving work ends after them.
constexpr std::uint64_t rounds_max = 32;

/// A shard sends its news about work at the end of the turn in which it answers, so after its
/// answer. It may have news because another shard had some in the round before.
constexpr std::uint64_t quiet_rounds_wanted = 2;

/// How long a claim that has ended waits for tasks of a shard that has left: longer than a
/// hand-over waits for the shard's last turns, shorter than a stopping gateway waits for claims.
constexpr std::chrono::milliseconds late_tasks_wait{300};
static_assert(late_tasks_wait < tuning::http_shutdown_max);

/// So long a claim that may not wait does wait for what shards ask each other: whether the maximum
/// of a queue's leases allows one more.
constexpr std::chrono::milliseconds slot_wait_max{100};

} // namespace

void claim_state::start(claim_actor::pointer self, const claim_options& options) {
  self_ = self;
  options_ = options;
  const auto shards = options_.shards.size();
  router_.emplace(shards, options_.first_shard);
  ways_.emplace(shards);
  far_ = options_.far;
  far_.resize(shards);
  received_.resize(shards);
  left_.resize(shards);
  untold_room_.assign(shards, options_.room);
  room_ = untold_room_;
  for (std::uint16_t i = 0; i < shards; ++i) {
    const shard_id shard{i};
    static_cast<void>(ways_->find_here(shard, !options_.away.contains(shard)));
    static_cast<void>(ways_->set_far(shard, static_cast<bool>(far_[i])));
    if (ways_->to(shard) == way::none)
      carry_out(router_->set_here(shard, false));
  }
  carry_out(router_->add_credits(options_.count));
  // A host tells when its shard comes.
  if (router_->waiting() == 0)
    attach_to_all();
  if (names_nothing() || router_->waiting() == 0)
    found_no_work();
}

void claim_state::attach_to_all() {
  for (std::size_t i = 0; i < options_.shards.size(); ++i)
    attach(i);
}

bool claim_state::attach(std::size_t shard, std::optional<core::claim> first_claim) {
  const auto id = static_cast<shard_id>(shard);
  const auto by = ways_->attach(id);
  if (!by)
    return false;
  if (*by == way::far) {
    received_[shard] = 0;
    tell(
      id, ways_->attachment(id),
      coordinator::claim_attached{options_.worker, options_.queues, options_.prefixes});
    return false;
  }
  coordinator::peer_attached me{options_.peer, options_.worker, options_.queues};
  me.prefixes = options_.prefixes;
  constexpr bool hears_absence = true;
  if (first_claim)
    first_claim->peer = options_.peer;
  self_->send(
    options_.shards[shard],
    coordinator::attach_peer{std::move(me), claim_actor(self_), hears_absence, first_claim});
  return first_claim.has_value();
}

void claim_state::look_everywhere() {
  if (round_ > 0 || names_nothing() || ending_)
    return;
  attach_to_all();
  ask_all();
}

template <class Command>
void claim_state::command(shard_id shard, Command what) {
  if (ways_->to(shard) == way::far)
    return tell(shard, ways_->attachment(shard), std::move(what));
  what.peer = options_.peer;
  self_->send(options_.shards[value(shard)], coordinator::shard_command{std::move(what)});
}

void claim_state::carry_out(const coordinator::claim_router::moves& moves) {
  using kind = coordinator::claim_router::move::kind;
  for (const auto& move : moves) {
    if (move.what == kind::claim) {
      auto room = std::exchange(untold_room_[value(move.shard)], 0);
      const core::claim wanted{0, move.credits, options_.lease, 0, room};
      if (!attach(value(move.shard), wanted))
        command(move.shard, wanted);
    } else {
      attach(value(move.shard));
      command(move.shard, core::revoke_credits{0, move.credits});
    }
  }
}

void claim_state::ask_all() {
  ++round_;
  is_round_due_ = false;
  any_news_ = false;
  unanswered_ = 0;
  // The answers would tell nothing new.
  if (has_told_)
    return;
  for (std::uint16_t i = 0; i < options_.shards.size(); ++i)
    ask(shard_id{i});
  if (unanswered_ == 0)
    found_no_work();
}

void claim_state::ask(shard_id shard) {
  const auto by = ways_->to(shard);
  if (by == way::none)
    return;
  ++unanswered_;
  if (by == way::far)
    return tell(shard, ways_->attachment(shard), coordinator::claim_question{round_});
  const auto queue = options_.queues.empty()
                       ? queue_address{options_.prefixes.front().tenant, "default"}
                       : options_.queues.front();
  auto question = client::show_queue(value(shard), queue)(round_);
  auto request = protocol::queue_request::parse(question.body);
  self_->send(
    options_.shards[value(shard)], coordinator::peer_request{options_.peer, std::move(*request)});
}

void claim_state::take(const coordinator::shard_reply& m) {
  if (const auto* answered = std::get_if<core::queue_answered>(&m.reply))
    take_answer(answered->number, answered->awaits_slots);
  else if (
    const auto* refused = std::get_if<protocol::request_refused<schema::QueueRequest>>(&m.reply))
    take_answer(refused->number, false);
}

void claim_state::take_answer(std::uint64_t number, bool awaits_slots) {
  awaits_slots_ = awaits_slots_ || awaits_slots;
  if (number != round_ || --unanswered_ > 0 || ending_)
    return;
  quiet_rounds_ = any_news_ ? 0 : quiet_rounds_ + 1;
  if (being_read_ > 0)
    is_round_due_ = true;
  else if (quiet_rounds_ >= quiet_rounds_wanted || round_ >= rounds_max)
    found_no_work();
  else
    ask_all();
}

void claim_state::ask_if_read() {
  if (is_round_due_ && being_read_ == 0 && !ending_ && !finished_)
    ask_all();
}

void claim_state::found_no_work() {
  if (options_.only_now)
    return awaits_slots_ ? end_later() : end();
  if (!std::exchange(has_told_, true))
    self_->send(options_.gateway, claim_waits{options_.claim});
}

void claim_state::end_later() {
  if (!std::exchange(is_ending_later_, true))
    self_->delayed_send(self_, slot_wait_max, end_claim{});
}

void claim_state::take(const coordinator::task_delivery& m) {
  arrival granted;
  granted.more = m.more;
  for (const auto& run : m.granted.runs)
    granted.count += run.count;
  protocol::write_tasks(m.shard, m.granted, m.bodies, [&](const protocol::wire_frame& frame) {
    if (auto tasks = read_batch(frame.body))
      std::move(tasks->begin(), tasks->end(), std::back_inserter(granted.tasks));
  });
  // The shard has left, and its credits are void.
  if (finished_ || ways_->to(m.shard) != way::here)
    return add_late(std::move(granted.tasks));
  granted.room = m.granted.bytes;
  granted.was_read = !m.more;
  granted.priority = m.granted.runs.back().priority;
  add(m.shard, std::move(granted));
}

void claim_state::add(shard_id shard, arrival granted) {
  any_news_ = true;
  keep(std::move(granted.tasks));
  auto& room = room_[value(shard)];
  room -= static_cast<std::int64_t>(granted.room);
  is_cut_ = is_cut_ || room <= 0;
  carry_out(router_->granted(shard, granted.count, granted.more, granted.priority));
  if (granted.was_read)
    being_read_ = std::max(std::int64_t{0}, being_read_ - granted.count);
  if (tasks_.size() == options_.count)
    end();
  finish_if_settled();
  if (!finished_)
    look_everywhere();
  ask_if_read();
}

void claim_state::keep(std::vector<task> tasks) {
  // There are more than asked for when a shard that has left had granted some, too.
  const auto wanted = std::min<std::size_t>(options_.count - tasks_.size(), tasks.size());
  const auto end = tasks.begin() + static_cast<std::ptrdiff_t>(wanted);
  std::move(tasks.begin(), end, std::back_inserter(tasks_));
  tasks.erase(tasks.begin(), end);
  give_back(tasks);
}

void claim_state::add_late(std::vector<task> tasks) {
  if (finished_)
    return give_back(tasks);
  keep(std::move(tasks));
  if (tasks_.size() == options_.count)
    end();
}

void claim_state::take(const coordinator::credit_news& m) {
  if (!finished_ && ways_->to(m.shard) == way::here)
    use(m);
}

void claim_state::use(const coordinator::credit_news& m) {
  any_news_ = true;
  being_read_ = std::max(std::int64_t{0}, being_read_ + m.being_read);
  switch (m.what) {
  case coordinator::credit_news::kind::drained:
    carry_out(router_->drained(m.shard));
    return look_everywhere();
  case coordinator::credit_news::kind::has_work:
    return carry_out(router_->has_work(m.shard));
  case coordinator::credit_news::kind::returned:
    carry_out(router_->returned(m.shard, m.credits));
    finish_if_settled();
    return ask_if_read();
  case coordinator::credit_news::kind::outranked:
    carry_out(router_->outranked(m.shard, m.credits, m.by, m.priority));
    // The better tasks do not fit in this claim's answer, so that it can get no others.
    if (room_[value(m.by)] <= 0)
      end();
    return finish_if_settled();
  }
}

void claim_state::add(const std::vector<queue_address>& queues) {
  if (ending_ || finished_)
    return;
  options_.queues.insert(options_.queues.end(), queues.begin(), queues.end());
  constexpr bool keeps_others = true;
  for (std::uint16_t i = 0; i < options_.shards.size(); ++i) {
    if (ways_->is_attached_here(shard_id{i}))
      self_->send(
        options_.shards[i],
        coordinator::shard_command{core::change_queues{options_.peer, queues, keeps_others}});
    attach(i);
  }
}

void claim_state::take(const coordinator::peer_misbehaved& m) {
  note_refused("a shard of this coordinator", m.reason);
  end();
}

void claim_state::note_refused(const std::string& by, const error& reason) {
  const auto& worker = options_.worker->name;
  const auto left_out = options_.refusal_lines->take(worker, std::chrono::steady_clock::now());
  if (left_out)
    CODEQ_LOG_WARN(
      "claim is refused worker={} left_out={} by=\"{}\" reason=\"{}\"", worker, *left_out, by,
      to_string(reason));
}

void claim_state::end() {
  if (std::exchange(ending_, true))
    return;
  carry_out(router_->pause(true));
  finish_if_settled();
}

void claim_state::finish_if_settled() {
  bool is_full = router_->credits() == 0;
  bool is_done = is_full || (ending_ && router_->waiting() == 0);
  if (!is_done || std::exchange(finished_, true))
    return;
  ending_ = true;
  for (std::uint16_t i = 0; i < options_.shards.size(); ++i) {
    const shard_id shard{i};
    if (ways_->is_attached_here(shard))
      self_->send(options_.shards[i], coordinator::detach_peer{options_.peer});
    if (const auto attachment = ways_->attachment(shard); attachment != 0)
      tell(shard, attachment, coordinator::claim_detached{});
  }
  self_->send(options_.gateway, claim_ended{options_.claim, std::move(tasks_), is_cut_, refusal_});
  if (may_get_late_tasks_)
    self_->delayed_send(self_, late_tasks_wait, late_tasks_over{});
  else
    self_->quit();
}

claim_actor::behavior_type
claim(claim_actor::stateful_pointer<claim_state> self, const claim_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  return {
    [self](const coordinator::shard_reply& m) { self->state.take(m); },
    [self](const coordinator::task_delivery& m) { self->state.take(m); },
    [self](const coordinator::credit_news& m) { self->state.take(m); },
    [](const coordinator::queues_added&) {},
    [self](const coordinator::peer_misbehaved& m) { self->state.take(m); },
    [self](const coordinator::shard_moved& m) { self->state.take(m); },
    [](coordinator::places_changed) {},
    [self](const add_queues& m) { self->state.add(m.queues); },
    [self](const end_claim& m) { self->state.take(m); },
    [self](http::look_again) { self->state.look_again(); },
    [self](late_tasks_over) { self->quit(); },
    [self](const shard_found& m) { self->state.take(m); },
    [self](const far_shards_found& m) { self->state.take(m); },
    [self](const far_shards_lost& m) { self->state.take(m); },
    [self](const claim_news_arrived& m) { self->state.take(m); },
  };
}

} // namespace codeq::http
