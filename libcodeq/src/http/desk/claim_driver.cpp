// SPDX-License-Identifier: Apache-2.0
#include "http/desk/claim_driver.hpp"

#include "observe/log.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

namespace codeq::http {

void claim_driver::start(claim_actor::pointer self, const claim_driver_options& options) {
  self_ = self;
  options_ = options;
  const auto shards = options_.shards.size();
  options_.far.resize(shards);
  auto run = options_.run;
  run.shard_count = shards;
  for (std::uint16_t i = 0; i < shards; ++i)
    if (options_.far[i])
      run.reached.insert(shard_id{i});
  run_.emplace(std::move(run), *this);
  run_->start();
}

void claim_driver::take(const far_shards_found& m) {
  for (const auto& [shard, to] : m.shards)
    connect(shard, to);
  run_->look_again();
}

void claim_driver::take(const far_shards_lost& m) {
  for (std::uint16_t i = 0; i < options_.far.size(); ++i)
    if (options_.far[i] == m.connection)
      connect(shard_id{i}, {});
  run_->look_again();
}

void claim_driver::connect(shard_id shard, const actors::connection_actor& to) {
  // The claim takes its leave over the old connection.
  run_->lose(shard);
  options_.far[value(shard)] = to;
  if (to)
    run_->reach(shard);
}

void claim_driver::attach(
  shard_id to,
  coordinator::peer_attached who,
  const std::optional<core::claim>& first_claim) {
  constexpr bool hears_absence = true;
  self_->send(
    options_.shards[value(to)],
    coordinator::attach_peer{std::move(who), claim_actor(self_), hears_absence, first_claim});
}

void claim_driver::detach(shard_id from) {
  self_->send(options_.shards[value(from)], coordinator::detach_peer{options_.run.peer});
}

void claim_driver::command(shard_id to, core::command command) {
  self_->send(options_.shards[value(to)], coordinator::shard_command{std::move(command)});
}

void claim_driver::ask(shard_id to, protocol::queue_request question) {
  self_->send(
    options_.shards[value(to)],
    coordinator::peer_request{options_.run.peer, std::move(question)});
}

void claim_driver::tell(
  const coordinator::claim_place& at, const coordinator::claim_step& step) {
  self_->send(options_.far[value(at.shard)], coordinator::make_claim_at(at, step).to_wire());
}

void claim_driver::waits() {
  self_->send(options_.gateway, claim_waits{options_.run.claim});
}

void claim_driver::ended(claimed_tasks how) {
  self_->send(options_.gateway, claim_ended{options_.run.claim, std::move(how)});
}

void claim_driver::give_back(const std::vector<task>& tasks) {
  self_->send(options_.gateway, leases_unread{leases_of(tasks)});
}

void claim_driver::look_again_soon() {
  self_->send(self_, http::look_again{});
}

void claim_driver::end_after(duration wait) {
  self_->delayed_send(self_, wait, end_claim{});
}

void claim_driver::close() {
  self_->quit();
}

void claim_driver::close_after(duration wait) {
  self_->delayed_send(self_, wait, late_tasks_over{});
}

void claim_driver::note_refused(const std::string& by, const error& reason) {
  const auto& worker = options_.run.worker->name;
  const auto left_out = options_.refusal_lines->take(worker, std::chrono::steady_clock::now());
  if (left_out)
    CODEQ_LOG_WARN(
      "claim is refused worker={} left_out={} by=\"{}\" reason=\"{}\"",
      worker,
      *left_out,
      by,
      to_string(reason));
}

void claim_driver::note_unread(std::string_view what, const error& reason) {
  CODEQ_LOG_ERROR("claim cannot read {} reason=\"{}\"", what, to_string(reason));
}

void claim_driver::note_left(shard_id shard, const std::string& reason) {
  CODEQ_LOG_ERROR(
    "claim leaves another coordinator shard={} reason=\"{}\"", value(shard), reason);
}

claim_actor::behavior_type drive_claim(
  claim_actor::stateful_pointer<claim_driver> self, const claim_driver_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  return {
    [self](const coordinator::shard_reply& m) { self->state.hosted().take(m); },
    [self](const coordinator::task_delivery& m) { self->state.hosted().take(m); },
    [self](const coordinator::credit_news& m) { self->state.hosted().take(m); },
    [](const coordinator::queues_added&) {},
    [self](const coordinator::peer_misbehaved& m) { self->state.hosted().refuse(m.reason); },
    [self](const coordinator::shard_moved& m) {
      self->state.hosted().take_move(m.shard, m.is_here);
    },
    [](coordinator::places_changed) {},
    [self](const end_claim& m) { self->state.hosted().end(m.at_once); },
    [self](http::look_again) { self->state.hosted().look_again(); },
    [self](late_tasks_over) { self->state.close(); },
    [self](const shard_found& m) { self->state.hosted().find(m.shard, m.is_here); },
    [self](const far_shards_found& m) { self->state.take(m); },
    [self](const far_shards_lost& m) { self->state.take(m); },
    [self](const claim_news_arrived& m) { self->state.hosted().take(m.news); },
  };
}

} // namespace codeq::http
