// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "security/principal.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::http {

/// The identity and rights that a bearer token gives.
struct caller {
  /// The worker's name within its tenant, `[A-Za-z0-9._-]{1,128}`.
  std::string subject;
  std::string tenant;
  // The caller's roles; an admin may do everything.
  bool is_producer = false;
  bool is_worker = false;
  bool is_admin = false;
  /// May read what the others may, and changes nothing.
  bool is_reader = false;
  /// The scopes of a worker.
  security::scope_set scopes = security::scope_set::all();
  /// The caller may use all queues of its tenant, else only `queues`.
  bool all_queues = true;
  std::vector<std::string> queues{};
  /// The caller may read the metrics of the process.
  bool sees_metrics = false;
  /// The caller may also see the statistics of the process and of all tenants together.
  bool sees_all_tenants = false;
  /// The owner of the token; null in a single-user setup.
  std::shared_ptr<const security::principal> bearer{};

  /// True when the caller has a JWT instead of a token of the token file.
  [[nodiscard]] bool has_jwt() const noexcept { return bearer && bearer->signing_key; }

  /// True when the caller may use routes of that scope, such as `codeq:claim`.
  [[nodiscard]] bool has_scope(std::string_view scope) const;
  [[nodiscard]] bool may_use(std::string_view queue) const;
};

/// Returns the caller of a bearer token; null when the token is not accepted. Called on any thread.
using authenticate = std::function<std::shared_ptr<const caller>(std::string_view bearer)>;

/// Returns a caller for each accepted token of the token file that is of that tenant and subject.
/// Called on any thread. An empty function means that there is no token file.
using find_callers = std::function<std::vector<std::shared_ptr<const caller>>(
  const std::string& tenant, const std::string& subject)>;

/// Describes a call that was refused because of its rate.
struct rate_refusal {
  std::string scope;
  std::string operation;
  unsigned retry_after_seconds = 1;
};

/// Counts `count` uses of `operation` against the caller's rate; null admits them. An empty
/// function means that there are no limits.
using limit_rate = std::function<std::unique_ptr<rate_refusal>(
  const caller& by, std::string_view operation, std::uint64_t count)>;

/// The caller of every request in a single-user setup.
[[nodiscard]] std::shared_ptr<const caller> single_user();

} // namespace codeq::http
