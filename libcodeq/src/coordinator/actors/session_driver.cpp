// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/session_driver.hpp"

#include "base/tuning.hpp"
#include "coordinator/actors/gather_stats.hpp"
#include "observe/log.hpp"
#include "protocol/convert.hpp"

#include <chrono>
#include <utility>
#include <variant>

namespace codeq::coordinator {

namespace {

/// Sends a session an enqueue with its share, or the refusal of one for which there is no share.
result<void> pass_on(
  const session_actor& session, const protocol::enqueue_request& m, const enqueue_payer& payer) {
  auto share = payer.shares->take(payer.tenant, m.body().size() + tuning::enqueue_overhead_bytes);
  if (share) {
    caf::anon_send(session, peer_enqueue{m, std::move(*share)});
    return {};
  }
  auto number = protocol::number_of(m);
  if (!number)
    return number.error();
  caf::anon_send(session, enqueue_without_share{*number, share.error()});
  return {};
}

} // namespace

void session_driver::start(session_actor::pointer self, const session_driver_options& options) {
  self_ = self;
  options_ = options;
  session_.emplace(options_.session, *this);
  const auto& bearer = options_.session.bearer;
  unread_.emplace(options_.unread, bearer ? bearer->tenant : "default");
  // The connection may have ended before it got this session as its owner.
  self_->monitor(options_.connection);
}

session& session_driver::used() {
  auto since = self_->clock().now().time_since_epoch();
  options_.last_message->store(since.count(), std::memory_order_relaxed);
  return *session_;
}

void session_driver::ask_shard(shard_id to, peer_request request) {
  self_->send(options_.shards[value(to)], std::move(request));
}

void session_driver::command_shard(shard_id to, core::command command) {
  self_->send(options_.shards[value(to)], shard_command{std::move(command)});
}

void session_driver::send(const protocol::wire_frame& frame) {
  sent_ += protocol::frame_header_bytes + frame.body.size();
  self_->send(options_.connection, frame);
}

void session_driver::close(const error& reason) {
  self_->send(options_.connection, actors::close_connection{reason});
}

void session_driver::gather_stats(std::uint64_t number) {
  auto done = [this, number](result<std::vector<base::coordinator_counts>> parts) {
    session_->tell_stats(number, std::move(parts));
  };
  coordinator::gather_stats(self_, options_.shards, std::move(done));
}

void session_driver::wake_after(duration wait, session_wake what) {
  self_->delayed_send(self_, wait, wake_session{what});
}

outgoing_bytes session_driver::outgoing() const {
  return {sent_, options_.outgoing->written.load(std::memory_order_relaxed)};
}

result<void> session_driver::keep_unread(std::uint64_t bytes) {
  return unread_->keep(bytes);
}

duration session_driver::take_rate(
  const security::principal& bearer, security::rate_scope scope, std::uint64_t cost) {
  auto since = self_->clock().now().time_since_epoch();
  monotonic_time now{std::chrono::duration_cast<duration>(since)};
  return options_.limiter->take(bearer, scope, cost, now);
}

std::map<std::string, std::int64_t> session_driver::gauges() const {
  return options_.gauges();
}

result<backup_status> session_driver::back_up(bool start) {
  return options_.backups(start);
}

result<std::string> session_driver::set_log_level(const std::string& level) {
  const auto& bearer = options_.session.bearer;
  return observe::change_log_level(level, bearer ? bearer->subject : "-");
}

void session_driver::note_limit(std::string_view name, std::uint64_t max) {
  const auto& bearer = options_.session.bearer;
  options_.meter->note({name, max, "tenant", bearer ? std::string_view(bearer->tenant) : "-"});
}

void session_driver::note_goodbye() {
  // Tools and short-lived producers come and go all the time.
  auto level = options_.session.worker ? observe::log_level::info : observe::log_level::debug;
  CODEQ_LOG_AT(
    level, "node says goodbye name={} remote={}", options_.node_name, options_.remote);
}

void session_driver::note_refused(const error& reason) {
  CODEQ_LOG_WARN(
    "session refuses peer name={} remote={} reason=\"{}\"",
    options_.node_name,
    options_.remote,
    to_string(reason));
}

session_actor::behavior_type drive_session(
  session_actor::stateful_pointer<session_driver> self, const session_driver_options& options) {
  self->set_default_handler(caf::drop);
  self->set_down_handler([self](const caf::down_msg&) { self->quit(); });
  self->state.start(self, options);
  return {
    [self](const shard_reply& m) { self->state.hosted().take(m); },
    [self](const task_delivery& m) { self->state.hosted().take(m); },
    [self](const credit_news& m) { self->state.hosted().take(m); },
    [](const queues_added&) {},
    [self](const peer_misbehaved& m) { self->state.hosted().end(m.reason); },
    [self](const protocol::session_request& m) { self->state.used().take(m); },
    [self](const peer_enqueue& m) { self->state.used().take(m.request, m.share); },
    [self](const enqueue_without_share& m) { self->state.used().take(m); },
    [self](const wake_session& m) { self->state.hosted().wake(m.what); },
    [self](const actors::outgoing_pressure& m) { self->state.hosted().set_pressure(m.high); },
    [self](const actors::connection_lost&) { self->quit(); },
    [self](const end_session& m) { self->state.hosted().end(m.reason); },
  };
}

actors::frame_sink
session_sink(schema::Role role, const session_actor& session, enqueue_payer payer) {
  return
    [role, session, payer = std::move(payer)](const protocol::wire_frame& frame) -> result<void> {
      auto request = protocol::read_request(role, frame);
      if (!request)
        return request.error();
      if (const auto* enqueue = std::get_if<protocol::enqueue_request>(&*request))
        return pass_on(session, *enqueue, payer);
      caf::anon_send(session, std::move(*request));
      return {};
    };
}

} // namespace codeq::coordinator
