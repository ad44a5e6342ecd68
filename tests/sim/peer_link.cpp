// SPDX-License-Identifier: Apache-2.0
#include "sim/peer_link.hpp"

#include "base/tuning.hpp"
#include "protocol/error_code.hpp"

#include <utility>

namespace codeq::sim {

peer_link::peer_link(world& all, network& net, process& home)
  : world_(all),
    network_(net),
    home_(home),
    backoff_(tuning::reconnect_delay_min, tuning::reconnect_delay_max) {
}

void peer_link::start(protocol::hello hello, callbacks with) {
  hello_ = std::move(hello);
  callbacks_ = std::move(with);
  dial();
}

void peer_link::dial() {
  network_.dial(home_, [this](const connection_ptr& made) {
    if (!made)
      return closed(nullptr);
    link_ = made;
    made->send(side::dialler, hello_.to_wire());
    made->attach(
      side::dialler,
      [this, from = made.get()](const protocol::wire_frame& frame) {
        home_.enter([this, from, frame] { take(from, frame); });
      },
      [this, which = made.get()] { home_.enter([this, which] { closed(which); }); });
    if (!made->is_open())
      closed(made.get());
  });
}

void peer_link::take(const connection* from, const protocol::wire_frame& frame) {
  // Frames that a paused process had not read when its connection broke are lost.
  if (from != link_.get() || !link_->is_open())
    return;
  auto handled = protocol::visit_frame(frame, [&]<class S>(const protocol::frame<S>& m) {
    if constexpr (std::is_same_v<S, schema::HelloAck>) {
      welcomed_ = true;
      backoff_.reset();
      auto said = m.read([](auto r) -> result<std::pair<std::size_t, std::uint64_t>> {
        return std::pair<std::size_t, std::uint64_t>{r.getShardCount(), r.getStoreId()};
      });
      callbacks_.up(said->first, said->second);
    } else if constexpr (std::is_same_v<S, schema::Refused>) {
      auto code = m.read([](auto r) -> result<errc> { return protocol::from_schema(r.getCode()); });
      if (*code == errc::superseded)
        callbacks_.refused(*code);
    } else if constexpr (std::is_same_v<S, schema::Ping>) {
      link_->send(side::dialler, protocol::pong::build([](auto r) { r.setNumber(1); }).to_wire());
    } else {
      callbacks_.receive(frame);
    }
  });
  static_cast<void>(handled);
}

void peer_link::closed(const connection* which) {
  if (which != nullptr && which != link_.get())
    return;
  link_ = nullptr;
  if (std::exchange(welcomed_, false))
    callbacks_.down();
  if (stopped_)
    return;
  auto pause = backoff_.next(static_cast<double>(world_.random.network.below(1000)) / 1000);
  home_.after(pause, [this] {
    if (!stopped_)
      dial();
  });
}

} // namespace codeq::sim
