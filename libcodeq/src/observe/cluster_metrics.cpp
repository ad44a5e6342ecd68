// SPDX-License-Identifier: Apache-2.0
#include "observe/cluster_metrics.hpp"

#include <string>

namespace codeq::observe {

namespace {

using base::cluster_shard_counts;

const char* name_of(base::shard_role role) {
  switch (role) {
  case base::shard_role::none:
    break;
  case base::shard_role::learner:
    return "learner";
  case base::shard_role::in_sync:
    return "in_sync";
  case base::shard_role::starting:
    return "starting";
  case base::shard_role::primary:
    return "primary";
  }
  return "none";
}

double seconds_of(duration time) {
  return static_cast<double>(time.count()) / 1000;
}

metric_labels of_shard(const cluster_shard_counts& shard) {
  return {{"shard", std::to_string(shard.shard)}};
}

metric_labels of_copy(const cluster_shard_counts& shard, const base::copy_lag& copy) {
  return {{"shard", std::to_string(shard.shard)}, {"node", copy.node}};
}

/// Adds a value of each shard of which there is a copy here.
template <class Value>
void add_each(
  metric_families& to, const std::vector<cluster_shard_counts>& shards, Value value) {
  for (const auto& shard : shards)
    if (shard.role != base::shard_role::none)
      to.add(value(shard), of_shard(shard));
}

void write_sets(metric_families& to, const std::vector<cluster_shard_counts>& shards) {
  to.begin_gauge("codeq_shard_role", "1 for what this coordinator is to the shard");
  for (const auto& shard : shards) {
    auto labels = of_shard(shard);
    labels.push_back({"role", name_of(shard.role)});
    if (shard.role != base::shard_role::none)
      to.add(1.0, std::move(labels));
  }
  to.begin_gauge("codeq_shard_epoch", "Changes of the shard's primary");
  add_each(to, shards, [](const auto& s) { return std::uint64_t{s.epoch}; });
  to.begin_gauge("codeq_shard_copies", "Copies of the shard");
  add_each(to, shards, [](const auto& s) { return std::uint64_t{s.copies}; });
  to.begin_gauge("codeq_shard_copies_in_sync", "Copies of the shard that are in sync");
  add_each(to, shards, [](const auto& s) { return std::uint64_t{s.copies_in_sync}; });
  to.begin_gauge(
    "codeq_shard_copies_needed", "New tasks are refused while fewer copies are in sync");
  add_each(to, shards, [](const auto& s) { return std::uint64_t{s.copies_needed}; });
}

void write_lags(metric_families& to, const std::vector<cluster_shard_counts>& shards) {
  to.begin_gauge(
    "codeq_copy_lag_changes",
    "Changes of a shard that is served here that the copy of that node has not confirmed");
  for (const auto& shard : shards)
    for (const auto& copy : shard.lags)
      to.add(copy.changes, of_copy(shard, copy));
  to.begin_gauge("codeq_copy_lag_seconds", "For how long the copy has lacked the oldest of them");
  for (const auto& shard : shards)
    for (const auto& copy : shard.lags)
      to.add(seconds_of(copy.lasts), of_copy(shard, copy));
}

} // namespace

void write_cluster(metric_families& to, const std::vector<cluster_shard_counts>& shards) {
  write_sets(to, shards);
  to.begin_gauge(
    "codeq_shard_without_primary_seconds",
    "For how long this coordinator knows of no primary of the shard; 0 while it knows one");
  add_each(to, shards, [](const auto& s) { return seconds_of(s.without_primary); });
  to.begin_counter(
    "codeq_shard_without_primary_seconds_total", "All such times since the copy is here");
  add_each(to, shards, [](const auto& s) { return seconds_of(s.without_primary_total); });
  write_lags(to, shards);
}

} // namespace codeq::observe
