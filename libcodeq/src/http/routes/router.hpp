// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"

#include "base/coordinator_counts.hpp"
#include "http/dashboard/dashboard_desk.hpp"
#include "http/desk/queue_locks.hpp"
#include "http/desk/recent_leases.hpp"
#include "http/desk/shard_desk.hpp"
#include "http/json/input.hpp"
#include "http/operations/operation_desk.hpp"
#include "http/server/caller.hpp"
#include "http/server/cors_policy.hpp"
#include "http/server/message.hpp"
#include "http/wakeups/wakeup_desk.hpp"
#include "http/webhooks/webhook_desk.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq::http {

/// The state that all routes share. Owned by the gateway's actor.
struct gateway_context {
  /// Locks the queues whose settings are being changed. Outlives the desk, whose callbacks hold
  /// the locks.
  queue_locks changing_queues;
  shard_desk desk;
  recent_leases leases;
  /// The bodies of `GET /admin/queues` by tenant and form (true: `as=list`), of the statistics with
  /// that number.
  std::map<std::pair<std::string, bool>, std::string> queue_lists;
  std::uint64_t queue_lists_number = 0;
  webhook_desk webhooks;
  wakeup_desk wakeups;
  operation_desk operations;
  dashboard_desk dashboard;
  limit_rate limit;
  /// The caller behind a token at present.
  authenticate who;
  /// A single-user setup: only pages of this machine may call, and those of origins named to
  /// `cors`.
  bool is_loopback_only = false;
  cors_policy cors;
  /// Leases are decided by their token alone.
  bool needs_token = false;
  /// Whether tasks can be added to the store at present.
  std::function<result<void>()> check_disk;
  /// Prometheus' text of what all shards count.
  std::function<std::string(const base::coordinator_counts&)> metrics;
  /// Has a change of the cluster stored, if it is one, and tells its state as this coordinator
  /// knows it then; empty when it is alone.
  std::function<void(
    const cluster_change&,
    const core::origin_ptr& by,
    std::function<void(const result<cluster_status>&)>)>
    cluster;
  /// Tells the shards of the cluster as this coordinator knows them, by number; none when that is
  /// not known in time. Empty when it is alone.
  std::function<void(std::function<void(std::vector<base::cluster_shard_counts>)>)> cluster_shards;
  /// Gives leases back that no client learned of. Called on any thread.
  std::function<void(std::vector<granted_lease>)> return_leases;
};

/// Who may use a route.
enum class access : std::uint8_t {
  open,
  /// Every role that may read tasks: all but the one for metrics.
  any,
  /// Producers, admins and readers, for routes that change nothing.
  read,
  producer,
  worker,
  admin,
  /// Admins and readers, for routes that change nothing.
  inspect,
  /// Admins of all tenants.
  process,
  /// Admins and readers of all tenants, for routes that change nothing.
  inspect_process,
  /// Admins and readers of all tenants, and the role for metrics.
  metrics,
};

/// The kind of request body that a route accepts.
enum class body_need : std::uint8_t {
  /// None, or an object with some of the fields.
  optional,
  /// An object.
  required,
  /// Anything; the route does not read it.
  unread,
};

/// The fields that a route accepts, beside its path. Other fields are refused.
struct route_fields {
  std::span<const input_field> query{};
  input_shape body{};
  body_need need = body_need::optional;
  /// The body with `?limit=extended`; without fields when there is no such limit.
  input_shape extended{};
};

struct route {
  std::string_view method;
  /// Under the base path, unless it begins with a slash; a segment `:` stands for any text.
  std::string_view pattern;
  access who = access::open;
  /// The scope that a token needs; only of routes for workers.
  std::string_view scope{};
  /// Calls of it count against the caller's rate; empty for no limit.
  std::string_view rate{};
  void (*run)(gateway_context&, const exchange_ptr&) = nullptr;
  route_fields fields{};
  /// The field of the body whose elements, or whose number, counts against the rate; empty when the
  /// call counts once.
  std::string_view counted{};
};

/// The values of a request, of the fields that its route declares.
struct route_input {
  input query;
  input body;
};

/// True when the role and the scopes of the caller fit the route.
[[nodiscard]] bool may_use(const route& r, const caller& by);

/// Finds the route of a request, lets its caller in, checks what it takes and runs it; answers what
/// fits no route or what is not allowed. HEAD is answered as GET.
void dispatch(gateway_context& context, const exchange_ptr& call);

// The routes, by subject.
[[nodiscard]] std::span<const route> enqueue_routes();
[[nodiscard]] std::span<const route> claim_routes();
[[nodiscard]] std::span<const route> lease_routes();
[[nodiscard]] std::span<const route> task_routes();
[[nodiscard]] std::span<const route> queue_routes();
[[nodiscard]] std::span<const route> admin_routes();
[[nodiscard]] std::span<const route> cluster_routes();
[[nodiscard]] std::span<const route> audit_routes();
[[nodiscard]] std::span<const route> dead_routes();
[[nodiscard]] std::span<const route> operation_routes();
[[nodiscard]] std::span<const route> subscription_routes();
[[nodiscard]] std::span<const route> policy_routes();
[[nodiscard]] std::span<const route> schedule_routes();
[[nodiscard]] std::span<const route> limit_routes();
[[nodiscard]] std::span<const route> process_routes();
[[nodiscard]] std::span<const route> page_routes();

/// All of them.
[[nodiscard]] std::vector<std::span<const route>> all_routes();

} // namespace codeq::http
