// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "encoding/limit_structs.hpp"
#include "encoding/schema_enums.hpp"
#include "http/desk/claim_driver.hpp"
#include "http/desk/shard_desk.hpp"
#include "observe/log.hpp"
#include "protocol/shared_data.hpp"

#include <caf/actor_system.hpp>

#include <algorithm>
#include <utility>

/// The desk's functions for leases and watches.
namespace codeq::http {

namespace {

/// How long a claim waits for another coordinator that does not answer: before it takes its credits
/// back, if it should not wait at all, and then before it leaves without them.
constexpr duration far_claim_wait{1000};

/// A lease that cannot be given back is given back again after this pause, and for how long: longer
/// than a fail-over takes.
constexpr duration give_back_pause{100};
constexpr duration give_back_max{10'000};

protocol::result_request make_report(const attempt_end& end) {
  constexpr std::size_t other_words = 64;
  return protocol::result_request::build(
    [&](auto request) {
      request.setShard(value(end.task.shard));
      auto report = request.initReports(1)[0];
      report.setSeq(end.task.seq);
      report.setToken(value(end.token));
      report.setDisposition(encoding::to_schema(end.how));
      if (end.delay)
        report.setDelayMs(end.delay->count());
      if (end.follow_ups)
        end.follow_ups->write_follow_ups(report.initFollowUps());
      report.setLimitName(end.limit_name);
      if (!end.costs.empty())
        encoding::write_limits(
          report.initCosts(static_cast<unsigned>(end.costs.size())), end.costs);
      auto texts = request.initTexts();
      texts.initEnds(1).set(0, static_cast<std::uint32_t>(end.text.size()));
      texts.setBytes(protocol::data_of(end.text));
    },
    (end.text.size() + (end.follow_ups ? end.follow_ups->request_bytes() : 0)) / 8 + other_words);
}

void fill_beat(schema::HeartbeatRequest::Builder request, const lease_heartbeat& said) {
  request.setShard(value(said.task.shard));
  auto beat = request.initLeases(1)[0];
  beat.setSeq(said.task.seq);
  beat.setToken(value(said.token));
  beat.setProgressed(true);
  beat.setExtendMs(static_cast<std::uint64_t>(said.extend.count()));
}

protocol::heartbeat_request make_beat(const lease_heartbeat& said) {
  return protocol::heartbeat_request::build([&](auto request) {
    fill_beat(request, said);
    if (!said.percent)
      return;
    auto progress = request.initProgress(1)[0];
    progress.setSeq(said.task.seq);
    progress.setToken(value(said.token));
    progress.setPercent(*said.percent);
    progress.setNote(said.note);
  });
}

protocol::heartbeat_request make_checkpoint(const lease_heartbeat& said, std::string_view data) {
  constexpr std::size_t other_words = 64;
  return protocol::heartbeat_request::build(
    [&](auto request) {
      fill_beat(request, said);
      // Without a number, since nobody here knows how many the attempt has saved.
      auto checkpoint = request.initCheckpoints(1)[0];
      checkpoint.setSeq(said.task.seq);
      checkpoint.setToken(value(said.token));
      checkpoint.setData(protocol::data_of(data));
    },
    data.size() / 8 + other_words);
}

} // namespace

void shard_desk::report(const attempt_end& end, then<void> done) {
  if (value(end.task.shard) >= shard_count())
    return done(error{errc::unknown_task, {}});
  if (auto sent = send_lease(end.task.shard, make_report(end).to_wire()); !sent)
    return done(sent.error());
  leases_.add_report({end.task.shard, end.task.seq, end.token}, std::move(done));
}

void shard_desk::beat(const lease_heartbeat& said, then<task_detail> done) {
  const auto& task = said.task;
  const lease_requests::lease_name lease{task.shard, task.seq, said.token};
  if (auto sent = send_lease(task.shard, make_beat(said).to_wire()); !sent)
    return done(sent.error());
  auto kept = leases_.add_beat(lease);
  // A shard answers a heartbeat only when the lease is lost. It answers this question after that.
  client::task_address where{task, {}};
  auto answered = [this, lease, kept, done](result<task_detail> told) {
    if (auto ok = leases_.end_beat(lease, kept); ok)
      done(std::move(told));
    else
      done(ok.error());
  };
  describe(where, std::move(answered));
}

void shard_desk::save_checkpoint(
  const task_status& task, fencing_token token, std::string_view checkpoint, then<void> done) {
  if (stopped_)
    return done(error{errc::going_away, "the coordinator is stopping"});
  const auto request = make_checkpoint({task.id, token}, checkpoint);
  const auto bytes = request.body().size() + tuning::enqueue_overhead_bytes;
  const auto share = options_.shares->take(task.tenant, bytes);
  if (!share)
    return done(share.error());
  const auto shard = task.id.shard;
  if (auto sent = send_lease(shard, request.to_wire(), *share); !sent)
    return done(sent.error());
  leases_.add_checkpoint({shard, task.id.seq, token}, std::move(done));
}

void shard_desk::give_back(const std::vector<granted_lease>& leases) {
  const auto until = steady_now() + give_back_max;
  for (const auto& lease : leases)
    give_back(lease, until);
}

void shard_desk::give_back(const granted_lease& lease, monotonic_time until) {
  auto done = [this, lease, until](const result<void>& how) {
    if (!how && is_retryable(how.error().code))
      give_back_later(lease, until, how.error());
  };
  report({lease.task, lease.token, disposition::abandon}, std::move(done));
}

void shard_desk::give_back_later(
  const granted_lease& lease, monotonic_time until, const error& why) {
  const auto may_wait = !stopped_ && steady_now() < until;
  if (!may_wait || !give_backs_.take(lease.tenant)) {
    CODEQ_LOG_WARN(
      "lease is not given back and runs out shard={} seq={} reason=\"{}\"",
      value(lease.task.shard), lease.task.seq, to_string(why));
    return;
  }
  after(give_back_pause, [this, lease, until] {
    give_backs_.give_back(lease.tenant);
    give_back(lease, until);
  });
}

std::uint64_t shard_desk::claim(claim_wish wish, claim_events events) {
  auto name = ++last_number_;
  if (stopped_) {
    events.ended({});
    return name;
  }
  claim_driver_options options;
  options.gateway = self_;
  options.shards = options_.shards;
  for (std::uint16_t i = 0; far_ && i < shard_count(); ++i)
    options.far.push_back(far_->claims_connection_of(shard_id{i}));
  options.refusal_lines = refusal_lines_;
  auto& run = options.run;
  run.claim = name;
  run.peer = next_peer();
  run.worker = std::move(wish.worker);
  run.first_shard = first_shard_of(wish, name);
  run.away = away_;
  if (wish.queues.empty())
    run.prefixes = {{wish.tenant, {}}};
  run.queues = std::move(wish.queues);
  run.count = wish.count;
  run.lease = wish.lease;
  run.room = wish.room / shard_count();
  run.only_now = wish.wait == duration{0};
  auto actor = options_.spawn_claim ? options_.spawn_claim(options)
                                    : self_->system().spawn(drive_claim, options);
  timer_list::id timer = 0;
  if (!run.only_now || far_) {
    // A claim that may not wait ends by itself, unless another coordinator does not answer.
    auto wait = run.only_now ? far_claim_wait : wish.wait;
    timer = timers_.add(options_.clock->now().steady + wait, [this, name] { end_claim_of(name); });
    arm();
  }
  claims_.emplace(name, open_claim{actor, timer, std::move(events)});
  return name;
}

std::vector<queue_address>
shard_desk::some_queues_of(const std::string& tenant, std::size_t most) const {
  std::vector<queue_address> some;
  const auto known = queues_.find(tenant);
  if (known == queues_.end())
    return some;
  for (const auto& [queue, shards] : known->second) {
    if (some.size() == most)
      break;
    some.push_back({tenant, queue});
  }
  return some;
}

std::size_t shard_desk::first_shard_of(const claim_wish& wish, std::uint64_t claim) const {
  constexpr std::size_t looked_at_max = 16;
  const auto known = wish.queues.empty() ? some_queues_of(wish.tenant, looked_at_max)
                                         : std::vector<queue_address>();
  const std::span<const queue_address> queues = wish.queues.empty() ? known : wish.queues;
  auto shown = options_.board
                 ? options_.board->first_shard(
                     queues.first(std::min(queues.size(), looked_at_max)), claim)
                 : std::nullopt;
  // Claims that wait begin at different shards, so that all are served alike.
  return shown ? value(*shown) : claim % shard_count();
}

void shard_desk::remove_queue(shard_id shard, const queue_address& queue) {
  auto tenant = queues_.find(queue.tenant);
  if (tenant == queues_.end())
    return;
  auto& names = tenant->second;
  auto at = names.find(queue.queue);
  if (at == names.end())
    return;
  at->second.erase(shard);
  if (at->second.empty())
    names.erase(at);
  if (names.empty())
    queues_.erase(tenant);
}

void shard_desk::take(const coordinator::queues_added& m) {
  for (const auto& queue : m.removed)
    remove_queue(m.shard, queue);
  for (const auto& queue : m.queues)
    queues_[queue.tenant][queue.queue].insert(m.shard);
}

std::set<shard_id> shard_desk::own_shards_of(const std::string& tenant) const {
  std::set<shard_id> own;
  auto known = queues_.find(tenant);
  if (known == queues_.end())
    return own;
  for (const auto& [queue, shards] : known->second)
    own.insert(shards.begin(), shards.end());
  std::erase_if(own, [this](shard_id shard) { return !is_here(value(shard)); });
  return own;
}

void shard_desk::end_claim_of(std::uint64_t claim) {
  auto at = claims_.find(claim);
  if (at == claims_.end())
    return;
  self_->send(at->second.actor, end_claim{});
  if (!far_)
    return;
  after(far_claim_wait, [this, claim] {
    if (auto open = claims_.find(claim); open != claims_.end())
      self_->send(open->second.actor, end_claim{.at_once = true});
  });
}

void shard_desk::take(claim_ended& m) {
  auto open = claims_.extract(m.claim);
  if (open.empty())
    return;
  timers_.remove(open.mapped().timer);
  open.mapped().events.ended(std::move(m.how));
}

void shard_desk::take(const claim_waits& m) {
  if (auto at = claims_.find(m.claim); at != claims_.end())
    at->second.events.waits();
}

std::uint64_t shard_desk::watch(
  task_id task,
  std::optional<duration> wait,
  then<ended_task> ended,
  client::watch_list::progressed_function progressed) {
  auto name = ++last_number_;
  if (stopped_) {
    ended(error{errc::going_away, "the coordinator is stopping"});
    return name;
  }
  auto shared = std::make_shared<then<ended_task>>(std::move(ended));
  timer_list::id timer = 0;
  if (wait) {
    timer = timers_.add(options_.clock->now().steady + *wait, [this, name, shared] {
      unwatch(name);
      (*shared)(error{errc::timeout, "the task has not ended in time"});
    });
    arm();
  }
  watches_.emplace(name, open_watch{task, timer});
  auto end = [this, name, shared](result<ended_task> how) {
    auto open = watches_.extract(name);
    if (open.empty())
      return;
    timers_.remove(open.mapped().timer);
    (*shared)(std::move(how));
  };
  watch_list_.add(name, {task}, std::move(end), std::move(progressed));
  return name;
}

void shard_desk::unwatch(std::uint64_t watch) {
  auto open = watches_.extract(watch);
  if (open.empty())
    return;
  timers_.remove(open.mapped().timer);
  watch_list_.remove(watch, {open.mapped().task});
}

} // namespace codeq::http
