// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/coordinator_counts.hpp"
#include "http/routes/router.hpp"

#include <memory>
#include <optional>
#include <unordered_set>

namespace codeq::http {

struct gateway_actor_options {
  desk_options desk;
  authenticate who;
  find_callers callers_of{};
  /// A subject without a token in the token file may be that of a JWT.
  bool accepts_jwts = false;
  limit_rate limit;
  bool is_loopback_only = false;
  cors_policy cors{};
  bool needs_token = false;
  std::function<result<void>()> check_disk;
  std::function<std::string(const base::coordinator_counts&)> metrics;
  webhook_options webhooks{};
  /// Know the state of the cluster; null when the coordinator is alone.
  coordinator::replicas_actor replicas{};
};

/// The state of the gateway, which knows the requests that are not answered yet.
class gateway_state {
public:
  static constexpr const char* name = "gateway";

  ~gateway_state() { context_.changing_queues.clear(); }

  void start(gateway_actor::pointer self, const gateway_actor_options& options);
  void serve(const call_arrived& m);

  /// Runs the route of the next call; the tenants take turns.
  void dispatch_next();
  void forget(const exchange_ptr& call);
  [[nodiscard]] caf::result<bool> stop();

  void take(const webhook_answered& m) { context_.webhooks.answered(m.number, m.answer); }

  void take(const wakeup_answered& m) { context_.wakeups.answered(m.number); }

  [[nodiscard]] shard_desk& desk() { return context_.desk; }

private:
  void answered(exchange& call);

  /// Arranges that `check_deadline` is called at the request's deadline.
  void arm_deadline(const exchange_ptr& call);
  void check_deadline(const exchange_ptr& call);

  /// Answers a request that waits after its token has expired, and frees what it has.
  void end_expired(const exchange_ptr& call);

  gateway_actor::pointer self_ = nullptr;
  gateway_context context_;
  /// The calls whose routes have not begun.
  base::turn_queue<exchange_ptr> arrived_;
  std::size_t open_ = 0;
  bool stopped_ = false;
  std::optional<caf::typed_response_promise<bool>> stopping_;
};

[[nodiscard]] gateway_actor::behavior_type
gateway(gateway_actor::stateful_pointer<gateway_state> self, const gateway_actor_options& options);

} // namespace codeq::http
