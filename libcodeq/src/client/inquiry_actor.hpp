// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/client_actors.hpp"
#include "client/connection_news.hpp"
#include "client/farewell.hpp"
#include "client/peer.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::client {

struct inquiry_settings {
  std::vector<std::string> coordinators;
  client_identity identity;
  connection_listener tell;
  /// Null: without TLS.
  std::shared_ptr<security::tls_source> tls{};
};

/// State of an inquiry actor: at most one open request, which is sent again after a reconnect.
class inquiry_state {
public:
  static constexpr const char* name = "inquiry";

  explicit inquiry_state(actors::inquiry_actor::pointer self);

  void start(inquiry_settings settings);
  void ask(actors::ask_coordinator& question);

  /// Handles a reply of any type; a reply to an earlier request is ignored.
  template <class S>
  void accept(const protocol::frame<S>& reply);
  void take_up(const actors::link_up& up);
  void take_down(const actors::link_down& down);
  void take_places(const actors::from_link<schema::ClusterMap>& told);
  void retry_shards();
  /// Asks the coordinators that are connected by now.
  void ask_members(const actors::coordinators_due& due);
  void stop();

private:
  void follow(const peers::arrival& came);
  /// Asks again, on the connection `by`, what was asked on the connection `ended`. Both lead to the
  /// same coordinator.
  void replace(const actors::connection_actor& ended, const actors::connection_actor& by);
  /// The open request was sent on this connection: it fails when it may not be sent again.
  void note_lost(const actors::connection_actor& lost, const error& reason);
  void use(const peer& connected);
  /// The connection for a frame: in a cluster that of its shard, if it has one. Null: none is up.
  [[nodiscard]] const actors::connection_actor* way_of(const protocol::wire_frame& question) const;
  void send_open();
  void send_moved();
  void send_to_all(bool waits);
  void note_end(std::uint64_t number);

  actors::inquiry_actor::pointer self_;
  inquiry_settings settings_;
  peers peers_;
  farewell<actors::inquiry_actor::pointer> farewell_;
  actors::connection_actor connection_;
  std::uint64_t number_ = 0;
  std::optional<actors::ask_coordinator> open_;
  /// The connection that the open request was sent on, so that it may have been executed there;
  /// null when it was not sent, or refused without effect.
  actors::connection_actor said_to_;
  /// The questions to all coordinators that are not answered, by their numbers.
  std::map<std::uint64_t, actors::connection_actor> asked_;
  /// Coordinators whose answer will not come.
  std::size_t missing_ = 0;
  /// `coordinators_due` is on its way.
  bool waits_for_members_ = false;
  /// `shards_due` is on its way.
  bool will_retry_shards_ = false;
};

/// The behavior of an inquiry actor; starts its links at once.
actors::inquiry_actor::behavior_type
inquiry(actors::inquiry_actor::stateful_pointer<inquiry_state> self, inquiry_settings settings);

} // namespace codeq::client
