// SPDX-License-Identifier: Apache-2.0
#include "http/wakeups/wakeup_desk.hpp"

#include "base/json_writer.hpp"
#include "base/random.hpp"
#include "base/text_encoding.hpp"
#include "http/server/url.hpp"
#include "http/webhooks/callback_url.hpp"
#include "http/webhooks/webhook_desk.hpp"
#include "observe/log.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace codeq::http {

namespace {

/// No token of a tenant can see this tenant, unless an operator created a token for its name.
constexpr auto subscriptions_tenant = "codeq.subscriptions";

/// How long the record of an expired subscription stays: a renewal that came in time may still be
/// on its way to the shard.
constexpr duration renewal_max = std::chrono::seconds(10);

task_spec wakeup_record_of(const subscription& s) {
  task_spec record;
  record.tenant = subscriptions_tenant;
  record.queue = s.tenant;
  record.key = s.id;
  record.payload = to_record(s);
  // The repeat of a record, which renews the subscription, replaces its text.
  record.duplicate = on_duplicate::replace_ended;
  record.replace_payload = true;
  record.retention = limits::retention_classes.front();
  return record;
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
  find_callers callers_of,
  std::function<void(std::uint64_t number)> post) {
  desk_ = &desk;
  options_ = std::move(options);
  callers_of_ = std::move(callers_of);
  post_ = std::move(post);
  if (!options_.send)
    return;
  walk_.start(
    desk,
    subscriptions_tenant,
    "subscriptions",
    {[this](const task_summary& found) { read_record(found.id, found.queue); },
     [this](shard_id shard) { leave(shard); }});
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

std::string wakeup_desk::new_id(const std::string& tenant) const {
  std::string id;
  do {
    std::array<std::uint64_t, 2> bits{base::random_bits(), base::random_bits()};
    id = base::to_hex({reinterpret_cast<const char*>(bits.data()), sizeof(bits)});
  } while (!desk_->is_here(value(walk_.shard_of(tenant, id))));
  return id;
}

result<void> wakeup_desk::check(const std::string& tenant, const std::string& url) const {
  if (!desk_->has_shards())
    return error{
      errc::not_owner,
      "this coordinator serves no shard at present, and so no subscription; send the request to "
      "another one"};
  if (auto ok = check_callback_url(options_, "invalid callback url", "callbackUrl", url); !ok)
    return ok;
  if (places_.has_room(tenant))
    return {};
  desk_->meter().note({"subscriptions_max", limits::subscriptions_max, "tenant", tenant});
  return error{
    errc::overloaded,
    "tenant " + tenant + " has " + std::to_string(places_.used_by(tenant))
      + " subscriptions; all tenants share " + std::to_string(limits::subscriptions_max)};
}

enqueue_ticket wakeup_desk::put(const subscription& s, std::function<void(result<void>)> done) {
  // Its place is taken before its record is durable, so that many that come at once are counted.
  bool is_new = !list_.find(s.id);
  if (is_new)
    places_.force(s.tenant);
  auto stored = [this, s, is_new, done = std::move(done)](const result<enqueued_task>& added) {
    if (is_new)
      places_.give_back(s.tenant);
    if (!added)
      return done(added.error());
    // Its shard may have left meanwhile.
    if (auto ok = walk_.check_here(s.tenant, s.id); !ok)
      return done(ok.error());
    take_up(s, added->id);
    done({});
  };
  return desk_->enqueue(s.tenant, wakeup_record_of(s), std::move(stored));
}

result<subscription>
wakeup_desk::find(const std::string& tenant, const std::string& id) const {
  if (!options_.send)
    return error{errc::unknown_task, "not-found"};
  if (auto ok = walk_.check_here(tenant, id); !ok)
    return ok.error();
  const auto* found = list_.find(id);
  if (found && found->tenant == tenant)
    return *found;
  if (walk_.is_reading() || !walk_.has_read(walk_.shard_of(tenant, id)))
    return error{errc::overloaded, "the subscriptions are being read after the start"};
  return error{errc::unknown_task, "not-found"};
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
  if (!callers_of_)
    return;
  for (const auto& [tenant, subject] : list_.owners())
    if (callers_of_(tenant, subject).empty())
      for (const auto& id : list_.of_owner(tenant, subject))
        drop(id);
}

bool wakeup_desk::may_claim(const subscription& s, const std::string& queue) const {
  if (!callers_of_)
    return true;
  auto callers = callers_of_(s.tenant, s.subject);
  return std::any_of(callers.begin(), callers.end(), [&](const auto& by) {
    return (by->is_worker && by->may_use(queue)) || by->is_admin;
  });
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
  for (auto& due : list_.take_due(ready, desk_->steady_now()))
    if (due.to.expires_at > desk_->now() && may_claim(due.to, due.queue))
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
  request.answer_bytes_max = limits::webhook_answer_bytes_max;
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
