// SPDX-License-Identifier: Apache-2.0
#include "integration/session/session_fixture.hpp"

#include "coordinator/actors/counts_desk.hpp"
#include "protocol/error_code.hpp"
#include "protocol/reply.hpp"

#include <map>

namespace codeq::test {
namespace {

/// The answer to a request for workers, in words.
std::string say_workers(const protocol::workers_reply& reply) {
  return *reply.read([](auto from) -> result<std::string> {
    auto text = std::to_string(from.getNumber()) + " "
                + std::string(to_string(protocol::from_schema(from.getCode())));
    for (auto worker : from.getWorkers())
      text += " " + std::string(worker.getName().cStr())
              + (worker.getDraining() ? " is drained" : " is at work");
    return text;
  });
}

/// The refusal of a request for a queue or a task, in words.
std::string say_refusal(const protocol::wire_frame& frame) {
  auto read = [](auto reply) -> result<std::string> {
    return std::to_string(reply.getNumber()) + " "
           + std::string(to_string(protocol::from_schema(reply.getCode()))) + ": "
           + std::string(reply.getContext().cStr());
  };
  if (frame.type == protocol::frame_type<schema::QueueReply>)
    return *protocol::queue_reply::parse(frame.body)->read(read);
  if (frame.type == protocol::frame_type<schema::ChangeReply>)
    return *protocol::change_reply::parse(frame.body)->read(read);
  if (frame.type == protocol::frame_type<schema::StatsReply>)
    return *protocol::stats_reply::parse(frame.body)->read(read);
  if (frame.type == protocol::frame_type<schema::WorkersReply>)
    return say_workers(*protocol::workers_reply::parse(frame.body));
  if (frame.type == protocol::frame_type<schema::CheckpointsSaved>)
    return *protocol::checkpoints_saved::parse(frame.body)
              ->read([](auto reply) -> result<std::string> {
                std::string text = "postponed";
                for (auto line : reply.getPostponed())
                  text +=
                    " " + std::to_string(line.getToken()) + "." + std::to_string(line.getNumber());
                return text;
              });
  if (frame.type == protocol::frame_type<schema::StatusReply>)
    return *protocol::status_reply::parse(frame.body)->read(read);
  if (frame.type == protocol::frame_type<schema::EnqueueReply>)
    return *protocol::enqueue_reply::parse(frame.body)->read(read) + " after "
           + std::to_string(*protocol::enqueue_reply::parse(frame.body)
                               ->read([](auto reply) -> result<std::uint32_t> {
                                 return reply.getRetryAfterMs();
                               }));
  return "frame " + std::to_string(frame.type);
}

actors::connection_actor::behavior_type
pretended_connection(actors::connection_actor::pointer, std::vector<std::string>* lines) {
  return {
    [lines](const protocol::wire_frame& frame) { lines->push_back(say_refusal(frame)); },
    [](const actors::connection_accepted&) {},
    [](actors::probe_peer) { return true; },
    [](const actors::close_connection&) {},
  };
}

std::string say(const core::command& command) {
  if (const auto* m = std::get_if<core::claim>(&command))
    return "credits " + std::to_string(m->credits);
  if (const auto* m = std::get_if<core::revoke_credits>(&command))
    return "take " + std::to_string(m->credits);
  if (const auto* m = std::get_if<core::change_queues>(&command))
    return "serve " + m->queues.at(0).queue;
  if (const auto* m = std::get_if<core::note_command>(&command))
    return "audit of " + m->tenant + ": " + std::string(to_string(m->action)) + " " + m->detail;
  if (const auto* m = std::get_if<core::end_session>(&command))
    return "session " + std::to_string(m->producer.low) + " ends";
  return std::holds_alternative<core::release_worker>(command) ? "released" : "another command";
}

std::string say(const protocol::shard_request& request) {
  if (std::holds_alternative<protocol::enqueue_request>(request))
    return "enqueue";
  if (std::holds_alternative<protocol::force_request>(request))
    return "force";
  if (const auto* m = std::get_if<protocol::heartbeat_request>(&request))
    return *m->read([](auto beat) -> result<std::string> {
      return std::to_string(beat.getLeases().size()) + " leases, "
             + std::to_string(beat.getCheckpoints().size()) + " checkpoints";
    });
  return std::holds_alternative<protocol::queue_request>(request) ? "queue" : "another request";
}

coordinator::shard_actor::behavior_type pretended_shard(
  coordinator::shard_actor::pointer,
  std::vector<std::string>* lines,
  std::vector<coordinator::enqueue_share>* held) {
  auto note = [lines](std::string line) { lines->push_back(std::move(line)); };
  return {
    [note, held](const coordinator::peer_request& m) {
      note(say(m.request));
      held->push_back(m.share);
    },
    [note](const coordinator::shard_command& m) { note(say(m.what)); },
    [](const coordinator::attach_peer&) {},
    [](const coordinator::detach_peer&) {},
    [](coordinator::ask_shard_stats) { return base::coordinator_counts{}; },
    [](coordinator::stop_shard) { return true; },
  };
}

} // namespace

void CoordinatorSession::start(std::shared_ptr<const security::principal> bearer) {
  coordinator::session_driver_options options;
  options.session.bearer = std::move(bearer);
  options.session.peer = 1;
  options.session.worker = std::make_shared<const worker_identity>(worker_identity{"w", 1});
  options.limiter = std::make_shared<security::rate_limiter>();
  options.outgoing = outgoing_;
  options.unread = unread_;
  options.drained = drained_;
  options.clock = std::make_shared<base::manual_clock>();
  options.gauges = [] { return std::map<std::string, std::int64_t>{{"g", 1}}; };
  options.connection = system_.own(system_.get().spawn(pretended_connection, &lines_));
  options.shards = {system_.own(system_.get().spawn(pretended_shard, &lines_, &held_))};
  options.counts = system_.own(system_.get().spawn(
    coordinator::drive_counts_desk,
    caf::actor_cast<caf::strong_actor_ptr>(options.connection),
    options.shards));
  session_ = system_.own(system_.get().spawn(coordinator::drive_session, options));
  system_.run();
}

std::shared_ptr<const security::principal>
limited(security::role role, security::rate_scope scope, std::uint32_t burst) {
  security::principal who;
  who.tenant = "t";
  who.role = role;
  who.rates[static_cast<std::size_t>(scope)] = {10, burst};
  return std::make_shared<const security::principal>(who);
}

protocol::enqueue_request enqueue_of(std::uint64_t number, std::uint32_t tasks) {
  return protocol::enqueue_request::build([&](schema::EnqueueRequest::Builder root) {
    root.setNumber(number);
    root.initTasks().initEnds(tasks);
  });
}

} // namespace codeq::test
