// SPDX-License-Identifier: Apache-2.0
#include "sim/network.hpp"

#include "base/tuning.hpp"

#include <algorithm>

namespace codeq::sim {

void connection::attach(side where, receive_function receive, closed_function closed) {
  toward(where).receive = std::move(receive);
  toward(where).closed = std::move(closed);
  pump(where);
}

void connection::send(side from, const protocol::wire_frame& frame) {
  launch(from, frame);
}

void connection::close(side from) {
  launch(from, std::nullopt);
}

void connection::launch(side from, std::optional<protocol::wire_frame> frame) {
  if (!open_)
    return;
  auto& way = toward(other(from));
  auto& random = world_.random.network;
  auto wait = random.hits(20) ? random.moment(1'000, 80'000) : random.moment(50, 2'000);
  auto when = world_.time.now() + wait;
  if (!way.flying.empty())
    when = std::max(when, way.flying.back().first + virtual_time{1});
  way.flying.emplace_back(when, std::move(frame));
  pump(other(from));
}

void connection::pump(side to) {
  auto& way = toward(to);
  if (!open_ || !way.receive || way.flying.empty() || way.pumping)
    return;
  way.pumping = true;
  auto when = std::max(way.flying.front().first, way.stalled_until);
  world_.time.after(
    when - world_.time.now(), [self = shared_from_this(), to] { self->arrive(to); });
}

void connection::arrive(side to) {
  auto& way = toward(to);
  way.pumping = false;
  if (!open_)
    return;
  if (world_.time.now() < way.stalled_until)
    return pump(to);
  auto frame = std::move(way.flying.front().second);
  way.flying.pop_front();
  if (!frame) {
    open_ = false;
    tell_closed(to, virtual_time{0});
    tell_closed(other(to), virtual_time{100});
    return;
  }
  way.receive(*frame);
  pump(to);
}

void connection::stall(side from, virtual_time length) {
  // A stall that begins during another one does not end it.
  auto& until = toward(other(from)).stalled_until;
  until = std::max(until, world_.time.now() + length);
}

bool connection::was_stalled(side from, virtual_time ago) {
  auto until = toward(other(from)).stalled_until;
  return until > virtual_time{0} && until + ago > world_.time.now();
}

std::uint64_t connection::flying_bytes(side from) {
  std::uint64_t bytes = 0;
  for (const auto& [when, frame] : toward(other(from)).flying)
    bytes += frame ? frame->body.size() : 0;
  return bytes;
}

void connection::cut(bool silent) {
  if (!std::exchange(open_, false))
    return;
  auto timeout = std::chrono::duration_cast<virtual_time>(tuning::silent_peer_max).count();
  auto& random = world_.random.faults;
  for (auto where : {side::dialler, side::acceptor}) {
    bool notices_late = silent && random.hits(500);
    tell_closed(where, notices_late ? random.moment(1'000, timeout) : random.moment(100, 20'000));
  }
}

void connection::tell_closed(side where, virtual_time wait) {
  toward(where).flying.clear();
  world_.time.after(wait, [self = shared_from_this(), where] {
    if (self->toward(where).closed)
      self->toward(where).closed();
  });
}

void network::dial(const process& from, std::function<void(const connection_ptr&)> done) {
  world_.time.after(world_.random.network.moment(100, 3'000), [this, from, done = std::move(done)] {
    auto made = std::make_shared<connection>(world_);
    bool accepted = from.is_alive() && accept_(made);
    if (accepted)
      connections_.push_back(made);
    from.after(world_.random.network.moment(100, 3'000), [accepted, made, done] {
      done(accepted ? made : nullptr);
    });
  });
}

connection_ptr network::pick() {
  std::erase_if(connections_, [](const auto& weak) {
    auto c = weak.lock();
    return !c || !c->is_open();
  });
  return connections_.empty()
           ? nullptr
           : connections_[world_.random.faults.below(connections_.size())].lock();
}

void network::cut_all(bool silent) {
  for (const auto& weak : connections_) {
    if (auto c = weak.lock())
      c->cut(silent);
  }
  connections_.clear();
}

} // namespace codeq::sim
