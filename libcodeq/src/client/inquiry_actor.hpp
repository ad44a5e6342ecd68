// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/client_actors.hpp"
#include "client/farewell.hpp"
#include "client/peer.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace codeq::client {

/// What became of an inquiry's connection.
struct connection_news {
  bool up = false;
  /// Refused for good: no further attempt is made.
  bool final = false;
  /// Why it is not up.
  error reason;
};

struct inquiry_settings {
  std::vector<std::string> coordinators;
  client_identity identity;
  /// Called on the inquiry's thread whenever a connection came up, was lost or could not be made.
  std::function<void(const connection_news&)> tell;
};

/// What an inquiry actor knows: at most one question, asked again after a reconnect (a question
/// changes nothing, so that asking twice does no harm).
class inquiry_state {
public:
  static constexpr const char* name = "inquiry";

  explicit inquiry_state(actors::inquiry_actor::pointer self);

  void start(inquiry_settings settings);
  void ask(actors::ask_status& question);
  void ask(actors::ask_stats& question);
  void ask(actors::ask_task_change& question);
  void accept(const protocol::status_reply& reply);
  void accept(const protocol::stats_reply& reply);
  void accept(const protocol::change_reply& reply);
  void take_up(const actors::link_up& up);
  void take_down(const actors::link_down& down);
  void stop();

private:
  /// Forgets who waits for the answer to the question before.
  void replace_question();
  void use(const peer& connected);
  void send_open();

  actors::inquiry_actor::pointer self_;
  inquiry_settings settings_;
  peers peers_;
  farewell<actors::inquiry_actor::pointer> farewell_;
  actors::connection_actor connection_;
  std::uint64_t number_ = 0;
  std::optional<protocol::wire_frame> open_;
  std::function<void(result<task_status>)> on_status_;
  std::function<void(result<coordinator_stats>)> on_stats_;
  std::function<void(result<change_outcome>)> on_change_;
};

/// The behavior of an inquiry actor; starts its links at once.
actors::inquiry_actor::behavior_type
inquiry(actors::inquiry_actor::stateful_pointer<inquiry_state> self, inquiry_settings settings);

} // namespace codeq::client
