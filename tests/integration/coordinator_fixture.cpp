// SPDX-License-Identifier: Apache-2.0
#include "integration/coordinator_fixture.hpp"

#include "codeq/producer.hpp"

#include "protocol/task_convert.hpp"
#include "storage/recovery/recovery.hpp"

#include <utility>
#include <variant>

namespace codeq::test {

namespace {

constexpr auto only_shard = shard_id{};

/// Counter part of a number of epoch 1, from 1.
std::uint64_t count_of(std::uint64_t number) {
  return number - core::first_of_epoch(1) + 1;
}

std::string say(const core::reports_answered& m) {
  std::string text;
  for (const auto& a : m.answers)
    text += "answer " + std::to_string(count_of(a.seq)) + " " + std::string(to_string(a.code));
  return text;
}

std::string say(const core::leases_lost& m) {
  std::string text;
  for (const auto& lease : m.leases)
    text += "lost " + std::to_string(count_of(lease.seq));
  return text;
}

std::string say(const protocol::tasks_told& m) {
  std::string text;
  for (const auto& t : m.tasks)
    text += "ended " + std::to_string(count_of(t.seq)) + " " + std::string(to_string(t.code));
  return text;
}

std::string say(const core::enqueue_answered& m) {
  if (!m.allowed)
    return "refused " + std::to_string(m.number) + " " + to_string(m.allowed.error());
  auto text = "enqueued " + std::to_string(m.number);
  for (auto kind : m.kinds)
    text += " " + std::string(to_string(kind));
  return text;
}

std::string say(const core::change_answered& m) {
  return "changed " + std::to_string(m.number);
}

template <class S>
std::string say(const protocol::request_refused<S>& m) {
  return "refusal " + std::to_string(m.number) + " " + to_string(m.reason);
}

template <class Other>
std::string say(const Other&) {
  return "another reply";
}

std::string say_tasks(const core::tasks_granted& granted) {
  std::string text = "tasks";
  for (const auto& run : granted.runs)
    for (std::uint32_t i = 0; i < run.count; ++i)
      text += " " + std::to_string(count_of(run.first + i)) + "/t"
              + std::to_string(count_of(value(run.first_token) + i));
  return text;
}

std::string say_credits(const coordinator::credit_news& m) {
  switch (m.what) {
  case coordinator::credit_news::kind::drained:
    return "drained";
  case coordinator::credit_news::kind::has_work:
    return "has work";
  case coordinator::credit_news::kind::returned:
    return "returned " + std::to_string(m.credits);
  case coordinator::credit_news::kind::outranked:
    return "outranked " + std::to_string(m.credits);
  }
  return {};
}

coordinator::shard_peer_actor::behavior_type pretended_session(
  coordinator::shard_peer_actor::stateful_pointer<session_log> self,
  std::shared_ptr<std::vector<std::string>> lines) {
  auto note = [lines](std::string line) { lines->push_back(std::move(line)); };
  return {
    [note](const coordinator::shard_reply& m) {
      note(std::visit([](const auto& reply) { return say(reply); }, m.reply));
    },
    [note](const coordinator::task_delivery& m) { note(say_tasks(m.granted)); },
    [note](const coordinator::credit_news& m) { note(say_credits(m)); },
    [](const coordinator::queues_added&) {},
    [note](const coordinator::peer_misbehaved& m) { note("misbehaved " + m.reason.context); },
    [](const coordinator::shard_moved&) {},
    [](coordinator::places_changed) {},
  };
}

} // namespace

coordinator_fixture::coordinator_fixture() = default;

coordinator::journal_actor coordinator_fixture::hold_journal() {
  auto held = held_;
  auto asked = epochs_asked_;
  auto behavior =
    [held,
     asked](coordinator::journal_actor::pointer) -> coordinator::journal_actor::behavior_type {
    return {
      [held](coordinator::commit_request& request) { held->push_back(std::move(request)); },
      [asked](const coordinator::raise_epoch&) { ++*asked; },
      [](coordinator::write_group) {},
      [](coordinator::sync_journal) {},
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
  caf::anon_send(shard_, coordinator::epoch_raised{epoch});
  system_.run();
}

void coordinator_fixture::spawn_shard(bool held) {
  auto fail = [](const error& e) { FAIL() << to_string(e); };
  storage::store_record identity;
  identity.epoch = 1;
  coordinator::shard_driver_options options;
  options.clock = std::make_shared<virtual_clock>(system_);
  options.shard.state = state_;
  options.store = store_;
  auto syncer = system_.own(system_.get().spawn(coordinator::log_syncer, store_));
  coordinator::journal_driver_options writes{
    store_, {mode_, identity}, fail, horizons_, nullptr, syncer};
  options.journal =
    held ? hold_journal() : system_.own(system_.get().spawn(coordinator::drive_journal, writes));
  coordinator::reader_driver_options reads;
  reads.reader.store = store_;
  reads.on_failure = fail;
  options.shard.shard_count = 2;
  options.reader = system_.own(system_.get().spawn(coordinator::drive_reader, reads));
  shard_ = system_.own(system_.get().spawn(coordinator::drive_shard, options));
  system_.run();
}

core::peer_id coordinator_fixture::attach(
  const std::string& name,
  std::uint64_t incarnation,
  std::shared_ptr<const security::principal> bearer) {
  auto peer = ++last_peer_;
  auto& log = logs_[peer] = std::make_shared<std::vector<std::string>>();
  auto session = system_.own(system_.get().spawn(pretended_session, log));
  coordinator::attach_peer m{{peer}, session};
  m.who.bearer = std::move(bearer);
  if (!name.empty()) {
    m.who.worker = std::make_shared<const worker_identity>(worker_identity{name, incarnation});
    m.who.queues = {{"default", "q"}};
  }
  caf::anon_send(shard_, std::move(m));
  system_.run();
  return peer;
}

void coordinator_fixture::detach(core::peer_id peer) {
  caf::anon_send(shard_, coordinator::detach_peer{peer});
  system_.run();
}

void coordinator_fixture::enqueue(
  core::peer_id peer,
  std::uint64_t number,
  std::size_t tasks,
  duration lease,
  coordinator::enqueue_share share) {
  task_spec spec;
  spec.queue = "q";
  spec.payload = "payload";
  spec.lease = lease;
  auto encoded = protocol::encoded_tasks::encode(std::vector<task_spec>(tasks, spec));
  auto request = encoded->to_request({{1, 2}, number, 1, only_shard});
  caf::anon_send(shard_, coordinator::peer_request{peer, request, nullptr, std::move(share)});
  system_.run();
}

void coordinator_fixture::add_credits(core::peer_id peer, std::uint32_t credits) {
  caf::anon_send(shard_, coordinator::shard_command{core::claim{peer, credits, duration{0}}});
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
  caf::anon_send(shard_, coordinator::peer_request{peer, request});
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
  caf::anon_send(shard_, coordinator::peer_request{peer, request});
  system_.run();
}

void coordinator_fixture::meet_neighbour() {
  auto log = neighbour_log_;
  auto note = [log](const core::command& command) {
    if (const auto* m = std::get_if<core::take_follow_ups>(&command))
      log->push_back("runs " + std::to_string(m->runs.size()) + " of " + m->runs.at(0).group);
    if (const auto* m = std::get_if<core::confirm_follow_ups>(&command))
      log->push_back("confirmed " + std::to_string(m->number));
  };
  auto behavior =
    [note](coordinator::shard_actor::pointer) -> coordinator::shard_actor::behavior_type {
    return {
      [](const coordinator::peer_request&) {},
      [note](const coordinator::shard_command& m) { note(m.what); },
      [](const coordinator::attach_peer&) {},
      [](const coordinator::detach_peer&) {},
      [](coordinator::ask_shard_stats) { return base::coordinator_counts{}; },
      [](coordinator::stop_shard) { return true; },
    };
  };
  auto neighbour = system_.own(system_.get().spawn(behavior));
  caf::anon_send(shard_, coordinator::meet_shards{{shard_, neighbour}});
  system_.run();
}

void coordinator_fixture::beat(core::peer_id peer, sequence seq, std::uint64_t token) {
  auto request = protocol::heartbeat_request::build([&](auto r) {
    auto lease = r.initLeases(1)[0];
    lease.setSeq(core::first_of_epoch(1) + seq - 1);
    lease.setToken(core::first_of_epoch(1) + token - 1);
  });
  caf::anon_send(shard_, coordinator::peer_request{peer, request});
  system_.run();
}

void coordinator_fixture::commit_all() {
  while (!held_->empty()) {
    auto request = std::move(held_->front());
    held_->pop_front();
    ASSERT_TRUE(store_->commit({&request.turn.writes, 1}, storage::durability::sync));
    caf::anon_send(
      request.from, coordinator::batch_committed{request.turn.number, request.turn.shard});
    system_.run();
  }
}

std::int64_t coordinator_fixture::gauge(const std::string& name) {
  std::int64_t value = -1;
  auto ask = [&, shard = shard_](caf::event_based_actor* self) {
    self->request(shard, caf::infinite, coordinator::ask_shard_stats{})
      .then([&](const base::coordinator_counts& stats) { value = stats.gauges.at(name); });
  };
  system_.get().spawn(ask);
  system_.run();
  return value;
}

std::vector<std::string> coordinator_fixture::take(core::peer_id peer) {
  return std::exchange(*logs_.at(peer), {});
}

} // namespace codeq::test
