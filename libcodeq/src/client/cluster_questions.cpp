// SPDX-License-Identifier: Apache-2.0
#include "client/cluster_questions.hpp"

#include "encoding/shared_structs.hpp"
#include "protocol/cluster_convert.hpp"
#include "protocol/error_code.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace codeq::client {

namespace {

/// Sorted by the member `name`; `merge` takes an element that is there already.
template <class T, class Name, class Merge>
void add_each(std::vector<T>& to, std::vector<T> part, Name name, const Merge& merge) {
  for (auto& one : part) {
    auto at = std::lower_bound(
      to.begin(), to.end(), one, [&](const T& a, const T& b) { return a.*name < b.*name; });
    if (at == to.end() || (*at).*name != one.*name)
      to.insert(at, std::move(one));
    else
      merge(*at, one);
  }
}

} // namespace

question ask_cluster(const cluster_change& change) {
  return [change](std::uint64_t number) {
    return protocol::make_cluster_request(number, change).to_wire();
  };
}

result<answered<cluster_status>> read_cluster(const protocol::cluster_reply& reply) {
  std::optional<error> refusal;
  auto ok = reply.read([&refusal](auto from) -> result<void> {
    auto code = protocol::from_schema(from.getCode());
    if (code != errc::none)
      refusal = error{code, encoding::read_text(from.getContext())};
    return {};
  });
  if (!ok)
    return ok.error();
  if (refusal)
    return answered<cluster_status>{*refusal};
  auto status = protocol::read_cluster_status(reply);
  if (!status)
    return status.error();
  for (auto& node : status->nodes)
    node.has_answered = node.name == status->node;
  return answered<cluster_status>{std::move(*status)};
}

void add(cluster_status& to, cluster_status part) {
  if (to.name.empty()) {
    to = std::move(part);
    return;
  }
  add_each(
    to.nodes, std::move(part.nodes), &cluster_node::name,
    [](cluster_node& known, cluster_node& told) {
      const auto has_answered = known.has_answered || told.has_answered;
      const auto etcd_silent = std::max(known.etcd_silent, told.etcd_silent);
      // Coordinators of older versions do not tell it.
      const auto refuses_tasks = known.refuses_tasks || told.refuses_tasks;
      auto unreached = std::move(known.has_answered ? known.unreached : told.unreached);
      // Only some coordinators may know the address of a node that is missing.
      if (!known.is_present && (told.is_present || known.address.empty()))
        known = std::move(told);
      known.has_answered = has_answered;
      known.etcd_silent = etcd_silent;
      known.refuses_tasks = refuses_tasks;
      known.unreached = std::move(unreached);
    });
  add_each(
    to.shards, std::move(part.shards), &cluster_shard::shard,
    [&](cluster_shard& known, cluster_shard& told) {
      const auto is_newer = std::pair(told.epoch, told.primary == part.node)
                            > std::pair(known.epoch, known.primary == to.node || known.is_served);
      if (is_newer)
        known = std::move(told);
    });
}

} // namespace codeq::client
