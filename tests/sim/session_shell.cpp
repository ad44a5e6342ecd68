// SPDX-License-Identifier: Apache-2.0
#include "sim/session_shell.hpp"

#include "protocol/operator_convert.hpp"
#include "protocol/reply.hpp"
#include "sim/shard_shell.hpp"

#include <type_traits>
#include <utility>

namespace codeq::sim {

namespace {

/// True for messages that a session passes on to the shard that they name.
template <class S>
constexpr bool names_shard = false;
template <>
constexpr bool names_shard<schema::EnqueueRequest> = true;
template <>
constexpr bool names_shard<schema::HeartbeatRequest> = true;
template <>
constexpr bool names_shard<schema::ResultRequest> = true;
template <>
constexpr bool names_shard<schema::ResumeRequest> = true;
template <>
constexpr bool names_shard<schema::AwaitRequest> = true;

/// True for what operators ask of one shard.
template <class S>
constexpr bool is_of_operator = false;
template <>
constexpr bool is_of_operator<schema::ChangeRequest> = true;
template <>
constexpr bool is_of_operator<schema::ForceRequest> = true;
template <>
constexpr bool is_of_operator<schema::QueueRequest> = true;
template <>
constexpr bool is_of_operator<schema::BulkRequest> = true;

} // namespace

session_shell::session_shell(world& all, process& home, parts made)
  : world_(all), parts_(std::move(made)), box_(all, home), router_(parts_.shards.size()) {
  if (parts_.node.role == schema::Role::WORKER)
    worker_ = std::make_shared<const worker_identity>(parts_.node.identity);
  for (auto* shard : parts_.shards)
    shard->box().send([this, shard] {
      shard->attach({parts_.peer, this, worker_, parts_.node.queues});
    });
}

void session_shell::later(timeline::action what) {
  box_.send([this, what = std::move(what)] {
    if (!over_)
      what();
  });
}

void session_shell::take(const protocol::wire_frame& frame) {
  later([this, frame] { read(frame); });
}

void session_shell::read(const protocol::wire_frame& frame) {
  auto handled = protocol::visit_frame(frame, [this]<class S>(protocol::frame<S> m) {
    if constexpr (names_shard<S>)
      forward(m);
    else if constexpr (std::is_same_v<S, schema::ClaimRequest>)
      claim(m);
    else if constexpr (is_of_operator<S>)
      ask_shard(m);
    else if constexpr (std::is_same_v<S, schema::Goodbye>)
      goodbye();
  });
  if (!handled)
    end(handled.error());
}

template <class S>
void session_shell::forward(const protocol::frame<S>& m) {
  auto shard = protocol::shard_of(m, parts_.shards.size());
  if (!shard)
    return end(shard.error());
  auto* to = parts_.shards[value(*shard)];
  to->box().send([to, peer = parts_.peer, m] { to->take(peer, m); });
}

void session_shell::claim(const protocol::claim_request& m) {
  auto credits = m.read([&](auto reader) -> result<std::uint32_t> {
    lease_wish_ = duration{static_cast<duration::rep>(reader.getLeaseMs())};
    batch_tasks_ = reader.getBatchTasks();
    return reader.getCredits();
  });
  if (!credits)
    return end(credits.error());
  // A worker that drains asks for none, and takes back those that wait.
  carry_out(*credits == 0 ? router_.pause(true) : router_.add_credits(*credits));
}

void session_shell::carry_out(const coordinator::claim_router::moves& moves) {
  for (const auto& move : moves) {
    auto* to = parts_.shards[value(move.shard)];
    if (move.what == coordinator::claim_router::move::kind::claim)
      to->box().send([to, c = core::claim{parts_.peer, move.credits, lease_wish_, batch_tasks_}] {
        to->decide(c);
      });
    else
      to->box().send([to, c = core::revoke_credits{parts_.peer, move.credits}] { to->decide(c); });
  }
}

void session_shell::deliver(const batch& tasks) {
  later([this, tasks] {
    parts_.link->send(side::acceptor, tasks.frame);
    if (!tasks.redelivered)
      carry_out(router_.granted(tasks.shard, tasks.count, tasks.more));
  });
}

void session_shell::send_later(const protocol::wire_frame& frame) {
  later([this, frame] { parts_.link->send(side::acceptor, frame); });
}

void session_shell::drained(shard_id shard) {
  later([this, shard] { carry_out(router_.drained(shard)); });
}

void session_shell::has_work(shard_id shard) {
  later([this, shard] { carry_out(router_.has_work(shard)); });
}

void session_shell::credits_returned(shard_id shard, std::uint32_t credits) {
  later([this, shard, credits] { carry_out(router_.returned(shard, credits)); });
}

void session_shell::goodbye() {
  if (worker_) {
    // First, or what it gives back would be granted to it again.
    carry_out(router_.pause(true));
    for (auto* to : parts_.shards)
      to->box().send([to, worker = worker_] { to->release(worker); });
  }
  parts_.link->close(side::acceptor);
}

template <class S>
void session_shell::ask_shard(const protocol::frame<S>& m) {
  auto address = protocol::address_of(m);
  if (!address)
    return end(address.error());
  auto* to = parts_.shards[address->shard];
  to->box().send([to, peer = parts_.peer, m] { to->take(peer, m); });
}

void session_shell::end_later(const error& reason) {
  later([this, reason] { end(reason); });
}

void session_shell::end(const error& reason) {
  world_.say("session ends: " + to_string(reason));
  parts_.link->send(side::acceptor, protocol::make_refused(reason).to_wire());
  parts_.link->close(side::acceptor);
}

void session_shell::connection_lost() {
  later([this] {
    over_ = true;
    parts_.on_end(*this);
  });
}

} // namespace codeq::sim
