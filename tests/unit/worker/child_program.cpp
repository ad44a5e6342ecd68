// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "worker/process/child_handler.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace {

using codeq::outcome;
using codeq::task;

outcome name_process(const task&) {
  return outcome::completed(std::to_string(getpid()));
}

outcome talk(const task& attempt) {
  for (int i = 0; i < 500; ++i)
    attempt.progress(i % 100);
  return outcome::completed();
}

/// Leaves a process behind that holds all its descriptors, and crashes.
outcome crash_with_heir(const task&) {
  if (fork() == 0)
    for (;;)
      pause();
  std::abort();
}

/// The same, but the process that stays runs another program.
outcome crash_with_program(const task&) {
  if (fork() == 0)
    execl("/bin/sleep", "sleep", "1000", nullptr);
  std::abort();
}

/// Sends a message for the previous attempt, too.
outcome speak_late(const task& attempt) {
  static task before;
  if (before.runtime)
    before.progress(1, "late");
  before = attempt;
  attempt.progress(2, "in time");
  return outcome::completed();
}

/// Resumes from the checkpoint of the previous attempt, and crashes until it has counted to three.
outcome count_to_three(const task& attempt) {
  auto count = attempt.checkpoint.size();
  std::promise<bool> saved;
  attempt.save_checkpoint(
    std::string(count + 1, 'x'), [&saved](bool is_saved) { saved.set_value(is_saved); });
  if (!saved.get_future().get())
    return outcome::failed("not saved");
  if (count + 1 < 3)
    std::abort();
  return outcome::completed(std::to_string(count + 1));
}

outcome print_and_crash_at_second(const task& attempt) {
  std::fprintf(stderr, "says attempt %u\n", attempt.attempt);
  if (attempt.attempt == 2)
    std::abort();
  return outcome::completed();
}

outcome meet_a_limit(const task&) {
  return outcome::limited(std::chrono::seconds(30), "stripe", "429")
    .cost("stripe", codeq::limits::limit_cost_settled_max)
    .cost("smtp", 0);
}

outcome add_follow_ups(const task&) {
  codeq::task_spec plain;
  plain.queue = "next";
  plain.payload = std::string("a\0b", 3);
  codeq::task_spec full;
  full.tenant = "t";
  full.queue = "other";
  full.priority = 7;
  full.not_before = codeq::timestamp{codeq::duration{1'900'000'000'000}};
  full.allow_promotion = true;
  full.max_attempts = 3;
  full.retry =
    codeq::retry_policy{codeq::retry_kind::linear, codeq::duration{5}, codeq::duration{9000}};
  full.lease = codeq::duration{2000};
  full.run_timeout = codeq::duration{3000};
  full.progress_timeout = codeq::duration{4000};
  full.retention = codeq::limits::retention_classes[0];
  full.dead_retention = codeq::duration{86'400'000};
  full.headers = {{"h", "v"}};
  full.group = "g";
  full.when_dead = codeq::on_dead::block;
  full.key = "k";
  full.duplicate = codeq::on_duplicate::promote;
  full.replace_payload = true;
  full.fairness_key = "tenant/customer";
  full.fairness_weight = 9;
  full.limits = {{"stripe", std::string("a\0b", 3), 7}, {"smtp", {}, 1}};
  return outcome::completed("done").then(plain).then(full);
}

outcome add_too_many(const task&) {
  codeq::task_spec next;
  next.queue = "next";
  auto ended = outcome::completed();
  for (std::size_t i = 0; i <= codeq::limits::follow_ups_max; ++i)
    ended.then(next);
  return ended;
}

outcome answer_too_much(const task&) {
  return outcome::completed(std::string(codeq::tuning::frame_bytes_max, 'x'));
}

} // namespace

/// `child_program --isolated HANDLER`
int main(int count, char** arguments) {
  const std::map<std::string, codeq::handler_function> handlers{
    {"name_process", name_process},
    {"talk", talk},
    {"crash_with_heir", crash_with_heir},
    {"crash_with_program", crash_with_program},
    {"speak_late", speak_late},
    {"count_to_three", count_to_three},
    {"print_and_crash_at_second", print_and_crash_at_second},
    {"meet_a_limit", meet_a_limit},
    {"add_follow_ups", add_follow_ups},
    {"add_too_many", add_too_many},
    {"answer_too_much", answer_too_much}};
  if (count != 3)
    return 1;
  codeq::worker::serve_parent(handlers.at(arguments[2]), STDIN_FILENO, STDOUT_FILENO);
}
