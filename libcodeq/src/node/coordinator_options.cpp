// SPDX-License-Identifier: Apache-2.0
#include "node/coordinator_options.hpp"

#include "codeq/limits.hpp"

#include "config/values.hpp"
#include "node/cluster_entry.hpp"
#include "transport/socket.hpp"

#include <string>

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

} // namespace codeq::node
