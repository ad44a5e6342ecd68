// SPDX-License-Identifier: Apache-2.0
#include "integration/coordinator_fixture.hpp"

#include "codeq/producer.hpp"

#include "protocol/error_code.hpp"
#include "protocol/task_convert.hpp"
#include "storage/recovery.hpp"

#include <utility>

namespace codeq::test {

namespace {

constexpr auto only_shard = shard_id{};

/// Counters of the first epoch, told from 1 on.
std::uint64_t count_of(std::uint64_t number) {
  return number - core::first_of_epoch(1) + 1;
}

std::string say_tasks(const protocol::wire_frame& frame) {
  std::string text = "tasks";
  auto batch = protocol::task_batch::parse(frame.body);
  auto ok = batch->read([&](auto r) -> result<void> {
    for (auto run : r.getRuns())
      for (std::uint32_t i = 0; i < run.getCount(); ++i)
        text += " " + std::to_string(count_of(run.getFirst() + i)) + "/t"
                + std::to_string(count_of(run.getFirstToken() + i));
    return {};
  });
  return ok ? text : to_string(ok.error());
}

std::string say_frame(const protocol::wire_frame& frame) {
  std::string text;
  auto ok = protocol::visit_frame(frame, [&](const auto& typed) {
    using frame_type = std::decay_t<decltype(typed)>;
    if constexpr (std::is_same_v<frame_type, protocol::result_reply>) {
      auto read = typed.read([&](auto r) -> result<void> {
        for (auto a : r.getAnswers())
          text += "answer " + std::to_string(count_of(a.getSeq())) + " "
                  + std::string(to_string(protocol::from_schema(a.getCode())));
        return {};
      });
      text += read ? "" : to_string(read.error());
    } else if constexpr (std::is_same_v<frame_type, protocol::leases_lost>) {
      auto read = typed.read([&](auto r) -> result<void> {
        for (auto l : r.getLeases())
          text += "lost " + std::to_string(count_of(l.getSeq()));
        return {};
      });
      text += read ? "" : to_string(read.error());
    } else if constexpr (std::is_same_v<frame_type, protocol::change_reply>) {
      auto read = typed.read([&](auto r) -> result<void> {
        text += "refusal " + std::to_string(r.getNumber()) + " "
                + std::string(to_string(protocol::from_schema(r.getCode()))) + ": "
                + std::string(r.getContext().cStr());
        return {};
      });
      text += read ? "" : to_string(read.error());
    } else if constexpr (std::is_same_v<frame_type, protocol::tasks_ended>) {
      auto read = typed.read([&](auto r) -> result<void> {
        for (auto t : r.getTasks())
          text += "ended " + std::to_string(count_of(t.getSeq())) + " "
                  + std::string(to_string(protocol::from_schema(t.getCode())));
        return {};
      });
      text += read ? "" : to_string(read.error());
    } else {
      text = "frame " + std::to_string(frame.type);
    }
  });
  return ok ? text : to_string(ok.error());
}

actors::session_actor::behavior_type pretended_session(
  actors::session_actor::stateful_pointer<session_log> self,
  std::shared_ptr<std::vector<std::string>> lines) {
  auto note = [lines](std::string line) { lines->push_back(std::move(line)); };
  return {
    [](const protocol::enqueue_request&) {},
    [](const protocol::claim_request&) {},
    [](const protocol::heartbeat_request&) {},
    [](const protocol::result_request&) {},
    [](const protocol::resume_request&) {},
    [](const protocol::await_request&) {},
    [](const protocol::status_request&) {},
    [](const protocol::change_request&) {},
    [](const protocol::force_request&) {},
    [](const protocol::queue_request&) {},
    [](const protocol::bulk_request&) {},
    [](const protocol::list_request&) {},
    [](const protocol::explain_request&) {},
    [](const protocol::events_request&) {},
    [](const protocol::stats_request&) {},
    [](const protocol::backup_request&) {},
    [](const protocol::goodbye&) {},
    [note](const protocol::wire_frame& frame) { note(say_frame(frame)); },
    [note](const actors::tasks_for_peer& m) { note(say_tasks(m.frame)); },
    [note](const actors::enqueue_done& m) { note("enqueued " + std::to_string(m.number)); },
    [note](const actors::shard_drained&) { note("drained"); },
    [note](const actors::shard_has_work&) { note("has work"); },
    [note](const actors::credits_returned& m) { note("returned " + std::to_string(m.credits)); },
    [note](const actors::peer_misbehaved& m) { note("misbehaved " + m.reason.context); },
    [](const actors::outgoing_pressure&) {},
    [](const actors::connection_lost&) {},
    [](const actors::end_session&) {},
  };
}

} // namespace

coordinator_fixture::coordinator_fixture() = default;

actors::journal_actor coordinator_fixture::hold_journal() {
  auto held = held_;
  auto asked = epochs_asked_;
  auto behavior = [held,
                   asked](actors::journal_actor::pointer) -> actors::journal_actor::behavior_type {
    return {
      [held](actors::commit_request& request) { held->push_back(std::move(request)); },
      [asked](const actors::raise_epoch&) { ++*asked; },
      [](actors::write_group) {},
      [](actors::sync_journal) {},
    };
  };
  return system_.own(system_.get().spawn(behavior));
}

void coordinator_fixture::start(bool held) {
  auto steady = virtual_clock(system_).now().steady;
  state_ = std::move(storage::recover(*store_, only_shard, 1, steady).value());
  spawn_shard(held);
}

void coordinator_fixture::start_near_the_end(std::uint64_t numbers, bool held) {
  auto steady = virtual_clock(system_).now().steady;
  state_ = std::move(storage::recover(*store_, only_shard, 1, steady).value());
  state_->tokens.next = core::first_of_epoch(2) - 2 - numbers;
  spawn_shard(held);
}

void coordinator_fixture::raise_epoch(std::uint32_t epoch) {
  caf::anon_send(shard_, actors::epoch_raised{epoch});
  system_.run();
}

void coordinator_fixture::spawn_shard(bool held) {
  auto fail = [](const error& e) { FAIL() << to_string(e); };
  storage::store_record identity;
  identity.epoch = 1;
  coordinator::shard_options options;
  options.clock = std::make_shared<virtual_clock>(system_);
  options.state = state_;
  auto syncer = system_.own(system_.get().spawn(coordinator::log_syncer, store_));
  coordinator::journal_options writes{store_, mode_, fail, horizons_, nullptr, identity, syncer};
  options.journal =
    held ? hold_journal() : system_.own(system_.get().spawn(coordinator::journal, writes));
  coordinator::reader_options reads;
  reads.store = store_;
  reads.on_failure = fail;
  options.shard_count = 2;
  options.reader = system_.own(system_.get().spawn(coordinator::reader, reads));
  shard_ = system_.own(system_.get().spawn(coordinator::shard, options));
  system_.run();
}

core::peer_id coordinator_fixture::attach(
  const std::string& name,
  std::uint64_t incarnation,
  std::shared_ptr<const security::principal> bearer) {
  auto peer = ++last_peer_;
  auto& log = logs_[peer] = std::make_shared<std::vector<std::string>>();
  auto session = system_.own(system_.get().spawn(pretended_session, log));
  actors::attach_session m{peer, session, nullptr, {}, std::move(bearer)};
  if (!name.empty()) {
    m.worker = std::make_shared<const worker_identity>(worker_identity{name, incarnation});
    m.queues = {{"default", "q"}};
  }
  caf::anon_send(shard_, std::move(m));
  system_.run();
  return peer;
}

void coordinator_fixture::enqueue(
  core::peer_id peer, std::uint64_t number, std::size_t tasks, duration lease) {
  task_spec spec;
  spec.queue = "q";
  spec.payload = "payload";
  spec.lease = lease;
  auto encoded = protocol::encoded_tasks::encode(std::vector<task_spec>(tasks, spec));
  auto request = encoded->to_request({{1, 2}, number, 1, only_shard});
  caf::anon_send(shard_, actors::from_peer<schema::EnqueueRequest>{peer, request});
  system_.run();
}

void coordinator_fixture::add_credits(core::peer_id peer, std::uint32_t credits) {
  caf::anon_send(shard_, actors::add_credits{peer, credits, duration{0}});
  system_.run();
}

void coordinator_fixture::complete(core::peer_id peer, sequence seq, std::uint64_t token) {
  auto request = protocol::result_request::build([&](auto r) {
    auto report = r.initReports(1)[0];
    report.setSeq(core::first_of_epoch(1) + seq - 1);
    report.setToken(core::first_of_epoch(1) + token - 1);
    auto ends = r.initTexts().initEnds(1);
    ends.set(0, 0);
  });
  caf::anon_send(shard_, actors::from_peer<schema::ResultRequest>{peer, request});
  system_.run();
}

void coordinator_fixture::complete_with(
  core::peer_id peer, sequence seq, std::uint64_t token, std::string group) {
  task_spec spec;
  spec.queue = "q";
  spec.group = std::move(group);
  auto encoded = protocol::encoded_tasks::encode({&spec, 1});
  auto request = protocol::result_request::build([&](auto r) {
    auto report = r.initReports(1)[0];
    report.setSeq(core::first_of_epoch(1) + seq - 1);
    report.setToken(core::first_of_epoch(1) + token - 1);
    encoded->write_follow_ups(report.initFollowUps());
    r.initTexts().initEnds(1);
  });
  caf::anon_send(shard_, actors::from_peer<schema::ResultRequest>{peer, request});
  system_.run();
}

void coordinator_fixture::meet_neighbour() {
  auto log = neighbour_log_;
  auto behavior =
    [log](actors::shard_neighbour_actor::pointer) -> actors::shard_neighbour_actor::behavior_type {
    return {
      [log](const actors::hand_over& m) {
        log->push_back("runs " + std::to_string(m.runs.size()) + " of " + m.runs.at(0).group);
      },
      [log](const actors::handed_over& m) {
        log->push_back("confirmed " + std::to_string(m.number));
      },
    };
  };
  auto neighbour = system_.own(system_.get().spawn(behavior));
  caf::anon_send(shard_, actors::meet_shards{{shard_, neighbour}});
  system_.run();
}

void coordinator_fixture::beat(core::peer_id peer, sequence seq, std::uint64_t token) {
  auto request = protocol::heartbeat_request::build([&](auto r) {
    auto lease = r.initLeases(1)[0];
    lease.setSeq(core::first_of_epoch(1) + seq - 1);
    lease.setToken(core::first_of_epoch(1) + token - 1);
  });
  caf::anon_send(shard_, actors::from_peer<schema::HeartbeatRequest>{peer, request});
  system_.run();
}

void coordinator_fixture::commit_all() {
  while (!held_->empty()) {
    auto request = std::move(held_->front());
    held_->pop_front();
    ASSERT_TRUE(store_->commit({&request.writes, 1}, storage::durability::sync));
    caf::anon_send(request.shard, actors::batch_committed{request.number});
    system_.run();
  }
}

std::int64_t coordinator_fixture::gauge(const std::string& name) {
  std::int64_t value = -1;
  auto ask = [&, shard = shard_](caf::event_based_actor* self) {
    self->request(shard, caf::infinite, actors::ask_shard_stats{})
      .then([&](const coordinator_stats& stats) { value = stats.gauges.at(name); });
  };
  system_.get().spawn(ask);
  system_.run();
  return value;
}

std::vector<std::string> coordinator_fixture::take(core::peer_id peer) {
  return std::exchange(*logs_.at(peer), {});
}

} // namespace codeq::test
