// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/client_actors.hpp"
#include "client/connection_news.hpp"
#include "client/farewell.hpp"
#include "client/inquiry/open_question.hpp"
#include "client/peer.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <memory>
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

/// State of an inquiry actor: carries the messages of the open question, and owns the links.
class inquiry_state : public open_question_port {
public:
  static constexpr const char* name = "inquiry";

  explicit inquiry_state(actors::inquiry_actor::pointer self);

  void start(inquiry_settings settings);

  [[nodiscard]] open_question& hosted() noexcept { return question_; }

  template <class S>
  void accept(const protocol::frame<S>& reply);
  void take_up(const actors::link_up& up);
  void take_down(const actors::link_down& down);
  void take_places(const actors::from_link<schema::ClusterMap>& told);
  void retry_shards();
  void stop();

  void send(connection_number to, protocol::wire_frame request) override;
  void drop(const error& reason) override;
  void ask_members_after(duration wait, std::uint64_t number) override;
  [[nodiscard]] bool is_cluster() const override;
  [[nodiscard]] connection_number connection_of(shard_id shard) const override;
  [[nodiscard]] reached_members all_members() const override;
  [[nodiscard]] std::string place_of(shard_id shard) const override;
  [[nodiscard]] error unreached(shard_id shard) const override;

private:
  void follow(const peers::arrival& came);
  void use(const peer& connected);

  actors::inquiry_actor::pointer self_;
  inquiry_settings settings_;
  peers peers_;
  farewell<actors::inquiry_actor::pointer> farewell_;
  open_question question_;
};

/// The behavior of an inquiry actor; starts its links at once.
actors::inquiry_actor::behavior_type
inquiry(actors::inquiry_actor::stateful_pointer<inquiry_state> self, inquiry_settings settings);

} // namespace codeq::client
