// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/session_driver.hpp"

#include "coordinator/actors/ask_cluster.hpp"
#include "coordinator/actors/claim_proxy_driver.hpp"
#include "coordinator/actors/gather_stats.hpp"
#include "coordinator/actors/node_log.hpp"
#include "observe/log.hpp"
#include "transport/spawn_beside_sockets.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace codeq::coordinator {

namespace {

/// Others may have asked just before, so that the shards are asked twice in that time.
constexpr duration counts_timeout = 3 * stats_timeout;

} // namespace

session_driver::~session_driver() {
  if (options_.loop)
    options_.loop->remove(options_.session.peer);
}

void session_driver::start(session_actor::pointer self, const session_driver_options& options) {
  self_ = self;
  options_ = options;
  session_.emplace(options_.session, *this);
  const auto& bearer = options_.session.bearer;
  unread_.emplace(options_.unread, bearer ? bearer->tenant : "default");
  if (options_.loop)
    options_.loop->add(options_.session.peer, *this);
  // The connection may have ended before it got this session as its owner.
  self_->monitor(options_.connection);
}

session& session_driver::used() {
  auto since = self_->clock().now().time_since_epoch();
  options_.last_message->store(since.count(), std::memory_order_relaxed);
  return *session_;
}

void session_driver::ask_shard(shard_id to, peer_request request) {
  if (!options_.loop || !options_.loop->ask(to, request))
    self_->send(options_.shards[value(to)], std::move(request));
}

void session_driver::command_shard(shard_id to, core::command command) {
  if (!options_.loop || !options_.loop->command(to, command))
    self_->send(options_.shards[value(to)], shard_command{std::move(command)});
}

void session_driver::send(const protocol::wire_frame& frame) {
  sent_ += protocol::frame_header_bytes + frame.body.size();
  auto* outlet = options_.loop ? options_.outgoing->outlet : nullptr;
  if (outlet == nullptr)
    return self_->send(options_.connection, frame);
  outlet->write(frame);
  options_.loop->written(options_.outgoing);
}

void session_driver::close(const error& reason) {
  self_->send(options_.connection, actors::close_connection{reason});
}

void session_driver::gather_stats(bool with_leases) {
  auto tell = [this, with_leases](const result<base::coordinator_counts>& counts) {
    if (with_leases)
      session_->tell_workers(counts);
    else
      session_->tell_stats(counts);
  };
  self_->request(options_.counts, counts_timeout, ask_counts{with_leases})
    .then(
      [tell](const counts_told& told) { tell(*told.counts); },
      [tell](const caf::error&) {
        tell(error{
          errc::timeout,
          "the shards have not been counted within " + std::to_string(counts_timeout.count())
            + " ms"});
      });
}

void session_driver::ask_cluster(
  std::uint64_t number, const cluster_change& change, const core::origin_ptr& by) {
  auto done = [this, number](const result<cluster_status>& told) {
    session_->tell_cluster(number, told);
  };
  coordinator::ask_cluster(self_, options_.replicas, {change, by}, done);
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

result<backup_status> session_driver::back_up(const backup_wish& wish) {
  return options_.backups(wish);
}

result<std::string> session_driver::set_log_level(const std::string& level) {
  const auto& bearer = options_.session.bearer;
  return observe::change_log_level(level, bearer ? bearer->subject : "-");
}

result<drain_outcome>
session_driver::drain_worker(const std::string& name, bool is_drained) {
  return options_.drained->set(name, is_drained);
}

void session_driver::mark_drained(std::vector<base::worker_counts>& workers) const {
  options_.drained->mark(workers);
}

result<std::vector<backup_info>> session_driver::list_backups() const {
  return options_.list_backups();
}

void session_driver::pass_claim(const claim_place& place, const claim_step& step) {
  auto& proxy = proxies_[place];
  if (!proxy) {
    const auto number = options_.claim_count->fetch_add(1, std::memory_order_relaxed);
    proxy = transport::spawn_beside_sockets(
      self_->system(),
      drive_claim_proxy,
      claim_proxy_options{
        place, claim_peer_of(number), options_.shards[value(place.shard)], session_actor(self_),
        options_.node_name, is_claim_noted_});
  }
  self_->send(proxy, claim_step_taken{step});
}

void session_driver::hold_claim(const claim_place& place, bool is_held) {
  if (const auto proxy = proxies_.find(place); proxy != proxies_.end())
    self_->send(proxy->second, coordinator::hold_claim{is_held});
}

void session_driver::take(const claim_proxy_ended& m) {
  proxies_.erase(m.place);
  session_->claim_ended(m.place);
}

timestamp session_driver::now() {
  return options_.clock->now().shard;
}

void session_driver::note_limit(std::string_view name, std::uint64_t max) {
  const auto& bearer = options_.session.bearer;
  options_.meter->note({name, max, "tenant", bearer ? std::string_view(bearer->tenant) : "-"});
}

void session_driver::note_goodbye() {
  CODEQ_LOG_AT(
    node_line_level(options_.session.worker != nullptr),
    "node says goodbye name={} remote={}",
    options_.node_name,
    options_.remote);
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
    [self](const shard_reply& m) { self->state.take(m); },
    [self](const task_delivery& m) { self->state.take(m); },
    [self](const credit_news& m) { self->state.take(m); },
    [self](const queues_added& m) { self->state.take(m); },
    [self](const peer_misbehaved& m) { self->state.take(m); },
    [self](const shard_moved& m) { self->state.take(m); },
    [self](places_changed) { self->state.hosted().map_changed(); },
    [self](const protocol::session_request& m) { self->state.take(m); },
    [self](const stored_request& m) { self->state.take(m); },
    [self](const request_without_share& m) { self->state.take(m); },
    [self](const wake_session& m) { self->state.hosted().wake(m.what); },
    [self](const actors::outgoing_pressure& m) { self->state.hosted().set_pressure(m.high); },
    [self](const drain_session& m) { self->state.hosted().set_drained(m.is_drained); },
    [self](const claim_frame& m) { self->state.take(m); },
    [self](const claim_proxy_ended& m) { self->state.take(m); },
    [self](const actors::connection_lost&) { self->quit(); },
    [self](const end_session& m) { self->state.hosted().end(m.reason); },
  };
}

} // namespace codeq::coordinator
