// SPDX-License-Identifier: Apache-2.0
#include "http/webhooks/webhook_desk.hpp"

#include "base/json_writer.hpp"
#include "base/random.hpp"
#include "http/json/json_reader.hpp"
#include "http/webhooks/callback_url.hpp"
#include "observe/log.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace codeq::http {

namespace {

/// No token of a tenant can see this tenant, unless an operator created a token for its name.
constexpr auto webhooks_tenant = "codeq.webhooks";

/// Used in place of the host of a record that cannot be read.
constexpr auto unknown_host = "-";

/// The error of the record of a dead task that was told of. Such a record is kept like that of a
/// webhook that is given up, since the task may be redriven.
constexpr auto death_is_told = "delivered; if the dead task is redriven, its next end follows";

constexpr unsigned first_success = 200;
constexpr unsigned first_other = 300;

/// Makes the record of a webhook, one per task and tenant.
task_spec webhook_record_of(task_id task, const std::string& tenant, const std::string& url) {
  task_spec record;
  record.tenant = webhooks_tenant;
  record.queue = tenant;
  record.key = to_string(task);
  base::json_writer json;
  json.begin_object().field("task", to_string(task)).field("url", url).end_object();
  record.payload = json.take();
  record.retention = limits::retention_classes.front();
  record.dead_retention = limits::webhook_dead_retention;
  return record;
}

std::string url_in(const result<task_detail>& record) {
  auto json =
    record && record->payload ? json_object::parse(*record->payload) : std::optional<json_object>();
  return json ? json->text("url") : std::string();
}

bool is_delivered(const result<task_detail>& record) {
  return record && is_terminal(record->status.state);
}

/// Why a webhook was not stored. The error of its record's enqueue speaks of a task, which readers
/// would take for the webhook's.
error unstored(const error& why) {
  const std::string unknown = "; whether the webhook was stored is unknown";
  if (why.code == errc::timeout)
    return {why.code, "its shard did not answer in time" + unknown};
  if (why.code == errc::going_away)
    return {why.code, "the coordinator is stopping" + unknown};
  const std::string missing = "; the webhook was not stored";
  if (why.code == errc::disconnected)
    return {why.code, "its shard cannot be reached at present" + missing};
  return {why.code, to_string(why) + missing};
}

/// Doubles the pause up to a bound; a random part keeps retries from happening in step.
duration pause_before_next(std::uint32_t attempts) {
  auto doublings = std::min<std::uint32_t>(attempts - 1, 20);
  auto most = std::min<std::int64_t>(
    limits::webhook_retry_min.count() << doublings, limits::webhook_retry_max.count());
  return duration{
    most / 2
    + static_cast<std::int64_t>(base::random_bits() % static_cast<std::uint64_t>(most / 2 + 1))};
}

} // namespace

void webhook_desk::start(
  shard_desk& desk,
  webhook_options options,
  std::function<void(std::uint64_t, result<outgoing_answer>)> post) {
  desk_ = &desk;
  options_ = std::move(options);
  post_ = std::move(post);
  if (!options_.send)
    return;
  auto found = [this](const task_summary& record) {
    auto task = parse_task_id(record.key);
    if (!task)
      return;
    entry fresh{record.id, *task, record.queue};
    fresh.is_found = true;
    take_up(std::move(fresh));
  };
  walk_.start(
    desk, webhooks_tenant, "webhooks", {found, [this](shard_id shard) { leave(shard); }, true});
}

void webhook_desk::leave(shard_id shard) {
  auto begin = numbers_.lower_bound({shard, 0});
  auto end = numbers_.upper_bound({shard, std::numeric_limits<sequence>::max()});
  std::vector<std::uint64_t> left;
  // A delivery that is under way closes its record where that is now.
  for (auto at = begin; at != end; ++at)
    if (!flights_.contains(at->second))
      left.push_back(at->second);
  for (auto number : left)
    remove(number);
}

void webhook_desk::remove(std::uint64_t number) {
  auto gone = open_.extract(number);
  numbers_.erase(gone.mapped().record);
  places_.give_back(gone.mapped().tenant);
}

result<void> webhook_desk::check(const std::string& tenant, const std::string& url) const {
  if (auto ok = check_callback_url(options_, "invalid webhook url", "webhook", url); !ok)
    return ok;
  if (places_.has_room(tenant))
    return {};
  desk_->meter().note({"webhooks_open_max", limits::webhooks_open_max, "tenant", tenant});
  return error{
    errc::overloaded,
    "tenant " + tenant + " has " + std::to_string(places_.used_by(tenant))
      + " webhooks that are not delivered yet; all tenants share "
      + std::to_string(limits::webhooks_open_max)};
}

enqueue_ticket webhook_desk::add(
  task_id task,
  const std::string& tenant,
  const std::string& url,
  std::function<void(result<void>)> done) {
  auto parsed = parse_url(url);
  auto host = parsed ? std::move(parsed->host) : std::string();
  auto taken = [this, task, tenant, host = std::move(host), done = std::move(done)](
                 const result<enqueued_task>& added) {
    if (!added)
      return done(unstored(added.error()));
    // A record that existed before is known already, or was delivered.
    if (added->kind == enqueue_kind::created)
      take_up({added->id, task, tenant, host});
    done({});
  };
  return desk_->enqueue(tenant, webhook_record_of(task, tenant, url), std::move(taken));
}

void webhook_desk::renew(const std::string& tenant, task_id task) {
  if (options_.send)
    look_for(tenant, task, false);
}

void webhook_desk::look_for(const std::string& tenant, task_id task, bool is_last) {
  if (stopped_)
    return;
  auto found = [this, tenant, task, is_last](const result<task_detail>& record) {
    bool has_none = !record && record.error().code == errc::unknown_task;
    if (has_none || stopped_)
      return;
    if (!record)
      desk_->after(limits::webhook_retry_min, [this, tenant, task, is_last] {
        look_for(tenant, task, is_last);
      });
    else if (!reopen({record->status.id, task, tenant}, record->status.state) && !is_last)
      // Its delivery may tell the end before the redrive; it is over then.
      desk_->after(
        limits::webhook_timeout, [this, tenant, task] { look_for(tenant, task, true); });
  };
  task_key key{{webhooks_tenant, tenant}, {}, to_string(task)};
  desk_->describe(client::address_of(key, desk_->shard_count()), std::move(found));
}

bool webhook_desk::reopen(const entry& fresh, task_state state) {
  if (auto at = numbers_.find(fresh.record); at != numbers_.end()) {
    open_.at(at->second).is_redriven = true;
    return true;
  }
  if (state != task_state::dead)
    return is_terminal(state);
  auto reopened = [this, fresh](const result<change_outcome>& outcome) {
    if (outcome && outcome->what == change_result::changed)
      return take_up(fresh);
    bool is_lost = !outcome && outcome.error().code != errc::unknown_task;
    if (is_lost && !stopped_)
      desk_->after(
        limits::webhook_retry_min, [this, fresh] { look_for(fresh.tenant, fresh.task, false); });
  };
  desk_->ask<change_outcome>(
    value(fresh.record.shard),
    client::ask_change({fresh.record, {}}, task_change::redrive),
    &client::read_change,
    shard_desk::then<change_outcome>(std::move(reopened)));
  return true;
}

void webhook_desk::take_up(entry fresh) {
  if (numbers_.contains(fresh.record))
    return;
  auto number = ++last_number_;
  numbers_.emplace(fresh.record, number);
  places_.force(fresh.tenant);
  open_.emplace(number, std::move(fresh));
  wait_for_end(number);
}

void webhook_desk::wait_for_end(std::uint64_t number) {
  auto at = open_.find(number);
  if (at == open_.end() || stopped_)
    return;
  auto ended = [this, number](const result<ended_task>& how) {
    if (how)
      return this->ended(number);
    if (how.error().code == errc::unknown_task)
      return close(number, force_kind::complete, {});
    // The desk began a new session; the task may have ended meanwhile.
    if (!stopped_)
      desk_->after(limits::webhook_retry_min, [this, number] { wait_for_end(number); });
  };
  desk_->watch(at->second.task, std::nullopt, std::move(ended));
}

void webhook_desk::ended(std::uint64_t number) {
  auto at = open_.find(number);
  auto may_be_twice = at != open_.end() && at->second.is_found && desk_->is_in_cluster();
  if (!may_be_twice || stopped_)
    return deliver(number);
  desk_->after(limits::webhook_takeover_pause, [this, number] { deliver(number); });
}

void webhook_desk::deliver(std::uint64_t number) {
  auto at = open_.find(number);
  if (at == open_.end() || stopped_)
    return;
  const auto& tenant = at->second.tenant;
  const auto& host = at->second.host;
  if (host.empty())
    return find_host(number);
  due_.add({tenant, host, number});
  send_next();
  if (open_.contains(number) && !flights_.contains(number))
    desk_->meter().note({"webhook_flights_max", limits::webhook_flights_max, "tenant", tenant});
}

void webhook_desk::find_host(std::uint64_t number) {
  auto found = [this, number](const result<task_detail>& record) {
    auto at = open_.find(number);
    if (at == open_.end())
      return;
    auto url = parse_url(url_in(record));
    at->second.host = url ? url->host : unknown_host;
    deliver(number);
  };
  desk_->describe_with_body(shard_desk::own_reads, {open_.at(number).record, {}}, std::move(found));
}

void webhook_desk::send_next() {
  while (auto next = stopped_ ? std::nullopt : due_.start_next()) {
    auto number = next->number;
    auto at = open_.find(number);
    if (at == open_.end()) {
      due_.end(*next);
      continue;
    }
    flights_.emplace(number, std::move(*next));
    at->second.is_redriven = false;
    auto with_url = [this, number, task = at->second.task](const result<task_detail>& record) {
      if (is_delivered(record))
        return drop(number);
      if (!record)
        return fail_read(number, record.error());
      auto with_task = [this, number, url = url_in(record)](const result<task_detail>& found) {
        if (!found)
          return read(number, found, url);
        add_last_change(*desk_, *found, [this, number, url](const task_detail& whole) {
          read(number, whole, url);
        });
      };
      desk_->describe({task, {}}, std::move(with_task));
    };
    desk_->describe_with_body(shard_desk::own_reads, {at->second.record, {}}, std::move(with_url));
  }
}

void webhook_desk::fail_read(std::uint64_t number, const error& why) {
  finish_sending(number);
  retry(number, "the webhook's record cannot be read: " + to_string(why));
}

void webhook_desk::read(
  std::uint64_t number, const result<task_detail>& task, const std::string& url) {
  if (task && is_terminal(task->status.state) && !url.empty())
    return send(number, *task, url);
  finish_sending(number);
  bool is_lost = !task && task.error().code == errc::unknown_task;
  if (is_lost)
    return close(number, force_kind::fail, "the task is past its retention, or was purged");
  // A dead task that was redriven meanwhile is live again; its next end counts.
  if (task && !is_terminal(task->status.state))
    return wait_for_end(number);
  retry(number, task ? "the webhook's record has no URL" : task.error().context);
}

void webhook_desk::send(std::uint64_t number, const task_detail& task, const std::string& url) {
  auto parsed = parse_url(url);
  if (!parsed) {
    finish_sending(number);
    return close(number, force_kind::fail, parsed.error().context);
  }
  if (auto at = open_.find(number); at != open_.end())
    at->second.told = task.status.state;
  outgoing_request request;
  request.url = std::move(*parsed);
  request.method = "POST";
  request.body = webhook_body(task);
  request.fields = {{"Content-Type", "application/json"}};
  if (!options_.secret.empty())
    request.fields = signature_fields(options_.secret, options_.wall_time(), request.body);
  request.timeout = limits::webhook_timeout;
  request.public_only = !options_.allow_private;
  const auto& tenant = flights_.at(number).tenant;
  options_.send(tenant, std::move(request), [post = post_, number](result<outgoing_answer> answer) {
    post(number, std::move(answer));
  });
}

void webhook_desk::finish_sending(std::uint64_t number) {
  if (auto over = flights_.extract(number); !over.empty())
    due_.end(over.mapped());
  send_next();
}

void webhook_desk::drop(std::uint64_t number) {
  finish_sending(number);
  if (open_.contains(number))
    remove(number);
}

void webhook_desk::answered(std::uint64_t number, const result<outgoing_answer>& answer) {
  finish_sending(number);
  bool is_taken = answer ? answer->status >= first_success && answer->status < first_other : false;
  if (is_taken)
    return close_told(number);
  retry(number, answer ? "HTTP " + std::to_string(answer->status) : to_string(answer.error()));
}

void webhook_desk::retry(std::uint64_t number, const std::string& why) {
  auto at = open_.find(number);
  if (at == open_.end() || stopped_)
    return;
  if (++at->second.attempts >= limits::webhook_attempts_max) {
    CODEQ_LOG_WARN(
      "gateway gives a webhook up task={} reason=\"{}\"", to_string(at->second.task), why);
    return close(number, force_kind::fail, why);
  }
  auto pause = pause_before_next(at->second.attempts);
  log_failure(at->second, pause, why);
  desk_->after(pause, [this, number] { deliver(number); });
}

void webhook_desk::log_failure(const entry& failed, duration pause, const std::string& why) {
  const observe::line_pace::time_point now{desk_->steady_now().time_since_epoch()};
  if (auto left_out = failure_lines_.take(failed.tenant, now))
    CODEQ_LOG_WARN(
      "gateway cannot deliver a webhook task={} tenant={} host={} attempt={} retry_ms={} "
      "left_out={} reason=\"{}\"",
      to_string(failed.task),
      failed.tenant,
      failed.host,
      failed.attempts,
      pause.count(),
      *left_out,
      why);
}

void webhook_desk::close_told(std::uint64_t number) {
  auto at = open_.find(number);
  if (at == open_.end())
    return;
  if (at->second.is_redriven) {
    at->second.attempts = 0;
    return wait_for_end(number);
  }
  if (at->second.told == task_state::dead)
    return close(number, force_kind::fail, death_is_told);
  close(number, force_kind::complete, {});
}

void webhook_desk::close(std::uint64_t number, force_kind how, const std::string& why) {
  auto at = open_.find(number);
  if (at == open_.end())
    return;
  auto record = at->second.record;
  remove(number);
  // If this change is lost, the webhook is delivered once more after a restart.
  desk_->ask<change_outcome>(
    value(record.shard),
    client::ask_force(record, how, why),
    &client::read_change,
    shard_desk::then<change_outcome>([](const result<change_outcome>&) {}));
}

} // namespace codeq::http
