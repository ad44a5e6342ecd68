// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator.hpp"

#include "cluster/catalogue.hpp"
#include "cluster/record_json.hpp"
#include "cluster/repair.hpp"
#include "coordinator/hub/etcd_history.hpp"
#include "etcd/client.hpp"
#include "node/cluster_entry.hpp"
#include "node/store_name.hpp"
#include "storage/replica/replica_store.hpp"
#include "storage/rocksdb/rocksdb_inspection.hpp"

#include <fstream>
#include <future>
#include <sstream>
#include <utility>

namespace codeq {

namespace {

namespace fs = std::filesystem;

/// How often a decision is sent until its outcome is known.
constexpr int tries_max = 5;

result<cluster::node_facts> read_facts(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in)
    return error{errc::io_error, "cannot read " + file.string()};
  auto facts = cluster::decode_facts(text.str());
  if (!facts)
    return error{facts.error().code, file.string() + ": " + facts.error().context};
  return facts;
}

result<std::vector<cluster::node_facts>> read_all_facts(const fs::path& directory) {
  std::vector<cluster::node_facts> all;
  std::error_code failure;
  for (const auto& one : fs::directory_iterator(directory, failure)) {
    if (one.path().extension() != ".json")
      continue;
    auto facts = read_facts(one.path());
    if (!facts)
      return facts.error();
    all.push_back(std::move(*facts));
  }
  if (failure)
    return error{errc::io_error, directory.string() + ": " + failure.message()};
  return all;
}

/// etcd, as it is now, whatever it was before.
class etcd_now {
public:
  etcd_now(etcd::client::options how, const cluster::catalogue_keys& keys)
    : client_(std::move(how)),
      known_(keys) {}

  result<void> look() {
    std::promise<result<etcd::range_answer>> promise;
    client_.read(
      etcd::range_of_prefix(known_.keys().prefix()),
      [&](const result<etcd::range_answer>& found) { promise.set_value(found); });
    auto found = promise.get_future().get();
    if (!found)
      return found.error();
    static_cast<void>(known_.note_all(*found));
    if (known_.unreadable().empty())
      return {};
    const auto& [key, why] = *known_.unreadable().begin();
    return error{errc::corruption, key + ": " + why};
  }

  /// Errors: `overloaded`, `disconnected`, `timeout`.
  result<void>
  write(const std::string& key, std::optional<std::string> known, const std::string& next) {
    const etcd::swap what{key, std::move(known), next, 0};
    etcd::swap_answer how;
    for (int i = 0; i < tries_max && !is_decided(how); ++i) {
      std::promise<etcd::swap_answer> promise;
      client_.decide(what, [&](const etcd::swap_answer& said) { promise.set_value(said); });
      how = promise.get_future().get();
    }
    if (how.end == etcd::swap_end::applied)
      return {};
    if (how.end == etcd::swap_end::not_applied)
      return error{
        errc::overloaded,
        "somebody else has changed " + key + "; stop all coordinators, then repeat it"};
    const auto is_sent = how.end == etcd::swap_end::unknown;
    return error{is_sent ? errc::timeout : errc::disconnected, how.words + "; repeat it"};
  }

  [[nodiscard]] const cluster::catalogue& known() const { return known_; }

private:
  [[nodiscard]] static bool is_decided(const etcd::swap_answer& how) {
    return how.end == etcd::swap_end::applied || how.end == etcd::swap_end::not_applied;
  }

  etcd::client client_;
  cluster::catalogue known_;
};

result<cluster::repair_plan>
plan(const cluster::catalogue& known, const repair_options& options) {
  if (!known.nodes().empty())
    return error{
      errc::invalid_argument,
      "node `" + known.nodes().begin()->first
        + "` is registered in etcd; stop all coordinators, and wait 5 s for the end of their "
          "leases"};
  auto facts = read_all_facts(options.told);
  if (!facts)
    return facts.error();
  cluster::repair_input from;
  from.nodes = std::move(*facts);
  from.without.insert(options.without.begin(), options.without.end());
  if (known.cluster())
    from.cluster = known.cluster()->record;
  for (const auto& [shard, one] : known.shards())
    from.shards.emplace(shard, one.record);
  return cluster::plan_repair(from);
}

/// The record of the cluster comes last, so that no coordinator follows the others before.
result<void> carry_out(etcd_now& etcd, const cluster::repair_plan& plan) {
  const auto& known = etcd.known();
  for (const auto& [shard, record] : plan.shards) {
    const auto found = known.shards().find(shard);
    const auto before =
      found == known.shards().end() ? std::nullopt : std::optional(found->second.bytes);
    if (auto ok = etcd.write(known.keys().shard(shard), before, encode(record)); !ok)
      return ok;
  }
  const auto before = known.cluster() ? std::optional(known.cluster()->bytes) : std::nullopt;
  return etcd.write(known.keys().cluster(), before, encode(plan.cluster));
}

repaired_cluster describe(const cluster::repair_plan& plan) {
  repaired_cluster told;
  told.words = plan.words;
  for (const auto& [shard, record] : plan.shards) {
    auto& one = told.shards.emplace_back();
    one.shard = shard;
    one.epoch = record.value.epoch;
    one.primary = cluster::node_of(record, record.value.primary);
    for (auto replica : record.value.in_sync)
      one.in_sync.push_back(cluster::node_of(record, replica));
  }
  return told;
}

} // namespace

result<std::string> tell_copies(const fs::path& directory, const std::string& node) {
  if (auto named = codeq::node::check_store_name(directory, node); !named)
    return named.error();
  auto history = coordinator::read_etcd_history(coordinator::etcd_history_file(directory));
  if (!history)
    return history.error();
  if (history->identity == 0)
    return error{
      errc::unavailable, directory.string() + " is not the data directory of a cluster"};
  auto opened = storage::inspect_rocksdb_store(directory, storage::durability::os);
  if (!opened)
    return opened.error();
  if (!opened->findings.empty())
    return error{errc::corruption, opened->findings.front() + "; codeqctl verify tells all"};
  cluster::node_facts facts{
    node,           history->identity,    history->shards,
    history->copies, history->min_in_sync, history->nodes, {}};
  for (std::uint32_t i = 0; i < history->shards; ++i) {
    const auto shard = static_cast<shard_id>(i);
    auto stored = storage::read_replica(*opened->store, shard);
    if (!stored)
      return stored.error();
    if (!*stored)
      continue;
    const auto& record = (*stored)->record;
    facts.held[shard] = {
      record.id, record.promised, (*stored)->log.last(), record.is_doubtful,
      record.is_incomplete};
  }
  return encode(facts);
}

result<repaired_cluster> repair_cluster(const repair_options& options) {
  coordinator_node_options access;
  access.cluster.etcd = options.etcd;
  access.cluster.etcd_authority = options.etcd_authority;
  access.cluster.etcd_certificate = options.etcd_certificate;
  access.cluster.etcd_key = options.etcd_key;
  auto how = node::etcd_options(access);
  if (!how)
    return how.error();
  etcd_now etcd(std::move(*how), cluster::catalogue_keys(options.cluster));
  if (auto ok = etcd.look(); !ok)
    return ok.error();
  auto planned = plan(etcd.known(), options);
  if (!planned)
    return planned.error();
  auto told = describe(*planned);
  if (options.confirm != planned->words)
    return told;
  if (auto ok = carry_out(etcd, *planned); !ok)
    return ok.error();
  told.is_done = true;
  return told;
}

} // namespace codeq
