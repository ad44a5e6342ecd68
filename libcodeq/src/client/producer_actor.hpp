// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/client_actors.hpp"
#include "client/connection_news.hpp"
#include "client/enqueue_outbox.hpp"
#include "client/farewell.hpp"
#include "client/peer.hpp"
#include "client/server_time.hpp"
#include "client/watch_list.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::client {

struct producer_settings {
  std::vector<std::string> coordinators;
  client_identity identity;
  std::size_t in_flight_max = limits::producer_window_requests_default;
  /// Null: without TLS.
  std::shared_ptr<security::tls_source> tls{};
  connection_listener tell = [](const connection_news&) {};
};

/// State of a producer actor. Connects the outbox and the watch list with the connection in use.
class producer_state {
public:
  static constexpr const char* name = "producer";

  explicit producer_state(actors::producer_actor::pointer self);

  void start(producer_settings settings);
  void submit(actors::submit_tasks& wish);
  void withdraw(const actors::withdraw_tasks& wish);
  void tell_unreached(const actors::ask_unreached& wish) const;
  void watch(actors::watch_tasks& wish);
  void unwatch(const actors::unwatch_tasks& wish);
  void accept(const protocol::enqueue_reply& reply);
  void accept(const protocol::tasks_ended& ended);
  void resend(const actors::resend_due& due);
  void ask_again();
  void take_up(const actors::link_up& up);
  void take_down(const actors::link_down& down);
  void take_places(const actors::from_link<schema::ClusterMap>& told);
  void retry_shards();
  void stop();

private:
  void follow(const peers::arrival& came);
  void use_cluster(const store_identity& store);
  void ask_again_later();
  void use(const peer& connected);
  void note_loss(const peers::loss& loss, const error& told);
  void fail_all(const error& reason);
  [[nodiscard]] producer_id new_session();
  /// Why the shard is not reached; empty: it is, or there is none.
  [[nodiscard]] std::optional<error> why_unreached(std::optional<shard_id> shard) const;

  actors::producer_actor::pointer self_;
  producer_settings settings_;
  std::optional<enqueue_outbox> outbox_;
  watch_list watches_;
  peers peers_;
  server_time server_time_;
  farewell<actors::producer_actor::pointer> farewell_;
  /// The cluster that outbox and watch list are connected with.
  std::optional<store_identity> cluster_store_;
  /// `ask_again_due` is on its way.
  bool will_ask_again_ = false;
  /// Set when the producer cannot do anything any more, with the reason.
  std::optional<error> ended_;
};

/// The behavior of a producer actor; starts its links at once.
actors::producer_actor::behavior_type
producer(actors::producer_actor::stateful_pointer<producer_state> self, producer_settings settings);

} // namespace codeq::client
