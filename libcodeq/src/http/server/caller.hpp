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

/// Whom a bearer token speaks for.
struct caller {
  /// Names a worker within its tenant, `[A-Za-z0-9._-]{1,128}`.
  std::string subject;
  std::string tenant;
  // What it may do; an admin may do everything.
  bool is_producer = false;
  bool is_worker = false;
  bool is_admin = false;
  /// Of a worker, for example `codeq:claim`; empty is all of them.
  std::vector<std::string> scopes{};
  /// The queues that it may use; empty is all of its tenant.
  std::vector<std::string> queues{};
  /// May also see what the process and all tenants do together.
  bool sees_all_tenants = false;
  /// Whose token it is; null in a single-user setup.
  std::shared_ptr<const security::principal> bearer{};

  [[nodiscard]] bool has_scope(std::string_view scope) const;
  [[nodiscard]] bool may_use(std::string_view queue) const;
};

/// Says whom a bearer token speaks for; null when nobody. Called on any thread.
using authenticate = std::function<std::shared_ptr<const caller>(std::string_view bearer)>;

/// Why a call is refused for its rate.
struct rate_refusal {
  std::string scope;
  std::string operation;
  unsigned retry_after_seconds = 1;
};

/// Counts so many of `operation` against the caller's rate; null lets it in. Empty for no limits.
using limit_rate = std::function<std::unique_ptr<rate_refusal>(
  const caller& by, std::string_view operation, std::uint64_t count)>;

/// The caller of every request in a single-user setup.
[[nodiscard]] std::shared_ptr<const caller> single_user();

} // namespace codeq::http
