// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/producer.hpp"
#include "codeq/result.hpp"

#include "actors/actors.hpp"
#include "actors/ask_coordinator.hpp"
#include "protocol/messages.hpp"

#include <caf/typed_actor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace codeq::protocol {

class encoded_tasks;

} // namespace codeq::protocol

/// The actor interfaces of producers and of the operator's tool. They have their own header because
/// `actors.hpp` would be too long.
namespace codeq::actors {

/// Asks to add tasks; `done` is called once on the producer's thread and must not block.
struct submit_tasks {
  std::shared_ptr<const protocol::encoded_tasks> tasks;
  std::function<void(result<enqueue_answers>)> done;
};

/// Takes back a request whose caller has waited long enough. If it was not sent, its tasks are not
/// added, and `done` of the request gets the error that `unsent` makes; otherwise it goes on, and
/// `was_sent` is called. Both are called on the producer's thread, with the reason why a shard that
/// the request waits for is not reached; empty: there is none.
struct withdraw_tasks {
  std::shared_ptr<const protocol::encoded_tasks> tasks;
  std::function<error(const std::optional<error>& unreached)> unsent;
  std::function<void(const std::optional<error>& unreached)> was_sent;
};

/// Asks why a shard of a cluster is not reached; without `shard`, any that requests wait for.
/// `told` is called on the actor's thread; with nothing when the shard is reached.
struct ask_unreached {
  std::optional<shard_id> shard;
  std::function<void(const std::optional<error>& unreached)> told;
};

/// Awaits the end of each task; `ended` is called on the producer's thread and must not block.
/// `watch` identifies the request.
struct watch_tasks {
  std::uint64_t watch = 0;
  std::vector<task_id> tasks;
  std::function<void(result<ended_task>)> ended;
  /// Called with the progress of handlers; empty: progress is not requested.
  std::function<void(const task_progress&)> progressed{};
};

/// Cancels a `watch_tasks` request.
struct unwatch_tasks {
  std::uint64_t watch = 0;
  std::vector<task_id> tasks;
};

/// The pause requested by a coordinator is over.
struct resend_due {
  std::uint64_t number = 0;
};

/// The pause before awaited tasks are asked about again is over.
struct ask_again_due {};

/// The pause before shards that were nowhere are asked for again is over.
struct shards_due {};

/// Asks a client to send `goodbye` on all links and to end, at the latest after
/// `tuning::shutdown_max`.
struct stop_client {};

/// A client that stops has waited too long for its links to end.
struct stop_overdue {};

/// The PRODUCER actor interface: adds tasks and awaits their ends, over links of its own.
using producer_actor = caf::typed_actor<
  // Adds tasks under a new request number.
  caf::reacts_to<submit_tasks>,
  // Takes back a request that was not sent.
  caf::reacts_to<withdraw_tasks>,
  // Tells why a shard is not reached.
  caf::reacts_to<ask_unreached>,
  // Awaits the end of tasks.
  caf::reacts_to<watch_tasks>,
  // Cancels a request to await tasks.
  caf::reacts_to<unwatch_tasks>,
  // Handles the coordinator's answer to a request.
  caf::reacts_to<protocol::enqueue_reply>,
  // Handles ended tasks and progress.
  caf::reacts_to<protocol::tasks_ended>,
  // Resends a refused request.
  caf::reacts_to<resend_due>,
  // Asks again about awaited tasks that were put off.
  caf::reacts_to<ask_again_due>,
  // Resends all unanswered requests.
  caf::reacts_to<link_up>,
  // Waits for the next connection.
  caf::reacts_to<link_down>,
  // Follows the places of a cluster's shards.
  caf::reacts_to<from_link<schema::ClusterMap>>,
  // Asks again for shards that were nowhere.
  caf::reacts_to<shards_due>,
  // Closes all links and ends.
  caf::reacts_to<stop_client>,
  // Ends without waiting for the links.
  caf::reacts_to<stop_overdue>>;

/// Ends the open question, whose caller has waited `waited` long. `told` is called on the inquiry's
/// thread with the reason why a question for a shard of a cluster has no answer; empty for another
/// question, and when none is open.
struct give_up_question {
  duration waited{0};
  std::function<void(const std::optional<error>& why)> told;
};

/// The wait for links to all coordinators of a cluster is over, for the question with that number.
struct coordinators_due {
  std::uint64_t number = 0;
};

namespace detail {

template <class Replies>
struct inquiry_interface;

template <class... Replies>
struct inquiry_interface<protocol::body_list<Replies...>> {
  using type = caf::typed_actor<
    // Sends a request.
    caf::reacts_to<ask_coordinator>,
    // Ends the request that is open.
    caf::reacts_to<give_up_question>,
    // Tells why the request that is open waits.
    caf::reacts_to<ask_unreached>,
    // Handles the reply.
    caf::reacts_to<protocol::frame<Replies>>...,
    // Sends the open request.
    caf::reacts_to<link_up>,
    // Waits for the next connection.
    caf::reacts_to<link_down>,
    // Follows the places of a cluster's shards.
    caf::reacts_to<from_link<schema::ClusterMap>>,
    // Asks again for shards that were nowhere.
    caf::reacts_to<shards_due>,
    // Asks the coordinators that are connected by now.
    caf::reacts_to<coordinators_due>,
    // Closes all links and ends.
    caf::reacts_to<stop_client>,
    // Ends without waiting for the links.
    caf::reacts_to<stop_overdue>>;
};

} // namespace detail

/// The INQUIRY actor interface: sends the requests of an operator's tool to a coordinator. A new
/// request replaces one that is still open.
using inquiry_actor = detail::inquiry_interface<protocol::operator_replies>::type;

} // namespace codeq::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::submit_tasks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::withdraw_tasks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::ask_unreached)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::watch_tasks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::unwatch_tasks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::resend_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::ask_again_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::shards_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::stop_client)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::stop_overdue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::ask_coordinator)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::give_up_question)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::coordinators_due)
