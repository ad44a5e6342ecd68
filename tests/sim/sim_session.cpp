// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_session.hpp"

#include "coordinator/session/stats_sum.hpp"
#include "sim/sim_shard.hpp"

#include <algorithm>
#include <stdexcept>

namespace codeq::sim {

sim_session::sim_session(world& all, process& home, parts made)
  : world_(all),
    home_(home),
    parts_(std::move(made)),
    box_(all, home),
    session_(parts_.session, *this) {
}

void sim_session::later(timeline::action what) {
  box_.send([this, what = std::move(what)] {
    if (!over_)
      what();
  });
}

void sim_session::take(const protocol::wire_frame& frame) {
  later([this, frame] { read(frame); });
}

void sim_session::read(const protocol::wire_frame& frame) {
  auto request = protocol::read_request(parts_.role, frame);
  if (request)
    session_.take(*request);
  else
    session_.refuse(request.error());
  goodbyes_ += frame.type == protocol::frame_type<schema::Goodbye> ? 1 : 0;
  if (noted_goodbyes_ != goodbyes_)
    throw std::runtime_error("session: not every goodbye was noted once");
}

void sim_session::note_refused(const error& reason) {
  throw std::runtime_error("session: a peer is refused: " + to_string(reason));
}

void sim_session::ask_shard(shard_id to, coordinator::peer_request request) {
  auto* shard = parts_.shards[value(to)];
  shard->box().send([shard, m = std::move(request)] { shard->take(m.peer, m.request); });
}

void sim_session::command_shard(shard_id to, core::command command) {
  auto* shard = parts_.shards[value(to)];
  shard->box().send([shard, c = std::move(command)] { shard->decide(c); });
}

void sim_session::send(const protocol::wire_frame& frame) {
  sent_ += frame.body.size();
  parts_.link->send(side::acceptor, frame);
}

void sim_session::close(const error& reason) {
  if (reason.code != errc::none)
    world_.say("session ends: " + to_string(reason));
  parts_.link->close(side::acceptor);
}

void sim_session::gather_stats(bool) {
  auto parts = std::make_shared<std::vector<base::coordinator_counts>>();
  for (auto* shard : parts_.shards)
    shard->box().send([this, shard, parts] {
      parts->push_back(shard->stats());
      if (parts->size() == parts_.shards.size())
        later([this, parts] { session_.tell_stats(coordinator::sum_of(*parts)); });
    });
}

void sim_session::wake_after(duration wait, coordinator::session_wake what) {
  home_.after(wait, [this, what] { later([this, what] { session_.wake(what); }); });
}

coordinator::outgoing_bytes sim_session::outgoing() const {
  return {sent_, sent_ - std::min(sent_, parts_.link->flying_bytes(side::acceptor))};
}

result<backup_status> sim_session::back_up(const backup_wish&) {
  return error{errc::unsupported, "the simulation takes no backups"};
}

result<std::string> sim_session::set_log_level(const std::string&) {
  return error{errc::unsupported, "the simulation has no log"};
}

void sim_session::end_later(const error& reason) {
  later([this, reason] { session_.end(reason); });
}

void sim_session::connection_lost() {
  later([this] {
    over_ = true;
    parts_.on_end();
  });
}

} // namespace codeq::sim
