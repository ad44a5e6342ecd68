// SPDX-License-Identifier: Apache-2.0
#include "testing/testbed_state.hpp"

#include "codeq/limits.hpp"

#include "protocol/convert.hpp"
#include "worker/handlers/batch_handler.hpp"
#include "worker/handlers/call_handler.hpp"
#include "worker/node/report.hpp"
#include "worker/node/wire.hpp"

#include <algorithm>
#include <utility>

namespace codeq::testing {

testbed::impl::impl(const handler_registry& registry, std::size_t slot_count)
  : slots(slot_count),
    actors([this](fencing_token token, outcome answer) { finish(token, std::move(answer)); }) {
  for (const auto& handler : registry.entries())
    handlers.emplace(handler.queue, handler);
  connect();
}

void testbed::impl::connect() {
  std::vector<std::string> queues;
  for (const auto& [queue, handler] : handlers)
    queues.push_back(queue);
  shard.connect(queues, slots);
}

void testbed::impl::settle() {
  hear();
  while (start_next() || actors.run())
    hear();
}

void testbed::impl::hear() {
  auto said = shard.take_said();
  for (const auto& batch : said.tasks) {
    auto read = worker::read_task_batch(batch);
    for (auto& attempt : read.value().tasks)
      waiting.push_back(std::move(attempt));
  }
  for (const auto& lease : said.to_stop)
    stop(lease);
  for (const auto& lease : said.lost)
    lose(lease.token);
  hear_answers(said.answers);
}

bool testbed::impl::forget_waiting(fencing_token token) {
  if (std::erase_if(waiting, [&](const task& attempt) { return attempt.token == token; }) == 0)
    return false;
  shard.claim(1);
  return true;
}

void testbed::impl::stop(const core::task_lease& lease) {
  if (auto at = running_attempts.find(lease.token); at != running_attempts.end()) {
    at->second.cancelled = true;
    at->second.cancel->request();
  } else if (forget_waiting(lease.token)) {
    auto unstarted = worker::make_unstarted({0, shard_id{}, lease.token}, lease.seq);
    unstarted.what = disposition::cancelled;
    shard.report(worker::make_results({shard_id{}, {&unstarted}}));
  }
}

void testbed::impl::lose(fencing_token token) {
  if (auto at = running_attempts.find(token); at != running_attempts.end())
    at->second.cancel->request();
  else
    forget_waiting(token);
}

void testbed::impl::hear_answers(const std::vector<core::report_answer>& answers) {
  for (const auto& answer : answers)
    if (auto at = places.find(answer.token); at != places.end())
      attempts.at(at->second).accepted = answer.code == errc::none;
}

bool testbed::impl::start_next() {
  auto next = std::find_if(waiting.begin(), waiting.end(), [this](const task& attempt) {
    return actors.may_start(handlers.at(attempt.queue), attempt);
  });
  if (next == waiting.end())
    return false;
  auto attempt = std::move(*next);
  waiting.erase(next);
  start(std::move(attempt));
  return true;
}

task testbed::impl::prepare(task attempt) {
  running made;
  made.seq = attempt.id.seq;
  made.queue = attempt.queue;
  made.place = attempts.size();
  made.lease = attempt.lease;
  made.cancel = attempt.cancel;
  auto token = attempt.token;
  made.runtime = std::make_shared<said_runtime>(said_runtime::hearer{
    [this, token] { return remaining(token); },
    [this, token](duration extend) { hear_progress(token, extend); },
    [this, token](const std::string& state) { return save(token, state); }});
  attempt.runtime = made.runtime;
  if (auto& coming = mishaps[attempt.queue]; !coming.empty()) {
    made.coming = coming.front();
    coming.pop_front();
  }
  attempts.push_back({attempt.id, attempt.attempt, token, shard.now().shard, {}, false, {}});
  places[token] = made.place;
  bool is_to_cancel = made.coming == mishap::cancel;
  running_attempts.emplace(token, std::move(made));
  if (is_to_cancel) {
    shard.cancel(attempt.id.seq);
    hear();
  }
  return attempt;
}

void testbed::impl::hear_progress(fencing_token token, duration extend) {
  auto at = running_attempts.find(token);
  if (at != running_attempts.end() && !at->second.is_silent)
    shard.beat({at->second.seq, token, false, true, extend});
}

bool testbed::impl::save(fencing_token token, const std::string& state) {
  auto at = running_attempts.find(token);
  if (at == running_attempts.end() || at->second.is_silent)
    return false;
  auto& running = at->second;
  hear_progress(token, duration{0});
  return shard.save({running.seq, {token, ++running.checkpoints}, bytes::from(state)});
}

duration testbed::impl::remaining(fencing_token token) {
  auto at = running_attempts.find(token);
  if (at == running_attempts.end() || !shard.is_live(token))
    return duration{0};
  return std::max(shard.deadline_of(token) - shard.now().steady, duration{0});
}

void testbed::impl::start(task attempt) {
  const auto& handler = handlers.at(attempt.queue);
  if (handler.batch)
    return start_batch(handler, std::move(attempt));
  auto prepared = prepare(std::move(attempt));
  if (handler.function)
    finish(prepared.token, worker::call_handler(handler.function, prepared));
  else
    actors.start(handler, prepared);
}

void testbed::impl::start_batch(const handler_registry::entry& handler, task first) {
  std::vector<task> together;
  together.push_back(prepare(std::move(first)));
  for (auto at = waiting.begin(); at != waiting.end() && together.size() < handler.batch_max;) {
    if (at->queue != handler.queue) {
      ++at;
      continue;
    }
    auto next = std::move(*at);
    waiting.erase(at);
    together.push_back(prepare(std::move(next)));
    // What was heard meanwhile may have been added to what waits.
    at = waiting.begin();
  }
  auto answers = worker::call_batch(handler.batch, together);
  for (std::size_t i = 0; i < together.size(); ++i)
    finish(together[i].token, std::move(answers[i]));
}

void testbed::impl::finish(fencing_token token, outcome answer) {
  auto at = running_attempts.find(token);
  if (at == running_attempts.end())
    return;
  auto& seen = attempts.at(at->second.place);
  seen.answer = answer;
  seen.said = at->second.runtime->said();
  if (at->second.coming == mishap::crash)
    return crash();
  if (at->second.coming == mishap::lost_lease)
    expire(at->second, token);
  auto ended = std::move(running_attempts.extract(token).mapped());
  send_report(token, ended, std::move(answer));
  shard.claim(1);
}

void testbed::impl::send_report(fencing_token token, const running& ended, outcome answer) {
  worker::held_lease lease;
  lease.seq = ended.seq;
  lease.phase = worker::lease_phase::running;
  lease.stop = ended.cancelled ? worker::stop_cause::cancelled : worker::stop_cause::none;
  auto made = worker::make_report({0, shard_id{}, token}, lease, std::move(answer));
  shard.report(worker::make_results({shard_id{}, {&made}}));
  hear();
  const auto& seen = attempts.at(ended.place);
  if (seen.accepted || made.what != disposition::completed)
    return;
  // Refused for what it carries, the lease stands: a node reports a failure instead.
  auto* read = shard.refusal_of(token);
  if (read == nullptr)
    return;
  worker::fail_for_follow_ups(made, *read);
  shard.report(worker::make_results({shard_id{}, {&made}}));
  hear();
}

void testbed::impl::expire(running& gone, fencing_token token) {
  gone.is_silent = true;
  // In steps, so that the others are beaten on the way.
  while (shard.is_live(token)) {
    auto left = std::max(shard.deadline_of(token) - shard.now().steady, duration{1});
    step(std::clamp(next_event().value_or(left), duration{1}, left));
    hear();
  }
}

void testbed::impl::crash() {
  for (auto& [token, gone] : std::exchange(running_attempts, {}))
    gone.cancel->request();
  waiting.clear();
  actors.stop();
  connect();
}

void testbed::impl::beat_all() {
  for (const auto& [token, attempt] : running_attempts)
    if (!attempt.is_silent)
      shard.beat({attempt.seq, token});
  for (const auto& attempt : waiting)
    shard.beat({attempt.id.seq, attempt.token, true});
}

void testbed::impl::step(duration by) {
  beat_all();
  shard.advance(by);
  actors.advance(by);
}

std::optional<duration> testbed::impl::next_event() {
  auto next = shard.next_event();
  auto sooner = [&](duration wait) { next = next ? std::min(*next, wait) : wait; };
  if (auto wait = actors.next_event())
    sooner(*wait);
  for (const auto& [token, attempt] : running_attempts)
    sooner(attempt.lease / 4);
  for (const auto& attempt : waiting)
    sooner(attempt.lease / 4);
  return next;
}

void testbed::impl::advance(duration by) {
  settle();
  for (auto left = by; left > duration{0};) {
    auto next = std::clamp(next_event().value_or(left), duration{1}, left);
    step(next);
    settle();
    left -= next;
  }
}

testbed::impl::running* testbed::impl::find(task_id task, fencing_token* token) {
  for (auto& [held, attempt] : running_attempts)
    if (attempt.seq == task.seq) {
      if (token != nullptr)
        *token = held;
      return &attempt;
    }
  return nullptr;
}

} // namespace codeq::testing
