// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/desk/shard_desk.hpp"
#include "http/server/caller.hpp"
#include "http/server/message.hpp"
#include "http/webhooks/webhook_desk.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace codeq::http {

/// What all routes share. Owned by the gateway's actor.
struct gateway_context {
  shard_desk desk;
  webhook_desk webhooks;
  authenticate who;
  limit_rate limit;
  /// A single-user setup: only pages of this machine may call.
  bool is_loopback_only = false;
  /// Leases are decided by their token alone.
  bool needs_token = false;
  /// Whether tasks can be added to the store at present.
  std::function<result<void>()> check_disk;
  /// Prometheus' text of what all shards count.
  std::function<std::string(const coordinator_stats&)> metrics;
};

/// Who may use a route.
/// `process` is an admin of all tenants.
enum class access : std::uint8_t { open, any, producer, worker, admin, process };

struct route {
  std::string_view method;
  /// Under the base path, unless it begins with a slash; a segment `:` stands for any text.
  std::string_view pattern;
  access who = access::open;
  /// Of workers.
  std::string_view scope{};
  /// Calls of it count against the caller's rate; empty for no limit. Batches count their items
  /// themselves, see `take_rate`.
  std::string_view rate{};
  void (*run)(gateway_context&, const exchange_ptr&) = nullptr;
};

/// Finds the route of a request, lets its caller in and runs it; answers what fits no route or what
/// is not allowed.
void dispatch(gateway_context& context, const exchange_ptr& call);

/// Counts so many of `operation` against the caller's rate; the refusal to answer when they are too
/// many.
[[nodiscard]] std::optional<response> take_rate(
  gateway_context& context, const caller& by, std::string_view operation, std::uint64_t count);

// The routes, by subject.
[[nodiscard]] std::span<const route> enqueue_routes();
[[nodiscard]] std::span<const route> claim_routes();
[[nodiscard]] std::span<const route> lease_routes();
[[nodiscard]] std::span<const route> task_routes();
[[nodiscard]] std::span<const route> queue_routes();
[[nodiscard]] std::span<const route> admin_routes();
[[nodiscard]] std::span<const route> process_routes();

} // namespace codeq::http
