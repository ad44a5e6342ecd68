// SPDX-License-Identifier: Apache-2.0
#include "config/environment_names.hpp"

#include "base/nearest_name.hpp"

#include <algorithm>
#include <array>

#include <unistd.h>

namespace codeq::config {

namespace {

constexpr std::string_view prefix = "CODEQ_";

/// Sorted: the names that the programs of codeq read or set, which are those of options, the access
/// token, the tenant of codeqctl, and what a program run by `--exec` gets. One list for all
/// programs, because they may share an environment.
constexpr auto names = std::to_array<std::string_view>({
  "CODEQ_ADVERTISE", "CODEQ_ATTEMPT", "CODEQ_BACKUPS_KEPT", "CODEQ_BACKUP_DIR", "CODEQ_BATCH",
  "CODEQ_CLUSTER", "CODEQ_CLUSTER_TOKEN_FILE", "CODEQ_CONFIG", "CODEQ_CONNECTIONS",
  "CODEQ_COORDINATOR", "CODEQ_CORS_ORIGIN", "CODEQ_DATA", "CODEQ_DEV", "CODEQ_DRAIN",
  "CODEQ_DURABILITY", "CODEQ_ENQUEUE_BYTES", "CODEQ_ETCD", "CODEQ_ETCD_CA", "CODEQ_ETCD_CERT",
  "CODEQ_ETCD_KEY", "CODEQ_EXEC", "CODEQ_FREE_BYTES", "CODEQ_HANDLERS", "CODEQ_HTTP",
  "CODEQ_HTTP_CERT", "CODEQ_HTTP_CONNECTIONS", "CODEQ_HTTP_KEY", "CODEQ_HTTP_PORT_FILE",
  "CODEQ_ISOLATED", "CODEQ_JSON", "CODEQ_JWKS", "CODEQ_JWKS_CA", "CODEQ_JWKS_REFRESH",
  "CODEQ_JWKS_STALE", "CODEQ_JWT_AUDIENCE", "CODEQ_JWT_CLAIM", "CODEQ_JWT_ISSUER",
  "CODEQ_JWT_ROLE", "CODEQ_JWT_TENANT", "CODEQ_LISTEN", "CODEQ_LIST_HANDLERS",
  "CODEQ_LOG_FORMAT", "CODEQ_LOG_LEVEL", "CODEQ_MAX_ATTEMPTS", "CODEQ_METRICS",
  "CODEQ_METRICS_CERT", "CODEQ_METRICS_KEY", "CODEQ_METRICS_TOKEN_FILE", "CODEQ_NAME",
  "CODEQ_NODE", "CODEQ_ONLY", "CODEQ_PORT_FILE", "CODEQ_PREFETCH", "CODEQ_QUEUE", "CODEQ_QUEUES",
  "CODEQ_REPLICAS", "CODEQ_REQUIRE_FENCING_TOKEN", "CODEQ_RETENTION_BYTES", "CODEQ_SHARDS",
  "CODEQ_SLOTS", "CODEQ_TASK_ID", "CODEQ_TENANT", "CODEQ_THREADS", "CODEQ_TIMEOUT",
  "CODEQ_TLS_CA", "CODEQ_TLS_CERT", "CODEQ_TLS_KEY", "CODEQ_TLS_REQUIRE_CLIENT_CERT",
  "CODEQ_TOKEN", "CODEQ_TOKENS", "CODEQ_TOKEN_FILE", "CODEQ_WEBHOOK_ALLOW_PRIVATE",
  "CODEQ_WEBHOOK_CA", "CODEQ_WEBHOOK_SECRET_FILE", "CODEQ_ZONE",
});
static_assert(std::is_sorted(names.begin(), names.end()));

} // namespace

std::vector<std::string> codeq_variables() {
  std::vector<std::string> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text(*entry);
    auto name = text.substr(0, text.find('='));
    if (name.starts_with(prefix))
      found.emplace_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::map<std::string, std::string_view> find_unknown(const std::vector<std::string>& variables) {
  // Compared without the prefix, which would make all names alike.
  std::vector<std::string_view> endings;
  for (auto name : names)
    endings.push_back(name.substr(prefix.size()));
  std::map<std::string, std::string_view> unknown;
  for (const auto& name : variables) {
    if (std::binary_search(names.begin(), names.end(), name))
      continue;
    auto ending = std::string_view(name).substr(prefix.size());
    auto nearest = base::nearest_name(ending, endings);
    auto at = nearest ? std::find(endings.begin(), endings.end(), *nearest) : endings.end();
    unknown[name] = at == endings.end() ? std::string_view() : names[at - endings.begin()];
  }
  return unknown;
}

} // namespace codeq::config
