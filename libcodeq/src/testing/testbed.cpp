// SPDX-License-Identifier: Apache-2.0
#include "codeq/testing.hpp"

#include "testing/operator_requests.hpp"
#include "testing/testbed_state.hpp"
#include "worker/host/handler_set.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

namespace codeq::testing {

namespace {

/// The handlers, if a node would start with them.
const handler_registry& checked(const handler_registry& handlers) {
  // A test of a producer may have none. The program stands for the one of isolated handlers.
  auto all = worker::handler_set::load({handlers, {}, {}, "codeq-worker"});
  auto chosen = all ? all->choose({}) : all.error();
  if (!handlers.entries().empty() && !chosen)
    throw std::invalid_argument("testbed: " + chosen.error().context);
  return handlers;
}

const testbed_options& checked(const testbed_options& options) {
  using std::chrono::sys_days;
  if (!is_valid_name(options.tenant))
    throw std::invalid_argument(
      "testbed: tenant is `" + options.tenant + "`; it must match [A-Za-z0-9._-]{1,128}");
  sys_days begin(std::chrono::year(2000) / 1 / 1);
  sys_days end(std::chrono::year(2100) / 1 / 1);
  auto start = options.start.time_since_epoch();
  if (start < begin.time_since_epoch() || start >= end.time_since_epoch())
    throw std::invalid_argument(
      "testbed: start is " + std::to_string(start.count())
      + " ms since 1970; it must be in the years 2000 to 2099");
  return options;
}

} // namespace

testbed::testbed(const handler_registry& handlers, const testbed_options& options)
  : impl_(std::make_unique<impl>(checked(handlers), checked(options))) {
}

testbed::~testbed() = default;

result<enqueued_task> testbed::enqueue(const task_spec& spec) {
  auto wanted = impl_->with_tenant(spec);
  auto made = impl_->shard.enqueue(wanted);
  if (made)
    impl_->warn_of_missing_handler({wanted.tenant, wanted.queue});
  impl_->settle();
  return made;
}

result<limit_info>
testbed::set_limit(const std::string& name, const limit_definition& definition) {
  auto answered = impl_->shard.set_limit({impl_->options.tenant, name}, definition);
  impl_->settle();
  return answered;
}

result<queue_info>
testbed::configure_queue(const std::string& queue, const queue_config& config) {
  auto answered =
    testing::configure_queue(impl_->shard, {impl_->options.tenant, queue}, config);
  impl_->settle();
  return answered;
}

result<schedule_answer>
testbed::set_schedule(const std::string& name, const schedule_spec& spec) {
  auto wanted = spec;
  wanted.task = impl_->with_tenant(spec.task);
  auto answered = impl_->shard.set_schedule({wanted.task.tenant, name}, wanted);
  impl_->settle();
  return answered;
}

result<schedule_answer>
testbed::change_schedule(const std::string& name, schedule_action what) {
  auto answered = impl_->shard.change_schedule(name, what);
  impl_->settle();
  return answered;
}

result<std::vector<schedule_occurrence>> testbed::occurrences(const std::string& name) {
  return impl_->shard.occurrences(name);
}

void testbed::advance(duration by) {
  impl_->advance(by);
}

timestamp testbed::now() const {
  return impl_->loop.now().shard;
}

result<task_status> testbed::status(task_id task) {
  return impl_->shard.status(task.seq);
}

result<task_explanation> testbed::explain(task_id task) {
  return explain_task(impl_->shard, task);
}

std::vector<task_status> testbed::tasks(const std::string& queue) {
  std::vector<task_status> found;
  for (auto seq : impl_->shard.tasks_of(queue))
    if (auto status = impl_->shard.status(seq))
      found.push_back(std::move(*status));
  return found;
}

const std::vector<attempt_seen>& testbed::attempts() const {
  impl_->update_said();
  return impl_->attempts;
}

void testbed::inject(const std::string& queue, mishap what) {
  impl_->mishaps[queue].push_back(what);
}

bool testbed::cancel(task_id task) {
  bool done = impl_->shard.cancel(task.seq);
  impl_->settle();
  return done;
}

result<change_outcome> testbed::change(task_id task, task_change what) {
  auto answered = change_task(impl_->shard, task, what);
  impl_->settle();
  return answered;
}

bool testbed::lose_lease(task_id task) {
  auto token = impl_->find(task);
  if (!token)
    return false;
  impl_->expire(*token);
  impl_->settle();
  return true;
}

void testbed::crash() {
  impl_->crash();
  impl_->settle();
}

void testbed::restart_worker() {
  impl_->worker->leave();
  impl_->loop.run();
  impl_->crash();
  impl_->settle();
}

} // namespace codeq::testing
