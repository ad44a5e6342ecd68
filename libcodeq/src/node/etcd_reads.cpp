// SPDX-License-Identifier: Apache-2.0
#include "node/etcd_reads.hpp"

#include "cluster/founding.hpp"

#include <future>

namespace codeq::node {

namespace {

/// One for each cluster, and some for keys that are of none.
constexpr std::size_t reads_max = 4 * clusters_named_max;

} // namespace

result<etcd::range_answer> read_range(etcd::client& etcd, const etcd::key_range& what) {
  std::promise<result<etcd::range_answer>> promise;
  etcd.read(what, [&promise](const result<etcd::range_answer>& found) {
    promise.set_value(found);
  });
  return promise.get_future().get();
}

result<std::string> other_clusters(etcd::client& etcd, const std::string& but) {
  std::string names;
  std::string last;
  std::size_t named = 0;
  for (std::size_t reads = 0; reads < reads_max; ++reads) {
    const auto found = read_range(etcd, cluster::next_cluster(last));
    if (!found)
      return found.error();
    if (found->found.empty())
      break;
    last = found->found.front().key;
    const auto name = cluster::cluster_of(last);
    if (name.empty() || name == but)
      continue;
    if (named == clusters_named_max)
      return names + " and more";
    names += (named == 0 ? "" : ", ") + name;
    ++named;
  }
  return names;
}

} // namespace codeq::node
