// SPDX-License-Identifier: Apache-2.0
#include "sim/operator_process.hpp"

#include "base/tuning.hpp"
#include "client/operator_replies.hpp"
#include "sim/or_throw.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

/// An open connection without a stall must answer within this time.
constexpr virtual_time answer_max = 3s;

protocol::hello make_hello() {
  return protocol::hello::build([](auto r) {
    r.setMinVersion(1);
    r.setMaxVersion(1);
    r.setRole(schema::Role::OPERATOR);
    r.setName("operator");
    r.setIncarnation(1);
  });
}

/// Awaits more tasks than one request may.
protocol::await_request oversized_await() {
  return protocol::await_request::build([](auto r) {
    r.initSeqs(static_cast<capnp::uint>(tuning::awaited_tasks_per_request_max + 1));
  });
}

/// True for messages that answer an operator's request.
template <class S>
constexpr bool is_answer = false;
template <>
constexpr bool is_answer<schema::ChangeReply> = true;
template <>
constexpr bool is_answer<schema::QueueReply> = true;
template <>
constexpr bool is_answer<schema::BulkReply> = true;
template <>
constexpr bool is_answer<schema::StatsReply> = true;
template <>
constexpr bool is_answer<schema::ListReply> = true;
template <>
constexpr bool is_answer<schema::ScheduleReply> = true;

} // namespace

operator_process::operator_process(world& all, network& net, auditor& audit)
  : world_(all), auditor_(audit), process_(all), link_(all, net, process_) {
  link_.start(
    make_hello(),
    {[this](std::size_t shards, std::uint64_t) { shards_ = static_cast<std::uint16_t>(shards); },
     [this] { asked_.clear(); },
     [this](const protocol::wire_frame& frame) { take(frame); },
     [](errc) {}});
}

void operator_process::ask(
  const std::string& what, const client::question& q, answer_function answered) {
  auto number = next_number_++;
  world_.say("operator asks for " + what);
  asked_.emplace(number, std::move(answered));
  link_.send(q(number));
  expect_answer(number, what, link_.current());
}

void operator_process::expect_answer(
  std::uint64_t number, const std::string& what, const connection_ptr& link) {
  process_.after(answer_max, [this, number, what, weak = std::weak_ptr(link)] {
    auto then = weak.lock();
    if (!then || link_.current() != then || !then->is_open() || !asked_.contains(number))
      return;
    bool was_stalled =
      then->was_stalled(side::dialler, answer_max) || then->was_stalled(side::acceptor, answer_max);
    if (was_stalled)
      expect_answer(number, what, then);
    else
      auditor_.breach("operator", what + " was not answered");
  });
}

void operator_process::count() {
  if (link_.is_up())
    ask("counts", client::ask_stats(), [](const auto&) {});
}

void operator_process::misbehave() {
  if (!link_.is_up())
    return;
  world_.say("operator misbehaves");
  link_.send(oversized_await());
  process_.after(answer_max, [this, weak = std::weak_ptr(link_.current())] {
    auto then = weak.lock();
    if (
      then && link_.current() == then && then->is_open()
      && !then->was_stalled(side::dialler, answer_max)
      && !then->was_stalled(side::acceptor, answer_max))
      auditor_.breach("operator", "a peer that broke the protocol is still connected");
  });
}

void operator_process::ask_change(
  const task_id& of, const client::task_address& task, task_change what) {
  auto text = std::to_string(static_cast<int>(what)) + " of "
              + (task.key ? task.key->key : std::to_string(of.seq));
  ask(text, client::ask_change(task, what), [this, what](const protocol::wire_frame& frame) {
    auto reply = or_throw(client::read_change(or_throw(protocol::change_reply::parse(frame.body))));
    if (reply.answer && reply.answer->what != change_result::not_found)
      auditor_.change_answered(reply.answer->id, what, *reply.answer);
  });
}

void operator_process::ask(const task_id& task, task_change what) {
  if (!link_.is_up())
    return;
  auditor_.change_asked(task, what);
  ask_change(task, {task}, what);
}

void operator_process::ask(const task_key& key, task_change what) {
  if (!link_.is_up())
    return;
  auditor_.change_asked(key, what);
  ask_change({}, client::address_of(key, shards_), what);
}

void operator_process::force(const task_id& task, force_kind how) {
  if (!link_.is_up())
    return;
  auto text = how == force_kind::revoke ? std::string() : "forced-" + std::to_string(++forced_);
  auditor_.force_asked(task, how, text);
  auto answered = [this, task, how, since = world_.time.now()](const protocol::wire_frame& frame) {
    auto reply = or_throw(client::read_change(or_throw(protocol::change_reply::parse(frame.body))));
    if (reply.answer)
      auditor_.force_answered(task, how, since, *reply.answer);
  };
  ask(
    "force " + std::to_string(static_cast<int>(how)) + " of " + std::to_string(task.seq),
    client::ask_force(task, how, text),
    answered);
}

void operator_process::pause(const queue_address& queue, bool paused) {
  for (std::uint16_t i = 0; link_.is_up() && i < shards_; ++i) {
    auto shard = static_cast<shard_id>(i);
    auto wish = auditor_.pause_asked(shard, queue, paused);
    auto answered = [this, shard, queue, wish](const protocol::wire_frame& frame) {
      auto reply = or_throw(client::read_queue(or_throw(protocol::queue_reply::parse(frame.body))));
      if (reply.answer)
        auditor_.pause_answered(shard, queue, wish, reply.answer->settings.paused);
    };
    ask(
      (paused ? "pause of " : "resume of ") + queue.queue,
      client::pause_queue(i, queue, paused),
      answered);
  }
}

void operator_process::configure(const queue_address& queue, const queue_config& config) {
  for (std::uint16_t i = 0; link_.is_up() && i < shards_; ++i)
    ask("settings of " + queue.queue, client::set_queue(i, queue, config), [](const auto&) {});
}

void operator_process::purge(const queue_address& queue) {
  if (!link_.is_up())
    return;
  auditor_.purge_asked(queue);
  for (std::uint16_t i = 0; i < shards_; ++i)
    purge_part({queue, {i, 0, 0}, world_.time.now()});
}

void operator_process::purge_part(const walk& w) {
  auto part = w;
  part.at.limit = static_cast<std::uint32_t>(world_.random.workload.between(1, 8));
  auto answered = [this, w](const protocol::wire_frame& frame) {
    auto reply = or_throw(client::read_bulk(or_throw(protocol::bulk_reply::parse(frame.body))));
    auto next = w;
    next.at.after = or_throw(std::move(reply.answer)).after;
    if (reply.answer->more)
      return purge_part(next);
    auditor_.purged(static_cast<shard_id>(w.at.shard), w.queue, w.began_at);
  };
  ask(
    "a purge of " + w.queue.tenant + "/" + w.queue.queue,
    client::change_many(core::bulk_kind::purge_all, w.queue, part.at),
    answered);
}

void operator_process::list() {
  if (!link_.is_up())
    return;
  list_walk w;
  w.began_at = world_.time.now();
  w.at.shard = static_cast<std::uint16_t>(world_.random.workload.below(shards_));
  w.at.newest_first = world_.random.workload.hits(500);
  list_part(w);
}

void operator_process::list_part(const list_walk& w) {
  auto part = w;
  part.at.limit = static_cast<std::uint32_t>(world_.random.workload.between(1, 8));
  auto answered = [this, w](const protocol::wire_frame& frame) {
    auto reply = or_throw(client::read_list(or_throw(protocol::list_reply::parse(frame.body))));
    auto told = or_throw(std::move(reply.answer));
    auto next = w;
    for (const auto& task : told.tasks)
      next.seen.push_back(task.id.seq);
    (w.at.newest_first ? next.at.below : next.at.after) = told.after;
    if (told.more)
      return list_part(next);
    if (w.at.newest_first)
      std::reverse(next.seen.begin(), next.seen.end());
    auditor_.listed(static_cast<shard_id>(w.at.shard), next.seen, w.began_at);
  };
  ask("a list of shard " + std::to_string(w.at.shard), client::list_tasks({}, part.at), answered);
}

void operator_process::take(const protocol::wire_frame& frame) {
  auto handled = protocol::visit_frame(frame, [&]<class S>(const protocol::frame<S>& m) {
    if constexpr (is_answer<S>) {
      auto number = m.read([](auto r) -> result<std::uint64_t> { return r.getNumber(); });
      if (auto asked = asked_.extract(*number))
        asked.mapped()(frame);
    }
  });
  if (!handled)
    throw std::runtime_error("operator: " + to_string(handled.error()));
}

} // namespace codeq::sim
