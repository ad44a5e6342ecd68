// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"
#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "worker/handlers/attempt_line.hpp"
#include "worker/node/wire.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace codeq::worker {

/// An attempt that failed, as its handler reported it or ended with it.
struct failed_attempt {
  const attempt_line::subject& about;
  std::string_view reason;
  /// Time since the handler got the task.
  duration ran{0};
  /// The task has no attempt left, or must not be retried.
  bool is_last = false;
};

/// Events of a dispatcher that are logged.
class dispatcher_notes {
public:
  virtual ~dispatcher_notes() = default;

  virtual void note_connected(std::size_t link, std::size_t shards) = 0;
  /// The coordinator is too old to know patterns, so it sends tasks of named queues only.
  virtual void note_no_patterns(std::size_t link) = 0;

  virtual void note_settings(std::size_t queues, std::size_t slots, std::size_t prefetch) = 0;

  /// The task is given back, since its queue is not handled here.
  virtual void note_unhandled(const task& given_back) = 0;

  virtual void note_handler_end(fencing_token token, const std::string& reason) = 0;
  virtual void note_failed(const failed_attempt& failed) = 0;
  virtual void note_lost(const task_id& task, fencing_token token) = 0;

  /// The coordinator refused a report.
  virtual void note_refused(const report_answer& answer) = 0;

  /// The handler was cancelled, since the lease has expired and there is no connection.
  virtual void note_over(const task_id& task, fencing_token token) = 0;

  virtual void note_drain(std::size_t running, duration limit) = 0;

  /// The drain gave back a task whose handler did not stop in time.
  virtual void note_abandoned(const task_id& task, fencing_token token) = 0;

  /// The drain still waits for answers to this number of reports, for at most `longest` from now.
  virtual void note_awaits_answers(std::size_t reports, duration longest) = 0;

  /// The drain ends with this number of unanswered reports.
  virtual void note_unanswered(std::size_t reports) = 0;
};

} // namespace codeq::worker
