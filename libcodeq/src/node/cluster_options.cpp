// SPDX-License-Identifier: Apache-2.0
#include "node/cluster_options.hpp"

#include "codeq/ids.hpp"

#include "base/errors.hpp"
#include "cluster/records.hpp"
#include "etcd/member_url.hpp"
#include "transport/socket.hpp"

#include <algorithm>

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

result<void> check_cluster(const coordinator_node_options& options) {
  const auto& wanted = options.cluster;
  if (wanted.name.empty())
    return {};
  if (!is_valid_name(wanted.name))
    return wrong("cluster is " + wanted.name + "; it must have 1..128 of A-Z a-z 0-9 . _ -");
  if (auto urls = etcd::parse_member_urls(wanted.etcd); !urls)
    return wrong("etcd: " + urls.error().context);
  if (wanted.replicas < 1 || wanted.replicas > 3)
    return wrong("replicas is " + std::to_string(wanted.replicas) + "; it must be 1..3");
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

} // namespace codeq::node
