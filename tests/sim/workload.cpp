// SPDX-License-Identifier: Apache-2.0
#include "sim/workload.hpp"

#include <algorithm>
#include <chrono>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

retry_kind some_kind(chance& random) {
  return static_cast<retry_kind>(random.below(4));
}

on_duplicate some_policy(chance& random) {
  return static_cast<on_duplicate>(random.below(5));
}

} // namespace

std::vector<std::string> served_queues() {
  auto queues = plain_queues;
  queues.insert(queues.end(), {keyed_queue, managed_queue, purged_queue});
  return queues;
}

std::string some_key(chance& random) {
  return "k" + std::to_string(random.below(key_count));
}

std::string some_group_of_key(chance& random) {
  return random.hits(250) ? "g" + std::to_string(random.below(2)) : std::string();
}

task_spec workload::some_task() {
  auto& random = world_.random.workload;
  task_spec task;
  task.queue = plain_queues[random.below(plain_queues.size())];
  task.priority = static_cast<int>(random.below(3) * 4);
  task.max_attempts = static_cast<std::uint32_t>(random.between(1, 5));
  task.retry = retry_policy{
    some_kind(random), duration{random.between(50, 1'500)}, duration{random.between(1'500, 4'000)}};
  task.lease = duration{random.between(1'000, 4'000)};
  if (random.hits(100))
    task.run_timeout = duration{random.between(200, 6'000)};
  add_time(task);
  task.allow_promotion = random.hits(300);
  add_fairness(task);
  return task;
}

void workload::add_fairness(task_spec& task) {
  if (task.queue != fair_queue)
    return;
  auto number = world_.random.workload.below(5);
  // Some tasks have the empty key.
  if (number == 0)
    return;
  // Two of them are customers of one tenant.
  task.fairness_key = (number > 2 ? "f/" : "f") + std::to_string(number);
  task.fairness_weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(number, 3));
}

void workload::add_limits(task_spec& task) {
  auto& random = world_.random.workload;
  if (!world_.options.has_limits || !task.group.empty() || !random.hits(400))
    return;
  auto key = std::to_string(random.below(3));
  task.limits = {{random.hits(600) ? "one" : "slow", key, 1}};
}

void workload::add_time(task_spec& task) {
  auto& random = world_.random.workload;
  auto which = random.below(1000);
  // Keyed tasks are deferred more often, so that duplicates find a time that they can change.
  auto delayed = task.key.empty() ? 150u : 500u;
  if (which < delayed)
    task.delay = duration{random.between(1, 4'000)};
  else if (which < delayed + 50)
    task.not_before = world_.wall() + duration{random.between(-500, 3'000)};
}

void workload::add_group(task_spec& task) {
  task.group = "g" + std::to_string(world_.random.workload.below(3));
  if (world_.random.workload.hits(300))
    task.when_dead = on_dead::block;
}

void workload::add_key(task_spec& task) {
  auto& random = world_.random.workload;
  task.key = some_key(random);
  task.group = some_group_of_key(random);
  task.duplicate = some_policy(random);
  task.replace_payload = random.hits(400);
  task.delay = duration{0};
  task.not_before.reset();
  add_time(task);
  if (random.hits(700))
    task.retention = 1h;
}

task_spec workload::some_special_task() {
  auto& random = world_.random.workload;
  auto task = some_task();
  auto which = random.below(100);
  if (which < 60)
    task.queue = keyed_queue;
  else if (which < 80)
    task.queue = managed_queue;
  else
    task.queue = purged_queue;
  // Its fairness key while the queue takes it from there; some tasks have no such header.
  if (task.queue == managed_queue && *task.max_attempts % 3 != 0)
    task.headers[fairness_header] = "c" + std::to_string(*task.max_attempts);
  if (task.queue == managed_queue && random.hits(500)) {
    task.max_attempts.reset();
    task.retry.reset();
    task.lease.reset();
  }
  if (task.queue == purged_queue && random.hits(200))
    task.tenant = other_tenant;
  if (task.queue == keyed_queue || random.hits(400))
    add_key(task);
  else if (random.hits(250))
    add_group(task);
  return task;
}

std::vector<task_spec> workload::some_plain_request() {
  auto& random = world_.random.workload;
  auto like = some_task();
  bool is_grouped = random.hits(250);
  if (is_grouped)
    add_group(like);
  std::vector<task_spec> tasks;
  for (auto count = random.hits(300) ? random.between(2, 20) : 1; count > 0; --count)
    tasks.push_back(is_grouped || random.hits(700) ? like : some_task());
  for (auto& task : tasks)
    add_limits(task);
  return tasks;
}

std::vector<task_spec> workload::some_request() {
  auto& random = world_.random.workload;
  if (random.hits(500))
    return some_plain_request();
  std::vector<task_spec> tasks;
  // Usually one task, otherwise several of all kinds.
  for (auto count = random.hits(600) ? 1 : random.between(2, 6); count > 0; --count)
    tasks.push_back(count > 1 && random.hits(150) ? some_task() : some_special_task());
  return tasks;
}

std::vector<task_spec> workload::all_keys() {
  std::vector<task_spec> tasks;
  for (std::uint64_t i = 0; i < key_count; ++i) {
    auto task = some_task();
    task.queue = keyed_queue;
    task.key = "k" + std::to_string(i);
    task.duplicate = some_policy(world_.random.workload);
    tasks.push_back(std::move(task));
  }
  return tasks;
}

} // namespace codeq::sim
