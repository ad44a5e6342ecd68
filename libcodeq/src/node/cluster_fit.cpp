// SPDX-License-Identifier: Apache-2.0
#include "node/cluster_fit.hpp"

#include "storage/replica/replica_store.hpp"

namespace codeq::node {

std::string other_replicas(const cluster_options& asked, const cluster::cluster_record& record) {
  if (asked.replicas == 0 || asked.replicas == record.copies)
    return {};
  const auto copies = std::to_string(record.copies);
  return "replicas is " + std::to_string(asked.replicas) + ", but cluster " + asked.name + " has "
         + copies + ", which the coordinator that created it decided; give --replicas " + copies
         + ", or leave it out";
}

result<void> check_shards(
  const coordinator_node_options& options,
  std::uint32_t stored,
  const cluster::cluster_record& record) {
  if (stored == record.shards)
    return {};
  return error{
    errc::incompatible_store,
    "the store in " + options.data.string() + " has " + std::to_string(stored)
      + " shards, but cluster " + options.cluster.name + ", which exists already in etcd, has "
      + std::to_string(record.shards)
      + ", so the store is not of that cluster. Correct --cluster or --etcd; to join this cluster "
        "give an empty --data"};
}

result<void> check_alone(const storage::task_store& store) {
  auto found = storage::has_replicas(store);
  if (!found)
    return found.error();
  if (*found)
    return error{
      errc::incompatible_store,
      "the store belongs to a cluster; start it with the options of that cluster"};
  return {};
}

} // namespace codeq::node
