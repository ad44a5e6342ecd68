// SPDX-License-Identifier: Apache-2.0
#include "sim/coordinator_process.hpp"

#include "base/tuning.hpp"
#include "protocol/reply.hpp"
#include "sim/or_throw.hpp"
#include "sim/workload.hpp"

#include <algorithm>
#include <stdexcept>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t store_id = 7;

/// A hello is answered within this time, even when other processes of its name are probed first.
constexpr virtual_time hello_wait_max = 10s;

/// So small that a stalled connection soon has no room for more tasks or results.
constexpr std::uint64_t waiting_bytes_max = 600;

/// So small that every snapshot packs nearly everything.
core::paging_limits small_pages() {
  core::paging_limits limits;
  limits.weight_kept = 2 * core::segment_table::segment_weight;
  limits.block_segments_max = 3;
  limits.block_tasks_max = 8;
  return limits;
}

/// Leaves the shard this number of tokens before it needs another epoch.
void spend_epoch(core::shard_state& state, std::uint64_t left) {
  state.tokens.next += (tuning::token_counter_max + 1) / 8 * 7 - left;
}

storage::store_record open(sim_disk& disk, std::uint16_t shards) {
  auto record = or_throw(storage::open_identity(disk.store(), shards, store_id));
  disk.sync();
  return record;
}

} // namespace

coordinator_process::coordinator_process(world& all, sim_disk& disk, auditor& audit)
  : world_(all),
    disk_(disk),
    auditor_(audit),
    process_(all),
    identity_(open(disk, all.options.shards)),
    registrar_box_(all, process_),
    registrar_({identity_.shard_count, identity_.epoch, store_id}, *this),
    journal_(all, process_, disk, identity_),
    reader_(all, process_, disk),
    board_(std::make_shared<coordinator::shared_board>(identity_.shard_count)),
    may_have_lost_(disk.take_may_have_lost()) {
  for (std::uint16_t i = 0; i < identity_.shard_count; ++i)
    recover_shard(static_cast<shard_id>(i));
  if (world_.options.has_limits)
    define_limits();
  world_.say("coordinator starts epoch=" + std::to_string(identity_.epoch));
}

void coordinator_process::define_limits() {
  for (auto& shard : shards_)
    shard->box().send([&one = *shard] {
      for (const auto& [name, definition] : sim_limits)
        one.decide(core::set_limit{nobody, 0, {"default", name}, definition});
      // Its tasks wait for a while after each start.
      one.decide(core::close_limit_key{nobody, 0, {"default", "one"}, "0", key_closed_for});
    });
}

void coordinator_process::recover_shard(shard_id id) {
  auto state = or_throw(storage::recover(disk_.store(), id, identity_.epoch, world_.steady()));
  state->segments.set_limits(small_pages());
  auto followed = disk_.follow(id, identity_.epoch);
  auditor_.time_recovered(state->at, followed->at);
  auditor_.recovered(*state, *followed, "a follower");
  if (world_.random.faults.hits(world_.options.spent_epochs))
    spend_epoch(*state, world_.random.faults.below(100));
  auto neighbour = [this](shard_id other) -> sim_shard& { return *shards_[value(other)]; };
  shards_.push_back(std::make_unique<sim_shard>(
    world_,
    process_,
    sim_shard::parts{
      std::move(state), &journal_, &reader_, &auditor_, identity_.shard_count, neighbour, board_,
      may_have_lost_}));
}

timestamp coordinator_process::earliest_shard_now() {
  auto earliest = timestamp::max();
  for (auto& shard : shards_)
    earliest = std::min(earliest, shard->now());
  return earliest;
}

void coordinator_process::accept(const connection_ptr& made) {
  // Until its hello is accepted, the connection is handled here, without a session.
  made->attach(
    side::acceptor,
    [this, weak = made->weak_from_this()](const protocol::wire_frame& frame) {
      process_.enter([this, from = weak.lock(), frame] { take_hello(from, frame); });
    },
    {});
}

void coordinator_process::take_hello(
  const connection_ptr& from, const protocol::wire_frame& frame) {
  if (frame.type != protocol::frame_type<schema::Hello>)
    throw std::runtime_error("a connection begins without a hello");
  check_hellos();
  auto number = ++last_hello_;
  hellos_.emplace(number, open_hello{from, world_.time.now()});
  registrar_box_.send([this, number, hello = or_throw(protocol::hello::parse(frame.body))] {
    registrar_.welcome(number, hello, earliest_shard_now());
  });
}

void coordinator_process::check_hellos() {
  // The first one has waited for the longest time.
  if (!hellos_.empty() && world_.time.now() - hellos_.begin()->second.since > hello_wait_max)
    auditor_.breach("names", "a node that said hello gets no answer");
}

void coordinator_process::open_session(std::uint64_t hello, coordinator::session_opening opening) {
  auto peer = opening.session.peer;
  sim_session::parts made;
  made.session = opening.session;
  made.session.delivery_bytes_max = waiting_bytes_max;
  made.session.result_bytes_max = waiting_bytes_max;
  made.role = opening.node.role;
  made.link = std::move(hellos_.extract(hello).mapped().from);
  for (auto& shard : shards_)
    made.shards.push_back(shard.get());
  made.on_end = [this, peer] { registrar_box_.send([this, peer] { registrar_.forget(peer); }); };
  auto at = sessions_.emplace(peer, std::make_unique<sim_session>(world_, process_, made)).first;
  auto* session = at->second.get();
  coordinator::peer_attached who{peer, opening.session.worker, opening.node.queues};
  // An operator of the simulation stands for a gateway, too.
  who.watches_queues = who.is_gateway = opening.node.role == schema::Role::OPERATOR;
  for (auto& shard : shards_)
    shard->box().send([to = shard.get(), who, session] { to->attach(who, *session); });
  session->send(opening.ack.to_wire());
  connect(peer, *session);
}

void coordinator_process::connect(core::peer_id peer, sim_session& session) {
  auto link = session.link();
  link->attach(
    side::acceptor,
    [this, &session, peer](const protocol::wire_frame& frame) {
      process_.enter([this, &session, peer, frame] {
        if (frame.type != protocol::frame_type<schema::Pong>)
          return session.take(frame);
        auto [begin, end] = pongs_.equal_range(peer);
        for (auto asked = begin; asked != end; ++asked)
          *asked->second = true;
      });
    },
    [this, &session] { process_.enter([&session] { session.connection_lost(); }); });
  if (!link->is_open())
    session.connection_lost();
}

void coordinator_process::probe(core::peer_id peer, std::uint64_t hello) {
  // The process that holds the name is alive if it answers a ping in time.
  auto asked = sessions_.at(peer)->link();
  auto pong = std::make_shared<bool>(false);
  asked->send(side::acceptor, protocol::ping::build([](auto r) { r.setNumber(1); }).to_wire());
  pongs_.emplace(peer, pong);
  process_.after(tuning::name_probe_timeout, [this, peer, hello, pong] {
    registrar_box_.send([this, peer, hello, pong] {
      if (!*pong)
        silent_.insert(peer);
      registrar_.probed(hello, peer, *pong, earliest_shard_now());
    });
  });
}

void coordinator_process::refuse(std::uint64_t hello, const error& reason) {
  auto from = std::move(hellos_.extract(hello).mapped().from);
  from->send(side::acceptor, protocol::make_refused(reason).to_wire());
  from->close(side::acceptor);
}

void coordinator_process::end_session(core::peer_id peer, const error& reason) {
  if (reason.code == errc::superseded && !silent_.contains(peer))
    auditor_.breach("names", "a worker that may live lost its name");
  sessions_.at(peer)->end_later(reason);
}

void coordinator_process::detach(core::peer_id peer) {
  for (auto& shard : shards_)
    shard->box().send([to = shard.get(), peer] { to->detach(peer); });
}

void coordinator_process::to_shards(core::command command) {
  for (auto& shard : shards_)
    shard->box().send([to = shard.get(), command] { to->decide(command); });
}

void coordinator_process::stop() {
  registrar_box_.send([this] { registrar_.stop(); });
  for (auto& shard : shards_)
    shard->box().send([to = shard.get()] { to->stop(); });
}

bool coordinator_process::has_stopped() const {
  return std::all_of(
    shards_.begin(), shards_.end(), [](const auto& shard) { return shard->has_settled(); });
}

void coordinator_process::kill() {
  process_.kill();
  journal_.lose_power_over_writing();
}

} // namespace codeq::sim
