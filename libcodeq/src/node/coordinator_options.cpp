// SPDX-License-Identifier: Apache-2.0
#include "node/coordinator_options.hpp"

#include "codeq/limits.hpp"

#include "config/values.hpp"
#include "node/cluster_options.hpp"
#include "observe/log.hpp"
#include "transport/socket.hpp"

#include <algorithm>
#include <string>

#include <sys/resource.h>

namespace codeq::node {

result<void> check(const coordinator_node_options& options) {
  if (options.data.empty())
    return error{errc::invalid_argument, "data is empty; it must name a directory"};
  if (options.shards > limits::shards_max)
    return error{
      errc::invalid_argument,
      "shards is " + std::to_string(options.shards) + "; it must be at most "
        + std::to_string(limits::shards_max)};
  if (options.retention_bytes < limits::retention_bytes_min)
    return error{
      errc::invalid_argument,
      "retention_bytes is " + std::to_string(options.retention_bytes) + "; it must be at least "
        + std::to_string(limits::retention_bytes_min)};
  if (options.enqueue_bytes_max < limits::enqueue_bytes_min)
    return error{
      errc::invalid_argument,
      "enqueue_bytes_max is " + std::to_string(options.enqueue_bytes_max) + "; it must be at least "
        + std::to_string(limits::enqueue_bytes_min)};
  if (options.threads < 1 || options.threads > limits::scheduler_threads_max)
    return error{
      errc::invalid_argument,
      "threads is " + std::to_string(options.threads) + "; it must be 1.."
        + std::to_string(limits::scheduler_threads_max)};
  if (options.http.empty() && !options.metrics.empty())
    return error{
      errc::invalid_argument, "metrics is " + options.metrics + "; it needs http to be set, too"};
  return check_cluster(options);
}

bool has_tls(const coordinator_node_options& options) {
  return !options.tls_certificate.empty() || !options.tls_key.empty()
         || !options.tls_authority.empty() || options.tls_require_client_certificate;
}

security::tls_files http_files(const coordinator_node_options& options) {
  if (!options.http_certificate.empty() || !options.http_key.empty())
    return {options.http_certificate, options.http_key};
  return {options.tls_certificate, options.tls_key};
}

namespace {

/// Descriptors for the store, webhook deliveries, name look-ups and the process itself.
constexpr rlim_t other_files = 512;
constexpr std::size_t connections_least = 8;

error not_loopback(const char* name, const std::string& address, const char* rule) {
  return {
    errc::invalid_argument,
    std::string(name) + " is " + address + ", not a loopback address; " + rule};
}

/// Checks that the gateway can be reached without TLS on loopback only. Errors: `invalid_argument`.
result<void> check_http(const coordinator_node_options& options) {
  if (options.http.empty())
    return {};
  auto endpoint = transport::parse_listen_address(options.http);
  if (!endpoint)
    return endpoint.error();
  bool is_open = http_files(options).certificate.empty() || options.development;
  if (is_open && !config::is_loopback(endpoint->host))
    return not_loopback("http", options.http, "that takes tokens, and a certificate and its key");
  if (options.metrics.empty())
    return {};
  auto metrics = transport::parse_listen_address(options.metrics);
  if (!metrics)
    return metrics.error();
  if (!config::is_loopback(metrics->host))
    return not_loopback("metrics", options.metrics, "they are told to everybody who asks there");
  return {};
}

} // namespace

result<void> check_access(const coordinator_node_options& options) {
  auto endpoint = transport::parse_listen_address(options.listen);
  if (!endpoint)
    return endpoint.error();
  bool has_tokens = !options.tokens.empty() || !options.jwt.keys.empty();
  if (options.development == has_tokens)
    return error{
      errc::invalid_argument,
      options.development ? "tokens or JWTs and development exclude each other"
                          : "neither tokens nor JWTs nor development is set"};
  bool is_open = !has_tls(options) || options.development;
  if (is_open && !config::is_loopback(endpoint->host))
    return not_loopback(
      "listen", options.listen, "that takes tokens, and a certificate and its key");
  return check_http(options);
}

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
