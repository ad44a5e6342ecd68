// SPDX-License-Identifier: Apache-2.0
#include "http/claims/claim_run.hpp"

#include "base/tuning.hpp"
#include "client/operator_questions.hpp"

#include <algorithm>
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
constexpr duration late_tasks_wait{300};
static_assert(late_tasks_wait < tuning::http_shutdown_max);

/// Maximum time that a claim without a wait of its own waits for slots: until shards have asked
/// each other whether the maximum of a queue's leases allows one more.
constexpr duration slot_wait_max{100};

error too_few_copies(shard_id shard) {
  return {
    errc::unavailable,
    "too few replicas of shard " + std::to_string(value(shard))
      + " are in sync for new leases, and the other shards have no task for this claim"};
}

} // namespace

claim_run::claim_run(claim_run_options options, claim_run_port& port)
  : options_(std::move(options)),
    port_(port),
    router_(options_.shard_count, options_.first_shard),
    ways_(options_.shard_count),
    received_(options_.shard_count),
    left_(options_.shard_count),
    untold_room_(options_.shard_count, options_.room),
    room_(untold_room_) {
}

void claim_run::start() {
  for (std::uint16_t i = 0; i < shard_count(); ++i) {
    const shard_id shard{i};
    static_cast<void>(ways_.find_here(shard, !options_.away.contains(shard)));
    static_cast<void>(ways_.set_far(shard, options_.reached.contains(shard)));
    if (ways_.to(shard) == way::none)
      carry_out(router_.set_here(shard, false));
  }
  reaches_all_ = ways_.reach_all();
  carry_out(router_.add_credits(options_.count));
  if (router_.waiting() > 0)
    return;
  // A host tells when its shard comes.
  attach_to_all();
  found_no_work();
}

void claim_run::attach_to_all() {
  for (std::uint16_t i = 0; i < shard_count(); ++i)
    attach(shard_id{i});
}

bool claim_run::attach(shard_id shard, std::optional<core::claim> first_claim) {
  const auto by = ways_.attach(shard);
  if (!by)
    return false;
  if (*by == way::far) {
    received_[value(shard)] = 0;
    tell(
      shard, ways_.attachment(shard),
      coordinator::claim_attached{options_.worker, options_.queues, options_.prefixes});
    return false;
  }
  coordinator::peer_attached me{options_.peer, options_.worker, options_.queues};
  me.prefixes = options_.prefixes;
  if (first_claim)
    first_claim->peer = options_.peer;
  port_.attach(shard, std::move(me), first_claim);
  return first_claim.has_value();
}

void claim_run::look_everywhere() {
  if (round_ > 0 || ending_)
    return;
  attach_to_all();
  ask_all();
}

template <class Command>
void claim_run::command(shard_id shard, Command what) {
  if (ways_.to(shard) == way::far)
    return tell(shard, ways_.attachment(shard), std::move(what));
  what.peer = options_.peer;
  port_.command(shard, std::move(what));
}

void claim_run::carry_out(const coordinator::claim_router::moves& moves) {
  using kind = coordinator::claim_router::move::kind;
  for (const auto& move : moves) {
    if (move.what == kind::claim) {
      auto room = std::exchange(untold_room_[value(move.shard)], 0);
      const core::claim wanted{0, move.credits, options_.lease, 0, room, reaches_all_};
      if (!attach(move.shard, wanted))
        command(move.shard, wanted);
    } else {
      attach(move.shard);
      command(move.shard, core::revoke_credits{0, move.credits});
    }
  }
}

void claim_run::ask_all() {
  ++round_;
  is_round_due_ = false;
  any_news_ = false;
  unanswered_ = 0;
  // The answers would tell nothing new.
  if (has_told_)
    return;
  lacking_.reset();
  for (std::uint16_t i = 0; i < shard_count(); ++i)
    ask(shard_id{i});
  if (unanswered_ == 0)
    found_no_work();
}

void claim_run::ask(shard_id shard) {
  const auto by = ways_.to(shard);
  if (by == way::none)
    return;
  ++unanswered_;
  if (by == way::far)
    return tell(shard, ways_.attachment(shard), coordinator::claim_question{round_});
  const auto queue = options_.queues.empty()
                       ? queue_address{options_.prefixes.front().tenant, "default"}
                       : options_.queues.front();
  auto question = client::show_queue(value(shard), queue)(round_);
  auto request = protocol::queue_request::parse(question.body);
  port_.ask(shard, std::move(*request));
}

void claim_run::take(const coordinator::shard_reply& m) {
  if (const auto* answered = std::get_if<core::queue_answered>(&m.reply))
    take_answer(m.shard, {answered->number, answered->awaits_slots, answered->lacks_copies});
  else if (
    const auto* refused = std::get_if<protocol::request_refused<schema::QueueRequest>>(&m.reply))
    take_answer(m.shard, {refused->number});
}

void claim_run::take_answer(shard_id shard, const coordinator::claim_answer& answer) {
  awaits_slots_ = awaits_slots_ || answer.awaits_slots;
  if (answer.number == round_ && answer.lacks_copies)
    lacking_ = shard;
  if (answer.number != round_ || --unanswered_ > 0 || ending_)
    return;
  quiet_rounds_ = any_news_ ? 0 : quiet_rounds_ + 1;
  if (being_read_ > 0)
    is_round_due_ = true;
  else if (quiet_rounds_ >= quiet_rounds_wanted || round_ >= rounds_max)
    found_no_work();
  else
    ask_all();
}

void claim_run::ask_if_read() {
  if (is_round_due_ && being_read_ == 0 && !ending_ && !finished_)
    ask_all();
}

void claim_run::found_no_work() {
  if (options_.only_now)
    return awaits_slots_ ? end_later() : end();
  if (!std::exchange(has_told_, true))
    port_.waits();
}

void claim_run::end_later() {
  if (!std::exchange(is_ending_later_, true))
    port_.end_after(slot_wait_max);
}

void claim_run::take(const coordinator::task_delivery& m) {
  arrival granted;
  granted.more = m.more;
  for (const auto& run : m.granted.runs)
    granted.count += run.count;
  protocol::write_tasks(m.shard, m.granted, m.bodies, [&](const protocol::wire_frame& frame) {
    if (auto tasks = read_batch(frame.body))
      std::move(tasks->begin(), tasks->end(), std::back_inserter(granted.tasks));
  });
  // The shard has left, and its credits are void.
  if (finished_ || ways_.to(m.shard) != way::here)
    return add_late(std::move(granted.tasks));
  granted.room = m.granted.bytes;
  granted.was_read = !m.more;
  granted.priority = m.granted.runs.back().priority;
  add(m.shard, std::move(granted));
}

void claim_run::add(shard_id shard, arrival granted) {
  any_news_ = true;
  keep(std::move(granted.tasks));
  auto& room = room_[value(shard)];
  room -= static_cast<std::int64_t>(granted.room);
  is_cut_ = is_cut_ || room <= 0;
  carry_out(router_.granted(shard, granted.count, granted.more, granted.priority));
  if (granted.was_read)
    being_read_ = std::max(std::int64_t{0}, being_read_ - granted.count);
  if (tasks_.size() == options_.count)
    end();
  finish_if_settled();
  if (!finished_)
    look_everywhere();
  ask_if_read();
}

void claim_run::keep(std::vector<task> tasks) {
  // There are more than asked for when a shard that has left had granted some, too.
  const auto wanted = std::min<std::size_t>(options_.count - tasks_.size(), tasks.size());
  const auto end = tasks.begin() + static_cast<std::ptrdiff_t>(wanted);
  std::move(tasks.begin(), end, std::back_inserter(tasks_));
  tasks.erase(tasks.begin(), end);
  give_back(tasks);
}

void claim_run::add_late(std::vector<task> tasks) {
  if (finished_)
    return give_back(tasks);
  keep(std::move(tasks));
  if (tasks_.size() == options_.count)
    end();
}

void claim_run::take(const coordinator::credit_news& m) {
  if (!finished_ && ways_.to(m.shard) == way::here)
    use(m);
}

void claim_run::use(const coordinator::credit_news& m) {
  any_news_ = true;
  being_read_ = std::max(std::int64_t{0}, being_read_ + m.being_read);
  switch (m.what) {
  case coordinator::credit_news::kind::drained:
    if (named_ == m.shard && ++vain_ == vain_max)
      tell_reach();
    carry_out(router_.drained(m.shard));
    return look_everywhere();
  case coordinator::credit_news::kind::has_work:
    return carry_out(router_.has_work(m.shard));
  case coordinator::credit_news::kind::returned:
    carry_out(router_.returned(m.shard, m.credits));
    finish_if_settled();
    return ask_if_read();
  case coordinator::credit_news::kind::outranked:
    if (ways_.to(m.by) != ways_.to(m.shard))
      named_ = m.by;
    carry_out(router_.outranked(m.shard, m.credits, m.by, m.priority));
    // The better tasks do not fit in this claim's answer, so that it can get no others.
    if (room_[value(m.by)] <= 0)
      end();
    return finish_if_settled();
  }
}

void claim_run::refuse(const error& reason) {
  port_.note_refused("a shard of this coordinator", reason);
  end();
}

void claim_run::end(bool at_once) {
  begin_end();
  for (std::uint16_t i = 0; at_once && i < shard_count(); ++i)
    if (ways_.to(shard_id{i}) == way::far)
      lose(shard_id{i});
}

void claim_run::begin_end() {
  if (std::exchange(ending_, true))
    return;
  carry_out(router_.pause(true));
  finish_if_settled();
}

void claim_run::finish_if_settled() {
  bool is_full = router_.credits() == 0;
  bool is_done = is_full || (ending_ && router_.waiting() == 0);
  if (!is_done || std::exchange(finished_, true))
    return;
  ending_ = true;
  for (std::uint16_t i = 0; i < shard_count(); ++i) {
    const shard_id shard{i};
    if (ways_.is_attached_here(shard))
      port_.detach(shard);
    if (const auto attachment = ways_.attachment(shard); attachment != 0)
      tell(shard, attachment, coordinator::claim_detached{});
  }
  if (tasks_.empty() && !refusal_ && lacking_)
    refusal_ = too_few_copies(*lacking_);
  port_.ended({std::move(tasks_), is_cut_, refusal_});
  if (may_get_late_tasks_)
    port_.close_after(late_tasks_wait);
  else
    port_.close();
}

} // namespace codeq::http
