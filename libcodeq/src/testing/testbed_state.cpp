// SPDX-License-Identifier: Apache-2.0
#include "testing/testbed_state.hpp"

#include "codeq/limits.hpp"

#include "base/queue_pattern.hpp"
#include "observe/log.hpp"
#include "worker/handlers/batch_handler.hpp"
#include "worker/handlers/call_handler.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace codeq::testing {

testbed::impl::impl(const handler_registry& registry, const testbed_options& given)
  : options(given),
    loop(given.start),
    shard(loop),
    actors(
      {[this](worker::handler_number handler, outcome answer) {
         calls.push_back(
           [this, handler, answer = std::move(answer)] { finish(handler, {answer}); });
       },
       [this](worker::handler_number handler, const outcome& answer) {
         calls.push_back([this, handler, answer] { end(handler, answer); });
       }}) {
  for (const auto& handler : registry.entries())
    handlers.emplace(handler.queue, handler);
  connect();
}

task_spec testbed::impl::with_tenant(task_spec spec) const {
  if (spec.tenant.empty())
    spec.tenant = options.tenant;
  return spec;
}

bool testbed::impl::has_handler(const std::string& queue) const {
  return std::any_of(handlers.begin(), handlers.end(), [&](const auto& handler) {
    auto pattern = base::queue_pattern::parse(handler.first);
    return pattern && pattern->matches(queue);
  });
}

void testbed::impl::warn_of_missing_handler(const queue_address& queue) {
  bool is_own = queue.tenant == options.tenant;
  bool runs = handlers.empty() || (is_own && has_handler(queue.queue));
  if (runs || !missing_handlers.insert(queue).second)
    return;
  if (!is_own) {
    CODEQ_LOG_WARN(
      "testbed runs the tasks of another tenant, so those of this one stay ready; see "
      "testbed_options::tenant tenant={} queue={} runs={}",
      queue.tenant,
      queue.queue,
      options.tenant);
    return;
  }
  std::string registered;
  for (const auto& [name, handler] : handlers)
    registered += (registered.empty() ? "" : ", ") + name;
  CODEQ_LOG_WARN(
    "testbed has no handler for a queue, so its tasks stay ready queue={} registered=\"{}\"",
    queue.queue,
    registered);
}

void testbed::impl::connect() {
  std::vector<worker::served_queue> served;
  for (const auto& [queue, each] : handlers)
    served.push_back(worker::served_by(each));
  worker_identity identity{"testbed", ++incarnation};
  auto slots = std::min(options.slots, limits::slots_max);
  worker = std::make_shared<test_worker>(test_worker::parts{
    loop, shard, *this, identity, options.tenant, std::move(served), slots});
  worker->connect();
}

void testbed::impl::settle() {
  loop.run();
  while (call_next() || actors.run())
    loop.run();
}

bool testbed::impl::call_next() {
  if (calls.empty())
    return false;
  auto next = std::move(calls.front());
  calls.pop_front();
  next();
  return true;
}

worker::handler_number
testbed::impl::start_handler(const std::string& queue, const std::string& group) {
  started_handlers.emplace(++last_handler, started{&handlers.at(queue), group, {}});
  return last_handler;
}

void testbed::impl::run(worker::handler_number handler, std::vector<task> attempts) {
  calls.push_back([this, handler, attempts = std::move(attempts)] { start(handler, attempts); });
}

void testbed::impl::stop_handler(worker::handler_number handler) {
  started_handlers.erase(handler);
  actors.stop(handler);
}

void testbed::impl::report_answered(fencing_token token, errc code) {
  if (auto at = places.find(token); at != places.end())
    attempts.at(at->second).accepted = code == errc::none;
}

void testbed::impl::start(worker::handler_number handler, std::vector<task> together) {
  auto& starting = started_handlers.at(handler);
  const auto& entry = *starting.entry;
  for (auto& attempt : together) {
    starting.tokens.push_back(attempt.token);
    prepare(attempt);
  }
  const auto& first = together.front();
  if (const auto* batch = std::get_if<handler_registry::batch>(&entry.handler))
    return finish(handler, worker::call_batch(batch->function, together));
  if (const auto* function = std::get_if<handler_function>(&entry.handler))
    return finish(handler, {worker::call_handler(*function, first)});
  if (!actors.contains(handler))
    actors.start(
      handler, *std::get<handler_registry::actors>(entry.handler).factory, starting.group);
  actors.run(handler, first);
}

void testbed::impl::prepare(task& attempt) {
  auto token = attempt.token;
  running made;
  made.seq = attempt.id.seq;
  made.place = attempts.size();
  made.cancel = attempt.cancel;
  made.runtime = std::make_shared<said_runtime>(said_runtime::hearer{
    [this, token] {
      bool is_running = running_attempts.contains(token);
      return is_running ? shard.remaining(token).value_or(duration{0}) : duration{0};
    },
    attempt.runtime,
    [this] {
      worker->take_news();
      loop.run();
    }});
  attempt.runtime = made.runtime;
  if (auto& coming = mishaps[attempt.queue]; !coming.empty()) {
    made.coming = coming.front();
    coming.pop_front();
  }
  attempts.push_back({attempt.id, attempt.attempt, token, loop.now().shard, {}, false, {}});
  places[token] = made.place;
  bool is_to_cancel = made.coming == mishap::cancel;
  running_attempts.emplace(token, std::move(made));
  if (is_to_cancel) {
    shard.cancel(attempt.id.seq);
    loop.run();
  }
}

void testbed::impl::finish(worker::handler_number handler, std::vector<outcome> answers) {
  if (take_answers(handler, answers))
    worker->take_outcomes(handler, std::move(answers));
}

void testbed::impl::end(worker::handler_number handler, const outcome& answer) {
  if (!take_answers(handler, {answer}))
    return;
  started_handlers.erase(handler);
  worker->take_handler_end(handler, answer);
}

bool testbed::impl::take_answers(
  worker::handler_number handler, const std::vector<outcome>& answers) {
  auto at = started_handlers.find(handler);
  if (at == started_handlers.end())
    return false;
  auto tokens = std::exchange(at->second.tokens, {});
  bool is_crash = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto& ended = running_attempts.at(tokens[i]);
    auto& seen = attempts.at(ended.place);
    seen.answer = answers[i];
    seen.said = ended.runtime->said();
    is_crash = is_crash || ended.coming == mishap::crash;
  }
  if (is_crash) {
    crash();
    return false;
  }
  for (auto token : tokens)
    if (running_attempts.at(token).coming == mishap::lost_lease)
      expire(token);
  for (auto token : tokens)
    running_attempts.erase(token);
  return true;
}

void testbed::impl::expire(fencing_token token) {
  shard.silence(token);
  // In steps, so that the heartbeats of the other leases are sent.
  while (auto left = shard.remaining(token)) {
    step(std::clamp(next_event().value_or(*left), duration{1}, std::max(*left, duration{1})));
    loop.run();
  }
}

void testbed::impl::update_said() {
  for (const auto& [token, each] : running_attempts)
    attempts.at(each.place).said = each.runtime->said();
}

void testbed::impl::crash() {
  update_said();
  for (auto& [token, gone] : std::exchange(running_attempts, {}))
    gone.cancel->request();
  calls.clear();
  started_handlers.clear();
  actors.stop();
  connect();
}

void testbed::impl::step(duration by) {
  shard.begin_retention();
  loop.advance(by);
  actors.advance(by);
}

std::optional<duration> testbed::impl::next_event() const {
  auto next = loop.next_event();
  if (auto wait = actors.next_event())
    next = next ? std::min(*next, *wait) : wait;
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

std::optional<fencing_token> testbed::impl::find(task_id task) const {
  for (const auto& [token, attempt] : running_attempts)
    if (attempt.seq == task.seq)
      return token;
  return std::nullopt;
}

} // namespace codeq::testing
