// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/client_actors.hpp"
#include "base/tuning.hpp"
#include "client/peer.hpp"

#include <cstddef>

namespace codeq::client {

/// Ends a client's actor once all of its links have ended in order, or after a timeout. A member of
/// the actor's state; `Self` is the actor's pointer.
template <class Self>
class farewell {
public:
  explicit farewell(Self self) : self_(self) {}

  /// Closes the links; idempotent. `finished`: the producer session that the coordinator can
  /// forget; zero: none.
  void begin(const peers& links, const producer_id& finished = {}) {
    if (begun_)
      return;
    begun_ = true;
    open_links_ = links.links().size();
    self_->set_down_handler([this](caf::down_msg&) { link_ended(); });
    for (const auto& link : links.links()) {
      self_->monitor(link);
      self_->send(link, actors::close_link{{errc::going_away, "the client stops"}, finished});
    }
    self_->delayed_send(self_, tuning::shutdown_max, actors::stop_overdue{});
  }

  [[nodiscard]] bool begun() const noexcept { return begun_; }

private:
  void link_ended() {
    if (--open_links_ == 0)
      self_->quit();
  }

  Self self_;
  std::size_t open_links_ = 0;
  bool begun_ = false;
};

} // namespace codeq::client
