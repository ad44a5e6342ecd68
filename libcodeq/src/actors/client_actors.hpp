// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/producer.hpp"
#include "codeq/result.hpp"

#include "actors/actors.hpp"
#include "protocol/messages.hpp"

#include <caf/typed_actor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace codeq::protocol {

class encoded_tasks;

} // namespace codeq::protocol

/// The actor interfaces of producers and of the operator's tool; a header of their own, because
/// `actors.hpp` would be too long with them.
namespace codeq::actors {

/// Asks to add tasks; `done` is called once on the producer's thread and must not block.
struct submit_tasks {
  std::shared_ptr<const protocol::encoded_tasks> tasks;
  std::function<void(result<enqueue_answers>)> done;
};

/// Asks to hear of the end of each task; `ended` is called on the producer's thread and must not
/// block. `watch` names the wish.
struct watch_tasks {
  std::uint64_t watch = 0;
  std::vector<task_id> tasks;
  std::function<void(result<task_status>)> ended;
  /// Hears on the way how far the handlers are; empty does not want to.
  std::function<void(const task_progress&)> progressed{};
};

/// Takes a wish of `watch_tasks` back.
struct unwatch_tasks {
  std::uint64_t watch = 0;
  std::vector<task_id> tasks;
};

/// The pause that a coordinator asked for is over.
struct resend_due {
  std::uint64_t number = 0;
};

/// Asks a client to say goodbye on all links and to end; after `limits::shutdown_max` it ends
/// anyway.
struct stop_client {};

/// The goodbyes of a client that stops took too long.
struct stop_overdue {};

/// The PRODUCER actor interface: adds tasks and hears of their ends, over links of its own.
using producer_actor = caf::typed_actor<
  // Adds tasks under a request number of their own.
  caf::reacts_to<submit_tasks>,
  // Awaits the end of tasks.
  caf::reacts_to<watch_tasks>,
  // Forgets a wish.
  caf::reacts_to<unwatch_tasks>,
  // Takes the coordinator's answer to a request.
  caf::reacts_to<protocol::enqueue_reply>,
  // Takes the coordinator's word on ended tasks.
  caf::reacts_to<protocol::tasks_ended>,
  // Sends a refused request again.
  caf::reacts_to<resend_due>,
  // Sends all unanswered requests again.
  caf::reacts_to<link_up>,
  // Waits for the next connection.
  caf::reacts_to<link_down>,
  // Says goodbye and ends.
  caf::reacts_to<stop_client>,
  // Ends without the goodbyes.
  caf::reacts_to<stop_overdue>>;

/// Asks a coordinator. Asked again after a reconnect, unless `repeatable` is false: then `failed`
/// is called when the connection is lost before the answer. All are called on the inquiry's thread.
struct ask_coordinator {
  /// Builds the question under this number.
  std::function<protocol::wire_frame(std::uint64_t number)> question;
  /// Takes the reply with that number. Errors: `protocol_error` when it cannot be used; the
  /// connection is then closed and the question asked again.
  std::function<result<void>(const protocol::wire_frame& reply)> answered;
  std::function<void(const error& reason)> failed;
  bool repeatable = true;
};

/// The INQUIRY actor interface: asks a coordinator for an operator's tool; a new question replaces
/// one that is still open.
using inquiry_actor = caf::typed_actor<
  // Asks a question.
  caf::reacts_to<ask_coordinator>,
  // Takes the answer on a task.
  caf::reacts_to<protocol::status_reply>,
  // Takes the answer on a change.
  caf::reacts_to<protocol::change_reply>,
  // Takes the answer on a queue.
  caf::reacts_to<protocol::queue_reply>,
  // Takes the answer on a change of many tasks.
  caf::reacts_to<protocol::bulk_reply>,
  // Takes a list of tasks.
  caf::reacts_to<protocol::list_reply>,
  // Takes the answer on why a task does not run.
  caf::reacts_to<protocol::explain_reply>,
  // Takes a task's timeline.
  caf::reacts_to<protocol::events_reply>,
  // Takes the answer on the counts.
  caf::reacts_to<protocol::stats_reply>,
  // Takes the answer on a backup.
  caf::reacts_to<protocol::backup_reply>,
  // Sends the open question.
  caf::reacts_to<link_up>,
  // Waits for the next connection.
  caf::reacts_to<link_down>,
  // Says goodbye and ends.
  caf::reacts_to<stop_client>,
  // Ends without the goodbyes.
  caf::reacts_to<stop_overdue>>;

} // namespace codeq::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::submit_tasks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::watch_tasks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::unwatch_tasks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::resend_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::stop_client)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::stop_overdue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::ask_coordinator)
