// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/coordinator_actors.hpp"
#include "coordinator/session/claim_proxy.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace codeq::coordinator {

/// The peer id of the proxy with that number.
[[nodiscard]] constexpr core::peer_id claim_peer_of(std::uint32_t number) {
  return claim_peers_first + number % (0 - claim_peers_first);
}

struct claim_proxy_options {
  claim_place place;
  /// The proxy's own peer id.
  core::peer_id peer = 0;
  shard_actor shard;
  /// The session of the claim's gateway, with whose end the claim ends.
  session_actor session;
  /// Name of the gateway, for logs.
  std::string gateway{};
  /// The log has a line about a refused claim of the session.
  std::shared_ptr<std::atomic<bool>> is_noted = std::make_shared<std::atomic<bool>>(false);
};

/// The actor of a claim proxy: passes its messages to the shard and the session.
class claim_proxy_driver : public claim_proxy_port {
public:
  static constexpr const char* name = "claim_proxy";

  void start(claim_proxy_actor::pointer self, const claim_proxy_options& options);

  [[nodiscard]] claim_proxy& hosted() { return *proxy_; }

  /// When the shard leaves, the proxy waits some time for its late tasks.
  void take(const shard_moved& m);

  void take(const peer_misbehaved& m);

  void attach(peer_attached who) override;
  void detach() override;
  void drop_credits() override;
  void command(core::command command) override;
  void ask(protocol::queue_request question) override;
  void send(const protocol::wire_frame& frame) override;
  void ended() override;

private:
  claim_proxy_actor::pointer self_ = nullptr;
  claim_proxy_options options_;
  std::optional<claim_proxy> proxy_;
};

[[nodiscard]] claim_proxy_actor::behavior_type drive_claim_proxy(
  claim_proxy_actor::stateful_pointer<claim_proxy_driver> self, const claim_proxy_options& options);

} // namespace codeq::coordinator
