// SPDX-License-Identifier: Apache-2.0
#include "http/wakeups/wakeup_desk.hpp"

#include "base/json_writer.hpp"
#include "http/server/url.hpp"
#include "http/webhooks/webhook_desk.hpp"
#include "observe/log.hpp"

#include <algorithm>
#include <utility>

namespace codeq::http {

namespace {

/// How long the record of an expired subscription stays: a renewal that came in time may still be
/// on its way to the shard.
constexpr duration renewal_max = std::chrono::seconds(10);

using callers = std::vector<std::shared_ptr<const caller>>;

/// True when one of a subscriber's tokens allows to claim from the queue.
bool may_claim(const callers& all, const std::string& queue) {
  return std::any_of(all.begin(), all.end(), [&](const auto& by) {
    return (by->is_worker && by->may_use(queue)) || by->is_admin;
  });
}

std::string body_of(const wakeup& w, std::optional<timestamp> oldest, timestamp now) {
  base::json_writer json;
  json.begin_object().field("queue", w.queue).field("ready", w.ready).key("oldestReadyAgeMs");
  if (oldest)
    json.number(std::max(duration{0}, now - *oldest).count());
  else
    json.null();
  json.end_object();
  return json.take();
}

} // namespace

void wakeup_desk::start(
  shard_desk& desk,
  webhook_options options,
  token_rules tokens,
  std::function<void(std::uint64_t number)> post) {
  desk_ = &desk;
  options_ = std::move(options);
  tokens_ = std::move(tokens);
  post_ = std::move(post);
  if (!options_.send)
    return;
  walk_.start(
    desk,
    subscriptions_tenant,
    "subscriptions",
    {[this](const task_summary& found) { read_record(found.id, found.queue); },
     [this](shard_id shard) { leave(shard); }});
  auto grant_one = [this](const std::string& text, shard_desk::then<std::string> done) {
    grant(text, std::move(done));
  };
  wishes_.start(desk, subscription_wishes_tenant, "subscription", std::move(grant_one));
}

void wakeup_desk::read_record(task_id record, const std::string& tenant) {
  auto take = [this, record, tenant](const result<task_detail>& found) {
    if (!found || !found->payload)
      return;
    auto stored = read_subscription(*found->payload);
    if (!stored)
      return close(record);
    stored->tenant = tenant;
    take_up(*stored, record);
  };
  walk_.read(record, std::move(take));
}

void wakeup_desk::leave(shard_id shard) {
  for (const auto& id : list_.of_shard(shard)) {
    places_.give_back(list_.find(id)->tenant);
    list_.remove(id);
  }
}

void wakeup_desk::take_up(const subscription& s, task_id record) {
  if (!list_.find(s.id))
    places_.force(s.tenant);
  list_.put(s, record);
  arm();
}

void wakeup_desk::arm() {
  if (stopped_ || list_.empty() || std::exchange(armed_, true))
    return;
  desk_->after(limits::wakeup_round, [this] {
    armed_ = false;
    if (!stopped_)
      look();
  });
}

void wakeup_desk::look() {
  drop_expired();
  drop_revoked();
  if (list_.empty())
    return;
  desk_->stats([this](const result<base::coordinator_counts>& stats) {
    if (stopped_)
      return;
    if (stats)
      wake(*stats);
    arm();
  });
}

void wakeup_desk::drop_expired() {
  for (const auto& id : list_.expired(desk_->now() - renewal_max))
    drop(id);
}

void wakeup_desk::drop(const std::string& id) {
  close(list_.record_of(id));
  places_.give_back(list_.find(id)->tenant);
  list_.remove(id);
}

void wakeup_desk::drop_revoked() {
  if (!tokens_.callers_of)
    return;
  const auto before = std::exchange(listed_, {});
  for (const auto& owner : list_.owners()) {
    const auto& [tenant, subject] = owner;
    if (!tokens_.callers_of(tenant, subject).empty())
      listed_.insert(owner);
    else if (!tokens_.accepts_jwts || before.contains(owner))
      for (const auto& id : list_.of_owner(tenant, subject))
        drop(id);
  }
}

void wakeup_desk::close(task_id record) {
  // If this change is lost, the next start finds the record and drops it again.
  desk_->ask<change_outcome>(
    value(record.shard),
    client::ask_force(record, force_kind::complete, {}),
    &client::read_change,
    shard_desk::then<change_outcome>([](const result<change_outcome>&) {}));
}

void wakeup_desk::wake(const base::coordinator_counts& stats) {
  auto tenants = list_.tenants();
  ready_queues ready;
  for (const auto& q : stats.queues)
    if (q.ready > 0 && !q.paused && tenants.contains(q.queue.tenant))
      ready[q.queue.tenant].emplace(q.queue.queue, q.ready);
  std::map<queue_address, std::vector<wakeup>> by_queue;
  std::map<std::pair<std::string, std::string>, callers> known;
  const auto may_wake = [&](const subscription& s, const std::string& name) {
    if (s.expires_at <= desk_->now())
      return false;
    if (!tokens_.callers_of)
      return true;
    const auto [at, is_new] = known.try_emplace({s.tenant, s.subject});
    if (is_new)
      at->second = tokens_.callers_of(s.tenant, s.subject);
    if (at->second.empty())
      return tokens_.accepts_jwts && !listed_.contains({s.tenant, s.subject});
    return may_claim(at->second, name);
  };
  for (auto& due : list_.take_due(ready, desk_->steady_now(), may_wake))
    by_queue[{due.to.tenant, due.queue}].push_back(std::move(due));
  for (auto& [queue, due] : by_queue)
    find_oldest(std::make_shared<const std::vector<wakeup>>(std::move(due)), 0, std::nullopt);
}

void wakeup_desk::find_oldest(
  const calls& due, std::uint16_t shard, std::optional<timestamp> oldest) {
  if (shard == desk_->shard_count()) {
    for (const auto& one : *due)
      call(one, oldest);
    return;
  }
  task_filter filter;
  filter.tenant = due->front().to.tenant;
  filter.queue = due->front().queue;
  filter.state = task_state::ready;
  client::walk_position at;
  at.shard = shard;
  at.limit = 1;
  auto next = [this, due, shard, oldest](const result<client::list_part>& part) {
    auto found = oldest;
    if (part && !part->tasks.empty())
      found = std::min(found.value_or(timestamp::max()), part->tasks.front().enqueued_at);
    if (!stopped_)
      find_oldest(due, shard + 1, found);
  };
  desk_->ask<client::list_part>(
    shard,
    client::list_tasks(filter, at),
    &client::read_list,
    shard_desk::then<client::list_part>(std::move(next)));
}

void wakeup_desk::call(const wakeup& w, std::optional<timestamp> oldest) {
  auto url = parse_url(w.to.url);
  if (!url || !flights_.take(w.to.tenant))
    return desk_->meter().note(
      {"webhook_flights_max", limits::webhook_flights_max, "tenant", w.to.tenant});
  outgoing_request request;
  request.url = std::move(*url);
  request.method = "POST";
  request.body = body_of(w, oldest, desk_->now());
  request.fields = {{"Content-Type", "application/json"}};
  if (!options_.secret.empty())
    request.fields = signature_fields(options_.secret, options_.wall_time(), request.body);
  request.timeout = limits::webhook_timeout;
  request.public_only = !options_.allow_private;
  auto number = ++last_number_;
  calls_.emplace(number, w.to.tenant);
  options_.send(
    w.to.tenant, std::move(request), [post = post_, number](const result<outgoing_answer>&) {
      post(number);
    });
}

void wakeup_desk::answered(std::uint64_t number) {
  if (auto over = calls_.extract(number); !over.empty())
    flights_.give_back(over.mapped());
}

} // namespace codeq::http
