// SPDX-License-Identifier: Apache-2.0
#include "node/coordinator_options.hpp"

#include "codeq/limits.hpp"

#include "config/values.hpp"
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
  if (options.http.empty() && !options.metrics.empty())
    return error{
      errc::invalid_argument, "metrics is " + options.metrics + "; it needs http to be set, too"};
  return {};
}

bool has_tls(const coordinator_node_options& options) {
  return !options.tls_certificate.empty() || !options.tls_key.empty()
         || !options.tls_authority.empty() || options.tls_require_client_certificate;
}

result<void> check_access(const coordinator_node_options& options) {
  auto endpoint = transport::parse_listen_address(options.listen);
  if (!endpoint)
    return endpoint.error();
  if (options.development == !options.tokens.empty())
    return error{
      errc::invalid_argument,
      options.development ? "tokens and development exclude each other"
                          : "neither tokens nor development is set"};
  bool is_open = !has_tls(options) || options.development;
  if (is_open && !config::is_loopback(endpoint->host))
    return error{
      errc::invalid_argument,
      "listen is " + options.listen
        + ", not a loopback address; that takes tokens, and a certificate and its key"};
  return {};
}

} // namespace codeq::node
