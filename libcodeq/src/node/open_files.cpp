// SPDX-License-Identifier: Apache-2.0
#include "node/open_files.hpp"

#include "codeq/limits.hpp"

#include "observe/log.hpp"

#include <algorithm>

#include <sys/resource.h>

namespace codeq::node {

namespace {

/// Descriptors for the store, webhook deliveries, name look-ups and the process itself.
constexpr rlim_t other_files = 512;
constexpr std::size_t connections_least = 8;

} // namespace

void fit_connections(coordinator_node_options& options) {
  auto wanted = options.connections_max + limits::unauthenticated_connections_max
                + (options.http.empty() ? 0 : options.http_connections_max);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted + other_files)
    return;
  auto raised = limit;
  raised.rlim_cur = std::min<rlim_t>(limit.rlim_max, wanted + other_files);
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0)
    limit = raised;
  if (limit.rlim_cur >= wanted + other_files)
    return;
  auto left = static_cast<double>(limit.rlim_cur - std::min(limit.rlim_cur, other_files));
  auto part = left / static_cast<double>(wanted);
  for (auto* max : {&options.connections_max, &options.http_connections_max})
    *max = std::max(connections_least, static_cast<std::size_t>(static_cast<double>(*max) * part));
  CODEQ_LOG_WARN(
    "coordinator takes fewer connections, since few files may be open open_files_max={} "
    "connections={} http_connections={}",
    limit.rlim_cur,
    options.connections_max,
    options.http_connections_max);
}

} // namespace codeq::node
