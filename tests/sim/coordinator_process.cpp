// SPDX-License-Identifier: Apache-2.0
#include "sim/coordinator_process.hpp"

#include "codeq/limits.hpp"

#include "protocol/reply.hpp"
#include "protocol/version.hpp"
#include "storage/recovery.hpp"

#include <algorithm>
#include <stdexcept>

namespace codeq::sim {

namespace {

constexpr std::uint64_t store_id = 7;

/// So small that nearly everything is packed by every checkpoint.
core::paging_limits small_pages() {
  core::paging_limits limits;
  limits.weight_kept = 2 * core::segment_table::segment_weight;
  limits.block_segments_max = 3;
  limits.block_tasks_max = 8;
  return limits;
}

protocol::hello_ack make_ack(std::size_t shards, std::uint64_t coordinator) {
  return protocol::hello_ack::build([&](auto r) {
    r.setVersion(protocol::version);
    r.setShardCount(static_cast<std::uint16_t>(shards));
    r.setCoordinatorId(coordinator);
    r.setStoreId(store_id);
  });
}

} // namespace

coordinator_process::coordinator_process(world& all, sim_disk& disk, auditor& audit)
  : world_(all),
    disk_(disk),
    auditor_(audit),
    process_(all),
    registrar_(all, process_),
    journal_(all, process_, disk),
    reader_(all, process_, disk) {
  auto record = storage::open_identity(disk.store(), all.options.shards, store_id);
  if (!record)
    throw std::runtime_error(to_string(record.error()));
  disk.sync();
  identity_ = *record;
  for (std::uint16_t i = 0; i < identity_.shard_count; ++i) {
    auto id = static_cast<shard_id>(i);
    auto state = storage::recover(disk.store(), id, identity_.epoch, all.steady());
    if (!state)
      throw std::runtime_error(to_string(state.error()));
    (*state)->segments.set_limits(small_pages());
    auto followed = disk.follow(id, identity_.epoch);
    audit.time_recovered((*state)->at, followed->at);
    audit.recovered(**state, *followed, "a follower");
    auto neighbour = [this](shard_id other) -> shard_shell& { return *shards_[value(other)]; };
    shards_.push_back(std::make_unique<shard_shell>(
      all,
      process_,
      shard_shell::parts{
        std::move(*state), &journal_, &reader_, &audit, identity_.shard_count, neighbour}));
  }
  world_.say("coordinator starts epoch=" + std::to_string(identity_.epoch));
}

timestamp coordinator_process::earliest_shard_now() {
  auto earliest = timestamp::max();
  for (auto& shard : shards_)
    earliest = std::min(earliest, shard->now());
  return earliest;
}

void coordinator_process::accept(const connection_ptr& made) {
  // Each connection is a process's own matter until it is welcomed.
  made->attach(
    side::acceptor,
    [this, weak = made->weak_from_this()](const protocol::wire_frame& frame) {
      process_.enter([this, from = weak.lock(), frame] { take_hello(from, frame); });
    },
    {});
}

void coordinator_process::take_hello(
  const connection_ptr& from, const protocol::wire_frame& frame) {
  auto hello = protocol::hello::parse(frame.body);
  if (frame.type != protocol::frame_type<schema::Hello> || !hello)
    throw std::runtime_error("a connection begins without a hello");
  auto node = protocol::to_introduction(*hello);
  if (!node)
    throw std::runtime_error(to_string(node.error()));
  registrar_.send([this, from, node = *node] {
    if (node.role == schema::Role::WORKER)
      welcome_worker(from, node);
    else
      admit(from, node);
  });
}

void coordinator_process::welcome_worker(
  const connection_ptr& from, const protocol::node_introduction& node) {
  auto& name = workers_[node.identity.name];
  const auto& old = name.superseded;
  if (std::find(old.begin(), old.end(), node.identity.incarnation) != old.end())
    return refuse(from, {errc::superseded, "a newer process has the name"});
  if (!name.session || name.incarnation == node.identity.incarnation)
    return take_over(from, node);
  // The one who has the name lives if it answers a ping in time.
  auto asked = name.session->made_of().link;
  auto pong = std::make_shared<bool>(false);
  asked->send(side::acceptor, protocol::ping::build([](auto r) { r.setNumber(1); }).to_wire());
  pongs_[asked.get()] = pong;
  process_.after(limits::name_probe_timeout, [this, from, node, pong] {
    registrar_.send([this, from, node, pong] {
      if (*pong)
        refuse(from, {errc::name_in_use, "another living worker has the name"});
      else
        take_over(from, node);
    });
  });
}

void coordinator_process::take_over(
  const connection_ptr& from, const protocol::node_introduction& node) {
  auto& name = workers_[node.identity.name];
  bool is_other = name.incarnation != node.identity.incarnation;
  end_session_of(
    name, {is_other ? errc::superseded : errc::disconnected, "the name has a new session"});
  if (is_other) {
    if (name.incarnation != 0)
      name.superseded.push_back(name.incarnation);
    name.incarnation = node.identity.incarnation;
    auto worker = std::make_shared<const worker_identity>(node.identity);
    for (auto& shard : shards_)
      shard->box().send([to = shard.get(), worker] { to->replace(worker); });
  }
  admit(from, node);
}

void coordinator_process::end_session_of(worker_name& name, const error& reason) {
  if (!name.session)
    return;
  name.session->end_later(reason);
  forget(*name.session);
}

void coordinator_process::admit(
  const connection_ptr& from, const protocol::node_introduction& node) {
  session_shell::parts made;
  made.peer = static_cast<core::peer_id>(sessions_.size() + 1);
  made.node = node;
  made.link = from;
  for (auto& shard : shards_)
    made.shards.push_back(shard.get());
  made.on_end = [this](session_shell& s) { registrar_.send([this, &s] { forget(s); }); };
  sessions_.push_back(std::make_unique<session_shell>(world_, process_, std::move(made)));
  auto* session = sessions_.back().get();
  if (node.role == schema::Role::WORKER)
    workers_[node.identity.name].session = session;
  from->send(side::acceptor, make_ack(shards_.size(), identity_.epoch).to_wire());
  from->attach(
    side::acceptor,
    [this, session, link = from.get()](const protocol::wire_frame& frame) {
      process_.enter([this, session, link, frame] {
        if (frame.type != protocol::frame_type<schema::Pong>)
          return session->take(frame);
        if (auto asked = pongs_.find(link); asked != pongs_.end())
          *asked->second = true;
      });
    },
    [this, session] { process_.enter([session] { session->connection_lost(); }); });
  if (!from->is_open())
    session->connection_lost();
}

void coordinator_process::refuse(const connection_ptr& from, const error& reason) {
  from->send(side::acceptor, protocol::make_refused(reason).to_wire());
  from->close(side::acceptor);
}

void coordinator_process::forget(session_shell& session) {
  for (auto& shard : shards_)
    shard->box().send([to = shard.get(), peer = session.made_of().peer] { to->detach(peer); });
  for (auto& [name, holder] : workers_) {
    if (holder.session == &session)
      holder.session = nullptr;
  }
}

void coordinator_process::kill() {
  process_.kill();
  journal_.lose_power_over_writing();
}

} // namespace codeq::sim
