// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"
#include "worker/host/dispatcher_driver.hpp"

#include <chrono>

/// Log lines of a dispatcher.
namespace codeq::worker {

void dispatcher_driver::note_connected(std::size_t link, std::size_t shards) {
  CODEQ_LOG_INFO(
    "worker connected to coordinator address={} link={} shards={}",
    links_[link].address,
    link,
    shards);
}

void dispatcher_driver::note_no_patterns(std::size_t link) {
  CODEQ_LOG_WARN(
    "coordinator does not know patterns of queues address={} advice=\"upgrade it, or name "
    "queues\"",
    links_[link].address);
}

void dispatcher_driver::note_settings(std::size_t queues, std::size_t slots, std::size_t prefetch) {
  CODEQ_LOG_INFO(
    "worker takes new settings queues={} slots={} prefetch={}", queues, slots, prefetch);
}

void dispatcher_driver::note_unhandled(const task& given_back) {
  CODEQ_LOG_WARN(
    "worker gives back a task of a queue that it does not handle task={} tenant={} queue={}",
    to_string(given_back.id),
    given_back.tenant,
    given_back.queue);
}

void dispatcher_driver::note_handler_end(fencing_token token, const std::string& reason) {
  CODEQ_LOG_WARN("handler ended with a task token={} reason=\"{}\"", value(token), reason);
}

void dispatcher_driver::note_failed(const failed_attempt& failed) {
  const auto& about = failed.about;
  auto owner = (failed.is_last ? "last " : "") + about.queue;
  auto left_out = failure_lines_.take(owner, std::chrono::steady_clock::now());
  if (!left_out)
    return;
  auto level = failed.is_last ? observe::log_level::error : observe::log_level::warn;
  CODEQ_LOG_AT(
    level,
    "attempt fails queue={} task={} attempt={} max_attempts={} last={} duration_ms={} left_out={} "
    "reason=\"{}\"",
    about.queue,
    to_string(about.id),
    about.attempt,
    about.max_attempts,
    failed.is_last,
    failed.ran.count(),
    *left_out,
    cut_note(std::string(failed.reason)));
}

void dispatcher_driver::note_lost(const task_id& task, fencing_token token) {
  CODEQ_LOG_INFO("worker lost lease of task={} token={}", to_string(task), value(token));
}

void dispatcher_driver::note_refused(const report_answer& answer) {
  CODEQ_LOG_WARN(
    "coordinator refused report of task={} token={} code={} reason=\"{}\"",
    to_string(task_id{answer.key.shard, answer.seq}),
    value(answer.key.token),
    to_string(answer.code),
    answer.context);
}

void dispatcher_driver::note_over(const task_id& task, fencing_token token) {
  CODEQ_LOG_WARN(
    "worker stops a task task={} token={} reason=\"no coordinator has extended its lease in time\"",
    to_string(task),
    value(token));
}

void dispatcher_driver::note_drain(std::size_t running, duration limit) {
  CODEQ_LOG_INFO("worker drains running={} limit_ms={}", running, limit.count());
}

void dispatcher_driver::note_abandoned(const task_id& task, fencing_token token) {
  CODEQ_LOG_WARN(
    "worker gives back a task task={} token={} reason=\"its handler did not stop\"",
    to_string(task),
    value(token));
}

void dispatcher_driver::note_awaits_answers(std::size_t reports, duration longest) {
  CODEQ_LOG_WARN(
    "worker waits for answers to its results before it ends unanswered={} longest_ms={} advice=\"a "
    "second signal ends the wait\"",
    reports,
    longest.count());
}

void dispatcher_driver::note_unanswered(std::size_t reports) {
  CODEQ_LOG_WARN("worker ends with unanswered reports={}", reports);
}

} // namespace codeq::worker
