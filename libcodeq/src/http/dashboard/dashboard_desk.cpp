// SPDX-License-Identifier: Apache-2.0
#include "http/dashboard/dashboard_desk.hpp"

#include "base/rfc3339.hpp"
#include "base/text_encoding.hpp"

#include <algorithm>
#include <utility>

namespace codeq::http {

namespace {

/// The ticks between two checks of the tokens of streams.
constexpr std::uint64_t ticks_per_check = 10;

/// Appends an event to a text.
void append_event(std::string& text, std::string_view name, const std::string& json) {
  text.append("event: ").append(name).append("\ndata: ").append(json).append("\n\n");
}

std::string queues_text(timestamp now, const queue_rows& rows, const queue_rows* before) {
  base::json_writer json;
  json.begin_object().field("at", base::to_rfc3339(now));
  write_rows(json, rows, before);
  json.end_object();
  std::string text;
  append_event(text, "queues", json.take());
  return text;
}

std::string workers_text(
  timestamp now, const std::vector<base::worker_counts>& workers, const caller& by) {
  base::json_writer json;
  json.begin_object().field("at", base::to_rfc3339(now));
  write_workers(json, workers, by);
  json.end_object();
  std::string text;
  append_event(text, "workers", json.take());
  return text;
}

std::string progress_text(timestamp now, const task_progress& p) {
  base::json_writer json;
  json.begin_object()
    .field("at", base::to_rfc3339(now))
    .field("attempt", p.attempt)
    .field("percent", p.percent)
    .field("note", base::is_utf8(p.note) ? p.note : std::string())
    .end_object();
  std::string text;
  append_event(text, "progress", json.take());
  return text;
}

std::string end_text(timestamp now, const ended_task& task) {
  base::json_writer json;
  json.begin_object()
    .field("at", base::to_rfc3339(now))
    .field("attempt", task.attempt)
    .field("state", to_string(task.state))
    .end_object();
  std::string text;
  append_event(text, "end", json.take());
  return text;
}

} // namespace

response event_answer(std::shared_ptr<event_stream> events) {
  response answer;
  answer.content_type = "text/event-stream";
  answer.fields = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  answer.events = std::move(events);
  return answer;
}

void dashboard_desk::start(shard_desk& desk, authenticate who) {
  desk_ = &desk;
  who_ = std::move(who);
  arm();
}

void dashboard_desk::stop() {
  stopped_ = true;
  for (auto& one : subscriptions_)
    one.events->end();
  subscriptions_.clear();
}

result<std::shared_ptr<event_stream>> dashboard_desk::subscribe(
  std::shared_ptr<const caller> by, std::string bearer, unsigned parts) {
  subscription made;
  made.by = std::move(by);
  made.bearer = std::move(bearer);
  made.parts = parts;
  auto opened = open(std::move(made));
  if (opened)
    hurry();
  return opened;
}

result<std::shared_ptr<event_stream>>
dashboard_desk::follow(std::shared_ptr<const caller> by, std::string bearer, task_id task) {
  subscription made;
  made.by = std::move(by);
  made.bearer = std::move(bearer);
  auto opened = open(std::move(made));
  if (!opened)
    return opened;
  auto events = *opened;
  auto ended = [this, events](const result<ended_task>& how) {
    // A stream that ends without this event ended for another reason, and may be opened again.
    if (how)
      events->send({nullptr, std::make_shared<const std::string>(end_text(desk_->now(), *how))});
    events->end();
  };
  auto progressed = [this, events](const task_progress& p) {
    events->send({nullptr, std::make_shared<const std::string>(progress_text(desk_->now(), p))});
  };
  subscriptions_.back().watch = desk_->watch(task, std::nullopt, ended, progressed);
  return events;
}

result<std::shared_ptr<event_stream>> dashboard_desk::open(subscription made) {
  drop_closed();
  const auto& tenant = made.by->tenant;
  if (!places_.take(tenant)) {
    desk_->meter().note({"live_streams_max", limits::live_streams_max, "tenant", tenant});
    return error{
      errc::overloaded,
      "tenant " + tenant + " has " + std::to_string(places_.used_by(tenant))
        + " live streams; all tenants share " + std::to_string(limits::live_streams_max)};
  }
  made.events = std::make_shared<event_stream>();
  subscriptions_.push_back(std::move(made));
  return subscriptions_.back().events;
}

void dashboard_desk::arm() {
  desk_->after(limits::live_period, [this] {
    if (stopped_)
      return;
    tick();
    arm();
  });
}

void dashboard_desk::hurry() {
  if (std::exchange(hurries_, true))
    return;
  auto due = ticked_at_ + limits::live_pause_min;
  desk_->after(std::max(duration{0}, due - desk_->steady_now()), [this] {
    hurries_ = false;
    if (!stopped_)
      tick();
  });
}

void dashboard_desk::drop_closed() {
  bool checks_tokens = ticks_ % ticks_per_check == 0;
  for (auto at = subscriptions_.begin(); at != subscriptions_.end();) {
    bool is_valid = !checks_tokens || !who_ || who_(at->bearer);
    if (at->events->is_open() && is_valid) {
      ++at;
      continue;
    }
    at->events->end();
    desk_->unwatch(at->watch);
    places_.give_back(at->by->tenant);
    at = subscriptions_.erase(at);
  }
}

void dashboard_desk::tick() {
  ++ticks_;
  ticked_at_ = desk_->steady_now();
  drop_closed();
  if (subscriptions_.empty())
    rows_.clear();
  bool is_due = !recorded_at_ || desk_->steady_now() - *recorded_at_ >= limits::history_step;
  bool is_watched = std::any_of(
    subscriptions_.begin(), subscriptions_.end(), [](const auto& one) { return one.parts != 0; });
  if (is_asking_ || (!is_due && !is_watched))
    return;
  is_asking_ = true;
  desk_->stats([this, is_due](const shard_desk::stats_result& stats) {
    is_asking_ = false;
    if (stopped_ || !stats)
      return;
    if (is_due) {
      recorded_at_ = desk_->steady_now();
      history_.take(*stats, desk_->now());
    }
    ask_workers(*stats);
  });
}

void dashboard_desk::ask_workers(const base::coordinator_counts& stats) {
  bool is_wanted = std::any_of(subscriptions_.begin(), subscriptions_.end(), [](const auto& one) {
    return (one.parts & live_workers) != 0;
  });
  if (!is_wanted)
    return publish(stats, {});
  is_asking_ = true;
  desk_->workers([this, stats](const shard_desk::workers_result& workers) {
    is_asking_ = false;
    if (!stopped_ && workers)
      publish(stats, workers->workers);
  });
}

void dashboard_desk::publish(
  const base::coordinator_counts& stats, const std::vector<base::worker_counts>& workers) {
  std::map<audience, live_event> made;
  for (auto& one : subscriptions_) {
    if (one.parts == 0)
      continue;
    audience key{one.by->tenant, one.by->sees_all_tenants, one.parts};
    auto [at, is_new] = made.try_emplace(key);
    if (is_new)
      at->second = make_event(one, stats, workers);
    auto event = at->second;
    if (std::exchange(one.is_new, false))
      event.change = nullptr;
    one.events->send(std::move(event));
  }
  std::map<std::string, queue_rows> rows;
  for (const auto& one : subscriptions_)
    if (!rows.contains(one.by->tenant))
      rows.emplace(one.by->tenant, rows_of(stats, one.by->tenant, desk_->now()));
  rows_ = std::move(rows);
}

live_event dashboard_desk::make_event(
  const subscription& to,
  const base::coordinator_counts& stats,
  const std::vector<base::worker_counts>& workers) {
  std::string change;
  std::string whole;
  auto before = rows_.find(to.by->tenant);
  if (to.parts & live_queues) {
    auto rows = rows_of(stats, to.by->tenant, desk_->now());
    whole = queues_text(desk_->now(), rows, nullptr);
    if (before != rows_.end())
      change = queues_text(desk_->now(), rows, &before->second);
  }
  if (to.parts & live_workers) {
    auto text = workers_text(desk_->now(), workers, *to.by);
    whole += text;
    change += change.empty() ? "" : text;
  }
  live_event event;
  event.whole = std::make_shared<const std::string>(std::move(whole));
  if (!change.empty())
    event.change = std::make_shared<const std::string>(std::move(change));
  return event;
}

} // namespace codeq::http
