// SPDX-License-Identifier: Apache-2.0
#include "http/shard_desk.hpp"

#include "codeq/limits.hpp"

#include "base/random.hpp"
#include "coordinator/gather_stats.hpp"
#include "encoding/shared_structs.hpp"
#include "http/gateway_limits.hpp"
#include "observe/log.hpp"
#include "protocol/convert.hpp"
#include "protocol/shared_data.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <type_traits>

namespace codeq::http {

namespace {

/// The registrar counts its sessions from 1 and never comes this far.
constexpr core::peer_id first_peer = 0x8000'0000;

const error& going_away() {
  static const error reason{errc::going_away, "the coordinator is stopping"};
  return reason;
}

/// The payload of an encoded task body.
result<std::string> payload_of(const bytes& body) {
  auto frame = protocol::frame<schema::TaskBody>::parse(body);
  if (!frame)
    return frame.error();
  return frame->read([](schema::TaskBody::Reader reader) -> result<std::string> {
    return protocol::string_of(reader.getPayload());
  });
}

result<client::told<task_detail>> read_detail(const protocol::status_reply& reply) {
  auto status = client::read_status(reply);
  if (!status)
    return status.error();
  if (!status->answer)
    return client::told<task_detail>{status->answer.error()};
  return reply.read([&](auto from) -> result<client::told<task_detail>> {
    task_detail detail{std::move(*status->answer)};
    detail.lease_left = duration{static_cast<duration::rep>(from.getLeaseLeftMs())};
    if (auto body = protocol::share(reply.body(), from.getBody()); !body.empty()) {
      auto payload = payload_of(body);
      if (!payload)
        return payload.error();
      detail.payload = std::move(*payload);
    }
    return client::told<task_detail>{std::move(detail)};
  });
}

} // namespace

void shard_desk::start(gateway_actor::pointer self, const desk_options& options) {
  self_ = self;
  options_ = options;
  peer_ = last_peer_ = first_peer;
  attach();
  outbox_.emplace(client::enqueue_outbox::options{
    limits::http_enqueues_in_flight_max, [this] {
      return make_producer_id(
        now(), static_cast<std::uint16_t>(base::random_bits()), base::random_bits());
    }});
  client::store_identity store{options_.store_id, shard_count()};
  outbox_->connect(
    [this](const protocol::enqueue_request& m) { send_frame(0, m.to_wire()); }, store);
  watch_list_.connect(
    [this](const protocol::await_request& m) { send_frame(0, m.to_wire()); }, store);
}

void shard_desk::attach() {
  auto me = caf::actor_cast<actors::session_actor>(gateway_actor(self_));
  for (const auto& shard : options_.shards)
    self_->send(
      shard, actors::attach_session{peer_, me, nullptr, {}, nullptr, gateway_actor(self_)});
}

core::peer_id shard_desk::next_peer() {
  // After two thousand million of them the first are free again.
  last_peer_ = std::max(last_peer_ + 1, peer_ + 1);
  return last_peer_;
}

template <class S>
void shard_desk::send_as(std::uint16_t shard, const protocol::wire_frame& frame) {
  auto message = protocol::frame<S>::parse(frame.body);
  if (!message)
    return;
  // Those that the client's parts build name their shard themselves.
  if constexpr (requires(typename S::Reader r) { r.getShard(); }) {
    auto named = protocol::shard_of(*message, options_.shards.size());
    shard = named ? value(*named) : shard;
  }
  self_->send(options_.shards[shard], actors::from_peer<S>{peer_, std::move(*message)});
}

void shard_desk::send_frame(std::uint16_t shard, const protocol::wire_frame& frame) {
  switch (frame.type) {
  case protocol::frame_type<schema::EnqueueRequest>:
    return send_as<schema::EnqueueRequest>(shard, frame);
  case protocol::frame_type<schema::AwaitRequest>:
    return send_as<schema::AwaitRequest>(shard, frame);
  case protocol::frame_type<schema::HeartbeatRequest>:
    return send_as<schema::HeartbeatRequest>(shard, frame);
  case protocol::frame_type<schema::ResultRequest>:
    return send_as<schema::ResultRequest>(shard, frame);
  case protocol::frame_type<schema::StatusRequest>:
    return send_as<schema::StatusRequest>(shard, frame);
  case protocol::frame_type<schema::ChangeRequest>:
    return send_as<schema::ChangeRequest>(shard, frame);
  case protocol::frame_type<schema::ForceRequest>:
    return send_as<schema::ForceRequest>(shard, frame);
  case protocol::frame_type<schema::QueueRequest>:
    return send_as<schema::QueueRequest>(shard, frame);
  case protocol::frame_type<schema::BulkRequest>:
    return send_as<schema::BulkRequest>(shard, frame);
  case protocol::frame_type<schema::ListRequest>:
    return send_as<schema::ListRequest>(shard, frame);
  case protocol::frame_type<schema::ExplainRequest>:
    return send_as<schema::ExplainRequest>(shard, frame);
  case protocol::frame_type<schema::EventsRequest>:
    return send_as<schema::EventsRequest>(shard, frame);
  default:
    CODEQ_LOG_ERROR("gateway cannot send a frame type={}", frame.type);
  }
}

void shard_desk::enqueue(const task_spec& task, then<enqueued_task> done) {
  if (stopped_)
    return done(going_away());
  auto encoded = protocol::encoded_tasks::encode({&task, 1});
  if (!encoded)
    return done(encoded.error());
  auto tasks = std::make_shared<const protocol::encoded_tasks>(std::move(*encoded));
  outbox_->submit(std::move(tasks), [done](result<enqueue_answers> answers) {
    if (answers)
      done(std::move(answers->front()));
    else
      done(answers.error());
  });
}

void shard_desk::describe(
  const client::task_address& task, bool with_body, then<task_detail> done) {
  if (value(task.task.shard) >= shard_count())
    return done(error{errc::unknown_task, "no such task: its shard is not there"});
  if (with_body)
    return describe_body(task, std::move(done));
  ask<task_detail>(value(task.task.shard), client::ask_status(task), &read_detail, std::move(done));
}

void shard_desk::describe_body(const client::task_address& task, then<task_detail> done) {
  waiting_bodies_.push_back([this, task, done = std::move(done)] {
    auto finish = [this, done](result<task_detail> found) {
      --open_bodies_;
      done(std::move(found));
      read_next_bodies();
    };
    ask<task_detail>(
      value(task.task.shard), client::ask_status(task, true), &read_detail, std::move(finish));
  });
  read_next_bodies();
}

void shard_desk::read_next_bodies() {
  // What is refused at once comes back here.
  if (std::exchange(reads_bodies_, true))
    return;
  while (!waiting_bodies_.empty() && open_bodies_ < limits::http_bodies_read_max) {
    auto next = std::move(waiting_bodies_.front());
    waiting_bodies_.pop_front();
    ++open_bodies_;
    next();
  }
  reads_bodies_ = false;
}

void shard_desk::stats(then<coordinator_stats> done) {
  stats_by_shard([done = std::move(done)](const result<std::vector<coordinator_stats>>& parts) {
    if (parts)
      done(coordinator::sum_of(*parts));
    else
      done(parts.error());
  });
}

void shard_desk::stats_by_shard(then<std::vector<coordinator_stats>> done) {
  coordinator::gather_stats(self_, options_.shards, std::move(done));
}

void shard_desk::take(const protocol::wire_frame& frame) {
  switch (frame.type) {
  case protocol::frame_type<schema::ResultReply>:
    return take_reports(frame);
  case protocol::frame_type<schema::LeasesLost>:
    return take_lost(frame);
  case protocol::frame_type<schema::TasksEnded>:
    if (auto ended = protocol::tasks_ended::parse(frame.body)) {
      if (auto ok = watch_list_.accept(*ended); !ok)
        CODEQ_LOG_ERROR("gateway cannot read ends reason=\"{}\"", to_string(ok.error()));
    }
    return;
  default:
    return take_reply(frame);
  }
}

void shard_desk::take_reply(const protocol::wire_frame& frame) {
  std::uint64_t number = 0;
  auto read = protocol::visit_frame(frame, [&](const auto& typed) {
    using reader = typename std::decay_t<decltype(typed)>::reader_type;
    if constexpr (requires(reader r) { r.getNumber(); }) {
      auto found = typed.read([](auto r) -> result<std::uint64_t> { return r.getNumber(); });
      number = found ? *found : 0;
    }
  });
  auto open = read ? questions_.extract(number) : decltype(questions_)::node_type{};
  if (!open.empty())
    open.mapped().answered(frame);
}

void shard_desk::take(const actors::enqueue_done& m) {
  auto reply = protocol::enqueue_reply::parse(m.frame.body);
  if (!reply)
    return;
  auto accepted = outbox_->accept(*reply);
  if (!accepted)
    CODEQ_LOG_ERROR("gateway cannot read an answer reason=\"{}\"", to_string(accepted.error()));
  else if (*accepted)
    after((*accepted)->pause, [this, number = (*accepted)->number] { outbox_->retry_due(number); });
}

void shard_desk::misbehaved(const error& reason) {
  CODEQ_LOG_WARN("gateway begins a new session reason=\"{}\"", to_string(reason));
  for (const auto& shard : options_.shards)
    self_->send(shard, actors::detach_session{peer_});
  // Whoever is told of it may ask again at once.
  peer_ = next_peer();
  attach();
  fail_all({errc::overloaded, reason.context});
}

void shard_desk::fail_all(const error& reason) {
  for (auto& [number, open] : std::exchange(questions_, {}))
    open.failed(reason);
  for (auto& [name, done] : std::exchange(reports_, {}))
    done(reason);
  beats_.clear();
  watch_list_.fail_all(reason);
  outbox_->fail_all(reason);
}

void shard_desk::stop() {
  stopped_ = true;
  fail_all(going_away());
  for (auto& [claim, start] : std::exchange(early_claims_, {}))
    start();
  for (auto& [claim, open] : claims_)
    self_->send(open.actor, end_claim{});
  // Whoever waits for a time has to answer now.
  timers_.run_due(monotonic_time::max());
}

void shard_desk::after(duration wait, std::function<void()> action) {
  if (stopped_)
    return action();
  timers_.add(options_.clock->now().steady + wait, std::move(action));
  arm();
}

void shard_desk::tick() {
  armed_.reset();
  timers_.run_due(options_.clock->now().steady);
  arm();
}

void shard_desk::arm() {
  auto next = timers_.next();
  if (!next || (armed_ && *armed_ <= *next))
    return;
  armed_ = next;
  auto wait = std::max(duration{0}, *next - options_.clock->now().steady);
  self_->delayed_send(self_, wait, gateway_tick{});
}

} // namespace codeq::http
