// SPDX-License-Identifier: Apache-2.0
#include "node/coordinator_options.hpp"

#include "codeq/ids.hpp"
#include "codeq/limits.hpp"

#include "base/errors.hpp"
#include "cluster/records.hpp"
#include "config/values.hpp"
#include "etcd/member_url.hpp"
#include "observe/log.hpp"
#include "transport/socket.hpp"

#include <algorithm>
#include <string>

#include <sys/resource.h>

namespace codeq::node {

namespace {

using base::wrong;

/// Whether the other coordinators can read the address in etcd.
result<void> check_told_address(const std::string& option, const std::string& address) {
  const auto is_printable = [](char c) { return c > ' ' && c <= '~'; };
  if (
    address.size() <= cluster::address_bytes_max
    && std::all_of(address.begin(), address.end(), is_printable))
    return {};
  return wrong(
    option + " is " + address + "; in a cluster it must have at most "
    + std::to_string(cluster::address_bytes_max) + " printable ASCII characters");
}

/// Checks the options of a cluster.
result<void> check_cluster(const coordinator_node_options& options) {
  const auto& wanted = options.cluster;
  if (wanted.name.empty())
    return {};
  if (!is_valid_name(wanted.name))
    return wrong("cluster is " + wanted.name + "; it must have 1..128 of A-Z a-z 0-9 . _ -");
  if (auto urls = etcd::parse_member_urls(wanted.etcd); !urls)
    return wrong("etcd: " + urls.error().context);
  if (wanted.replicas > cluster::copies_max)
    return wrong(
      "replicas is " + std::to_string(wanted.replicas) + "; it must be 1.."
      + std::to_string(cluster::copies_max));
  if (wanted.etcd_certificate.empty() != wanted.etcd_key.empty())
    return wrong("the certificate for etcd and its key need each other");
  auto address = transport::parse_endpoint(address_in_cluster(options));
  if (!address)
    return wrong("advertise: " + address.error().context);
  if (address->port == 0)
    return wrong("advertise is " + address_in_cluster(options) + "; its port must not be 0");
  if (auto ok = check_told_address("advertise", address_in_cluster(options)); !ok)
    return ok;
  if (auto ok = check_told_address("http", options.http); !ok)
    return ok;
  if (!wanted.zone.empty() && !is_valid_name(wanted.zone))
    return wrong("zone is " + wanted.zone + "; it must have 1..128 of A-Z a-z 0-9 . _ -");
  if (!is_valid_name(name_in_cluster(options)))
    return wrong(
      "node is " + name_in_cluster(options) + "; it must have 1..128 of A-Z a-z 0-9 . _ -");
  if (!options.development && wanted.token_file.empty())
    return wrong("a cluster with tokens needs the file of the token for other coordinators");
  return {};
}

} // namespace

std::string address_in_cluster(const coordinator_node_options& options) {
  return options.cluster.advertise.empty() ? options.listen : options.cluster.advertise;
}

std::string name_in_cluster(const coordinator_node_options& options) {
  if (!options.cluster.node.empty())
    return options.cluster.node;
  auto name = address_in_cluster(options);
  const auto is_foreign = [](char c) { return c == ':' || c == '[' || c == ']'; };
  std::replace_if(name.begin(), name.end(), is_foreign, '-');
  return name;
}

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
