// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/session.hpp"

#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "coordinator/shard/access.hpp"
#include "protocol/convert.hpp"
#include "protocol/operator_convert.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace codeq::coordinator {

namespace {

error not_here(shard_id shard) {
  return {
    errc::not_owner, "another coordinator serves shard " + std::to_string(value(shard))};
}

/// Minimum and maximum interval of checks for held-back credits.
constexpr duration held_look_min{10};
constexpr duration held_look_max{1000};

error over_rate(duration wait) {
  return {
    errc::overloaded,
    "over the rate of the token; retry after " + std::to_string(wait.count()) + " ms"};
}

/// True when the wish names the queue, or one of its prefixes matches it.
bool is_wished(const protocol::claim_wish& wish, const queue_address& queue) {
  auto matches = [&](const queue_address& prefix) {
    return prefix.tenant == queue.tenant && queue.queue.starts_with(prefix.queue);
  };
  return std::find(wish.queues->begin(), wish.queues->end(), queue) != wish.queues->end()
         || std::any_of(wish.prefixes.begin(), wish.prefixes.end(), matches);
}

/// True when a bearer may see, or with `changes` change, what concerns the whole process.
bool may_use_process(const security::principal& who, bool changes) {
  return who.is_of_all_tenants() && (changes ? who.may_operate() : who.may_inspect());
}

std::uint32_t count_of(const core::tasks_granted& granted) {
  std::uint32_t count = 0;
  for (const auto& run : granted.runs)
    count += run.count;
  return count;
}

} // namespace

session::session(session_options options, session_port& port)
  : options_(std::move(options)),
    port_(port),
    router_(options_.shard_count),
    window_(options_.shard_count, options_.delivery_bytes_max) {
  find_places();
}

void session::take(const protocol::session_request& request, enqueue_share share) {
  share_ = std::move(share);
  std::visit([this](const auto& m) { take_request(m); }, request);
  share_ = nullptr;
}

template <class S>
void session::forward(const protocol::frame<S>& m) {
  auto shard = protocol::shard_of(m, options_.shard_count);
  if (!shard)
    return refuse(shard.error());
  if (!is_here(*shard))
    return tell_places(*shard);
  port_.ask_shard(*shard, {options_.peer, m, options_.bearer, std::move(share_)});
}

template <class S>
void session::take_request(const protocol::frame<S>& m) {
  auto to = protocol::address_of(m);
  if (!to)
    return refuse(to.error());
  // A change that was carried out elsewhere would undo what came after it.
  if (is_late(static_cast<shard_id>(to->shard)))
    return acting_for_.reset();
  auto ok = count_request();
  if (ok && to->shard >= options_.shard_count)
    ok = protocol::no_such_shard<S>(*to, options_.shard_count);
  if (ok && !is_here(static_cast<shard_id>(to->shard))) {
    tell_places(static_cast<shard_id>(to->shard));
    ok = not_here(static_cast<shard_id>(to->shard));
  }
  if (!ok) {
    acting_for_.reset();
    return port_.send(protocol::make_refusal<S>(to->number, ok.error()).to_wire());
  }
  peer_request request{options_.peer, m, options_.bearer, std::move(share_)};
  if constexpr (protocol::is_change<S>)
    request.origin = origin_of(protocol::operation_of(m));
  port_.ask_shard(static_cast<shard_id>(to->shard), std::move(request));
}

core::origin_ptr session::origin_of(std::uint64_t operation) {
  const auto asker = std::exchange(acting_for_, std::nullopt);
  if (asker)
    operation = asker->operation;
  auto known = std::find_if(operations_.begin(), operations_.end(), [&](const auto& one) {
    return operation != 0 && one.first == operation;
  });
  if (known != operations_.end())
    return known->second;
  core::command_origin origin{port_.now(), std::uint64_t{options_.peer} << 32 | ++last_operation_};
  origin.remote = options_.remote;
  if (asker) {
    origin.subject = asker->subject;
    origin.tenant = asker->tenant;
    origin.remote = asker->remote;
    origin.is_audited = asker->is_audited;
  } else if (const auto& bearer = options_.bearer) {
    origin.subject = bearer->subject;
    origin.tenant = bearer->tenant;
    origin.is_audited = bearer->may_operate() && !options_.is_gateway;
  }
  auto shared = std::make_shared<const core::command_origin>(std::move(origin));
  if (operation == 0)
    return shared;
  if (operations_.size() >= tuning::session_operations_max)
    operations_.pop_front();
  operations_.emplace_back(operation, shared);
  return shared;
}

duration session::take_rate(security::rate_scope scope, std::uint64_t cost) {
  return options_.bearer ? port_.take_rate(*options_.bearer, scope, cost) : duration{0};
}

void session::note_rate(security::rate_scope scope) {
  port_.note_limit("token_rate", options_.bearer->rate_of(scope).per_second);
}

result<void> session::count_request() {
  using security::rate_scope;
  bool is_operator = options_.bearer && options_.bearer->may_inspect();
  auto scope = is_operator ? rate_scope::admin : rate_scope::producer;
  auto wait = take_rate(scope, 1);
  if (wait == duration{0})
    return {};
  note_rate(scope);
  return over_rate(wait);
}

void session::take(const request_without_share& m) {
  // It was for this request.
  acting_for_.reset();
  write_in_any_case(m.answer);
}

void session::take_request(const protocol::enqueue_request& m) {
  const auto outline = protocol::outline_of(m, options_.shard_count);
  if (!outline)
    return refuse(outline.error());
  const auto& [number, producer, shard, tasks] = *outline;
  if (!is_here(shard)) {
    tell_places(shard);
    return refuse_enqueue(number, not_here(shard), duration{0});
  }
  if (is_late(shard))
    return;
  note_producer(producer, shard);
  auto size = m.body().size();
  if (auto ok = check_inflight(shard, size); !ok) {
    port_.note_limit("producer_inflight_bytes_max", limits::producer_inflight_bytes_max);
    return refuse_enqueue(number, ok.error(), tuning::overloaded_retry_after);
  }
  if (auto wait = take_rate(security::rate_scope::producer, tasks); wait > duration{0}) {
    note_rate(security::rate_scope::producer);
    return refuse_enqueue(number, over_rate(wait), wait);
  }
  enqueue_bytes_.emplace(number, waiting_enqueue{shard, size});
  inflight_bytes_ += size;
  inflight_bytes_at_[shard] += size;
  port_.ask_shard(shard, {options_.peer, m, options_.bearer, std::move(share_)});
}

void session::note_producer(const producer_id& producer, shard_id shard) {
  if (producer != producer_)
    producer_shards_.clear();
  producer_ = producer;
  producer_shards_.insert(shard);
}

void session::end_producer_session(const protocol::goodbye& m) {
  auto finished = protocol::finished_session_of(m);
  bool is_ours = finished && *finished == producer_;
  if (!is_ours || !enqueue_bytes_.empty())
    return;
  for (auto shard : producer_shards_)
    port_.command_shard(shard, core::end_session{producer_});
}

void session::refuse_enqueue(std::uint64_t number, const error& reason, duration retry_after) {
  core::enqueue_answered refusal{options_.peer, number, {}};
  refusal.allowed = reason;
  port_.send(protocol::make_enqueue_reply({}, refusal, retry_after).to_wire());
}

void session::take_request(const protocol::heartbeat_request& m) {
  const auto shard = protocol::shard_of(m, options_.shard_count);
  if (!shard || !is_late(*shard))
    forward(m);
}

void session::take_request(const protocol::resume_request& m) {
  auto shard = protocol::shard_of(m, options_.shard_count);
  if (shard && !is_here(*shard))
    return tell_places(*shard);
  if (shard && options_.places && !resumes_now(*shard, protocol::epoch_of(m)))
    return;
  // Each one has tasks read and sent again, so that a few bytes would cost others much.
  if (shard && ++resumes_[*shard] > 1)
    return refuse(
      {errc::protocol_error,
       "a second ResumeRequest for shard " + std::to_string(value(*shard))
         + " on one connection; the limit is 1"});
  forward(m);
}

void session::take_request(const protocol::claim_request& m) {
  auto wish = protocol::read_claim(m);
  if (!wish)
    return refuse(wish.error());
  if (wish->reaches_all)
    set_reach(*wish->reaches_all);
  if (wish->queues)
    take_from(*wish);
  else if (wish->take_back > 0)
    return take_back(wish->take_back);
  else if (wish->credits == 0)
    return wish->reaches_all ? void() : drain();
  constexpr auto credits_max = 2 * limits::slots_max;
  auto unused = router_.credits() + held_credits_;
  if (wish->credits > credits_max || unused + wish->credits > credits_max)
    return refuse(
      {errc::protocol_error,
       std::to_string(wish->credits) + " credits beside " + std::to_string(unused)
         + " unused ones; the limit is " + std::to_string(credits_max)});
  lease_wish_ = wish->lease;
  batch_tasks_ = wish->batch_tasks;
  held_credits_ += wish->credits;
  if (!wakes_.contains(session_wake::held_credits))
    place_held_credits();
}

void session::take_from(protocol::claim_wish wish) {
  auto& queues = *wish.queues;
  if (options_.bearer) {
    for (const auto& queue : queues)
      if (auto ok = access::check_claim(*options_.bearer, queue); !ok)
        return refuse(ok.error());
    if (auto ok = access::narrow(*options_.bearer, queues, wish.prefixes); !ok)
      return refuse(ok.error());
  }
  std::erase_if(wish.without, [&](const queue_address& queue) { return !is_wished(wish, queue); });
  // A queue that is left out must not come back by its name.
  std::erase_if(queues, [&](const queue_address& queue) {
    return std::find(wish.without.begin(), wish.without.end(), queue) != wish.without.end();
  });
  for_each_shard([&](shard_id shard) {
    port_.command_shard(
      shard, core::change_queues{options_.peer, queues, wish.prefixes, wish.without});
  });
}

void session::place_held_credits() {
  auto wait = duration{0};
  for (auto part = held_credits_; part > 0; part /= 2) {
    wait = take_rate(security::rate_scope::claim, part);
    if (wait > duration{0})
      continue;
    held_credits_ -= part;
    carry_out(router_.add_credits(part));
    break;
  }
  if (held_credits_ > 0)
    wake_later(session_wake::held_credits, std::clamp(wait, held_look_min, held_look_max));
}

void session::wake_later(session_wake what, duration wait) {
  if (wakes_.insert(what).second)
    port_.wake_after(wait, what);
}

void session::wake(session_wake what) {
  wakes_.erase(what);
  switch (what) {
  case session_wake::held_credits:
    return place_held_credits();
  case session_wake::full_window:
    return return_room();
  case session_wake::late_tasks:
    return beat_for_late_tasks();
  case session_wake::waiting_results:
    return ask_for_results();
  case session_wake::unread_bytes:
    return give_back_unread();
  }
}

void session::claim_at(shard_id shard, std::uint32_t credits) {
  port_.command_shard(
    shard,
    core::claim{
      options_.peer, credits, lease_wish_, batch_tasks_, window_.take_room(shard), reaches_all_});
}

void session::set_reach(bool reaches_all) {
  if (std::exchange(reaches_all_, reaches_all) == reaches_all)
    return;
  for_each_shard([this](shard_id shard) {
    if (is_here(shard))
      claim_at(shard, 0);
  });
}

void session::return_room() {
  window_.written(port_.outgoing().written);
  for (auto shard : window_.owed())
    // A shard that is away would lose it, and have no room for any task when it comes.
    if (is_here(shard))
      claim_at(shard, 0);
  if (window_.is_filling())
    wake_later(session_wake::full_window, tuning::delivery_look_interval);
}

void session::beat_for_late_tasks() {
  window_.written(port_.outgoing().written);
  for (auto& late : window_.take_late())
    port_.command_shard(late.shard, core::heartbeat{options_.peer, std::move(late.leases), {}, {}});
  if (window_.is_waiting())
    wake_later(session_wake::late_tasks, tuning::delivery_late_interval);
}

void session::carry_out(const claim_router::moves& moves) {
  for (const auto& move : moves) {
    if (move.what == claim_router::move::kind::claim)
      claim_at(move.shard, move.credits);
    else
      port_.command_shard(move.shard, core::revoke_credits{options_.peer, move.credits});
  }
  if (options_.places && options_.worker)
    tell_credits();
}

void session::take(const shard_reply& m) {
  if (const auto* answered = std::get_if<core::enqueue_answered>(&m.reply)) {
    if (auto at = enqueue_bytes_.find(answered->number); at != enqueue_bytes_.end()) {
      inflight_bytes_ -= at->second.bytes;
      inflight_bytes_at_[at->second.shard] -= at->second.bytes;
      enqueue_bytes_.erase(at);
    }
  }
  if (const auto* told = std::get_if<protocol::tasks_told>(&m.reply))
    return tell(m.shard, *told);
  write(m.shard, m.reply);
}

void session::take(const task_delivery& m) {
  // The credits are placed elsewhere by now. Where the shard is served the worker gets the tasks
  // again, under the same tokens, when it resumes.
  if (!is_here(m.shard))
    return;
  protocol::write_tasks(
    m.shard, m.granted, m.bodies, [this](const auto& frame) { port_.send(frame); });
  auto outgoing = port_.outgoing();
  window_.sent(m.shard, m.granted, outgoing.sent);
  window_.written(outgoing.written);
  wake_later(session_wake::late_tasks, tuning::delivery_late_interval);
  if (window_.is_filling())
    wake_later(session_wake::full_window, tuning::delivery_look_interval);
  if (!m.granted.redelivered)
    carry_out(
      router_.granted(m.shard, count_of(m.granted), m.more, m.granted.runs.back().priority));
  if (take_unread(0))
    return;
  over_share_ = true;
  pause_claims();
}

void session::take(const credit_news& m) {
  if (!is_here(m.shard))
    return;
  switch (m.what) {
  case credit_news::kind::drained:
    return carry_out(router_.drained(m.shard));
  case credit_news::kind::has_work:
    return carry_out(router_.has_work(m.shard));
  case credit_news::kind::returned:
    window_.dropped(m.shard, m.bytes);
    return carry_out(router_.returned(m.shard, m.credits));
  case credit_news::kind::outranked:
    return carry_out(router_.outranked(m.shard, m.credits, m.by, m.priority));
  }
}

void session::take_request(const protocol::backup_request& m) {
  auto reply = m.read([&](auto reader) -> result<protocol::backup_reply> {
    auto number = reader.getNumber();
    const auto* bearer = options_.bearer.get();
    if (bearer && !may_use_process(*bearer, reader.getStart() || reader.getIsHold()))
      return protocol::make_backup_reply(
        number, error{errc::unauthorized, "a backup takes the token of an admin of all tenants"});
    if (reader.getList())
      return protocol::make_backups_reply(number, port_.list_backups());
    backup_wish wish{reader.getStart(), std::nullopt, reader.getRun()};
    if (reader.getIsHold())
      wish.hold = std::min(duration{reader.getHoldMs()}, tuning::hand_over_hold_max);
    auto status = port_.back_up(wish);
    if (status && reader.getStart())
      port_.command_shard(shard_id{0}, core::note_command{origin_of(0), operator_action::backup});
    return protocol::make_backup_reply(number, status);
  });
  if (!reply)
    return refuse(reply.error());
  port_.send(reply->to_wire());
}

void session::take_request(const protocol::log_level_request& m) {
  auto reply = m.read([&](auto reader) -> result<protocol::log_level_reply> {
    auto number = reader.getNumber();
    auto level = reader.getLevel();
    if (options_.bearer && !may_use_process(*options_.bearer, level.size() > 0))
      return protocol::make_log_level_reply(
        number,
        error{errc::unauthorized, "the log's level takes the token of an admin of all tenants"});
    auto from = port_.set_log_level({});
    auto to = port_.set_log_level({level.begin(), level.size()});
    if (from && to && *from != *to)
      port_.command_shard(
        shard_id{0},
        core::note_command{origin_of(0), operator_action::log_level, *from + " -> " + *to});
    return protocol::make_log_level_reply(number, to);
  });
  if (!reply)
    return refuse(reply.error());
  port_.send(reply->to_wire());
}

void session::set_pressure(bool high) {
  const auto was_high = std::exchange(high_pressure_, high);
  pause_claims();
  claims_.for_each([&](const claim_place& place) {
    hold_claim_if_due(place, was_high || claims_.is_held(place));
  });
}

void session::pause_claims() {
  carry_out(router_.pause(high_pressure_ || over_share_ || draining_ || is_drained_));
}

void session::drain() {
  draining_ = true;
  held_credits_ = 0;
  pause_claims();
}

void session::take_request(const protocol::goodbye& m) {
  port_.note_goodbye();
  end_producer_session(m);
  if (options_.worker) {
    // First, since the shards would grant the tasks that are given back here to this worker again.
    drain();
    for_each_shard([this](shard_id shard) {
      port_.command_shard(shard, core::release_worker{options_.worker});
    });
  }
  port_.close({errc::none, "goodbye"});
}

void session::refuse(const error& reason) {
  if (!has_ended_)
    port_.note_refused(reason);
  end(reason);
}

void session::end(const error& reason) {
  // What the connection had read before it closes still arrives.
  if (std::exchange(has_ended_, true))
    return;
  if (reason.code == errc::going_away)
    port_.send(protocol::make_goodbye(reason.code).to_wire());
  else
    port_.send(protocol::make_refused(reason).to_wire());
  port_.close(reason);
}

} // namespace codeq::coordinator
