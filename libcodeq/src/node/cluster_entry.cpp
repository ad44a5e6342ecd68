// SPDX-License-Identifier: Apache-2.0
#include "node/cluster_entry.hpp"

#include "codeq/limits.hpp"

#include "base/duration_text.hpp"
#include "base/errors.hpp"
#include "base/random.hpp"
#include "cluster/catalogue_keys.hpp"
#include "cluster/cluster_timing.hpp"
#include "cluster/founding.hpp"
#include "cluster/record_json.hpp"
#include "cluster/store_format.hpp"
#include "config/values.hpp"
#include "coordinator/hub/etcd_history.hpp"
#include "coordinator/hub/store_need.hpp"
#include "node/cluster_fit.hpp"
#include "node/coordinator_options.hpp"
#include "node/etcd_reads.hpp"
#include "node/store_name.hpp"
#include "observe/log.hpp"
#include "security/tls_context.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/recovery/recovery.hpp"
#include "transport/socket.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

namespace codeq::node {

namespace {

using base::wrong;

using namespace std::chrono_literals;

/// Pause before etcd is asked again, and the interval of lines about it.
constexpr auto retry_pause = 200ms;
constexpr auto line_pause = 30s;

/// Maximum time that a start waits until the other coordinators serve the shards of a damaged
/// store. A fail-over takes about 3 s; the rest is for coordinators that start at the same time.
constexpr auto takeover_max = 15s;

/// Copies that have to be in sync for new writes: 2 of 3, else 1.
std::uint32_t least_in_sync(std::uint32_t copies) {
  return copies == 3 ? 2 : 1;
}

/// The error of a coordinator that knows more than its etcd does.
error forgetful(const std::string& how) {
  return {
    errc::incompatible_store,
    "etcd was restored from an older state, or founded anew, so it may name primaries that lack "
    "acknowledged data: "
      + how + "; CLUSTERS.md, Repair, tells what to do"};
}

/// Says that etcd is waited for: at once, and then in intervals.
class wait_lines {
public:
  void note(const std::string& words) {
    const auto now = std::chrono::steady_clock::now();
    if (next_ && now < *next_)
      return;
    next_ = now + line_pause;
    CODEQ_LOG_WARN(
      "coordinator waits for etcd reason=\"{}\" advice=\"is etcd started? see --etcd\"", words);
  }

private:
  std::optional<std::chrono::steady_clock::time_point> next_;
};

error unreadable(const std::string& key, const error& why) {
  return {why.code, "etcd key " + key + ": " + why.context};
}

/// Why a damaged store is kept.
error refusal(const coordinator::store_need& need) {
  if (!need.last_copies.empty())
    return {
      errc::corruption,
      "no other coordinator has a copy in sync of these shards: "
        + coordinator::text_of(need.last_copies)};
  return {
    errc::unavailable,
    "no other coordinator serves these shards yet: " + coordinator::text_of(need.awaited)};
}

} // namespace

result<etcd::client::options> etcd_options(const coordinator_node_options& node) {
  const auto& options = node.cluster;
  auto urls = etcd::parse_member_urls(options.etcd);
  if (!urls)
    return urls.error();
  etcd::client::options made;
  if (!node.data.empty()) {
    auto known = coordinator::read_etcd_history(coordinator::etcd_history_file(node.data));
    if (!known)
      return known.error();
    made.known = known->known;
  }
  made.members = std::move(*urls);
  if (made.members.front().is_secured && options.etcd_authority.empty())
    return wrong("etcd has https URLs, for which --etcd-ca names the authorities to trust");
  const auto has_files = !options.etcd_authority.empty() || !options.etcd_certificate.empty();
  if (!made.members.front().is_secured && !has_files)
    return made;
  auto tls = security::tls_source::open(
    {options.etcd_certificate, options.etcd_key, options.etcd_authority},
    security::tls_side::client);
  if (!tls)
    return wrong("TLS for etcd: " + tls.error().context);
  made.tls = std::move(*tls);
  return made;
}

cluster_door::cluster_door(const coordinator_node_options& options, etcd::client::options etcd)
  : options_(options),
    prefix_(cluster::catalogue_keys(options.cluster.name).prefix()),
    has_history_(etcd.known.cluster_id != 0),
    client_(std::move(etcd)) {
}

result<std::unique_ptr<cluster_door>> cluster_door::open(const coordinator_node_options& options) {
  auto etcd = etcd_options(options);
  if (!etcd)
    return etcd.error();
  std::unique_ptr<cluster_door> door(new cluster_door(options, std::move(*etcd)));
  auto known = door->look();
  if (!known)
    return known.error();
  if (known->record)
    if (auto ok = cluster::check_format(*known->record, storage::format_version); !ok)
      return ok.error();
  door->known_ = std::move(*known);
  if (auto ok = door->check_replicas(); !ok)
    return ok.error();
  return door;
}

/// The number of copies is the cluster's. A coordinator that was in it before goes on in spite of
/// its options, since a restart must not cost a copy.
result<void> cluster_door::check_replicas() const {
  const auto words =
    known_.record ? other_replicas(options_.cluster, *known_.record) : std::string();
  if (words.empty())
    return {};
  std::error_code ignored;
  if (!has_history_ && !std::filesystem::exists(store_name_file(options_.data), ignored))
    return error{errc::incompatible_store, words};
  CODEQ_LOG_WARN("coordinator ignores an option reason=\"{}\"", words);
  return {};
}

result<known_cluster> cluster_door::look() {
  const cluster::catalogue_keys keys(options_.cluster.name);
  for (wait_lines lines;;) {
    auto found = read_range(client_, etcd::range_of_prefix(prefix_));
    if (!found) {
      if (const auto how = find_out_how_it_forgot(); !how.empty())
        return forgetful(how);
      lines.note(to_string(found.error()));
      std::this_thread::sleep_for(retry_pause);
      continue;
    }
    known_cluster known;
    for (const auto& one : found->found) {
      const auto key = keys.parse(one.key);
      if (std::holds_alternative<cluster::catalogue_keys::cluster_key>(key)) {
        auto record = cluster::decode<cluster::cluster_record>(one.value.value_or(""));
        if (!record)
          return unreadable(one.key, record.error());
        known.record = std::move(*record);
      } else if (const auto* shard = std::get_if<cluster::catalogue_keys::shard_key>(&key)) {
        auto record = cluster::decode<cluster::shard_record>(one.value.value_or(""));
        if (!record)
          return unreadable(one.key, record.error());
        known.shards.emplace(shard->number, std::move(*record));
      } else if (const auto* node = std::get_if<cluster::catalogue_keys::node_key>(&key)) {
        auto record = cluster::decode<cluster::node_record>(one.value.value_or(""));
        // Another coordinator's mistake keeps nobody out: it is as if that one was away.
        if (record)
          known.nodes.emplace(node->name, std::move(*record));
        else
          CODEQ_LOG_WARN(
            "coordinator cannot read the record of another one reason=\"{}\"",
            unreadable(one.key, record.error()).context);
      }
    }
    return known;
  }
}

/// A value that is older than what is known only shows that a member lags. What a decision says is
/// so.
std::string cluster_door::find_out_how_it_forgot() {
  // No record has this value, so nothing is changed.
  const std::string none = "none";
  const auto key = cluster::catalogue_keys(options_.cluster.name).cluster();
  std::promise<void> promise;
  client_.decide({key, none, none, 0}, [&](const etcd::swap_answer&) { promise.set_value(); });
  promise.get_future().wait();
  return client_.replaced_because();
}

etcd::swap_answer cluster_door::decide(const etcd::swap& what) {
  for (wait_lines lines;;) {
    std::promise<etcd::swap_answer> promise;
    client_.decide(what, [&](const etcd::swap_answer& how) { promise.set_value(how); });
    auto how = promise.get_future().get();
    const auto is_decided =
      how.end == etcd::swap_end::applied || how.end == etcd::swap_end::not_applied;
    if (is_decided || !client_.replaced_because().empty())
      return how;
    lines.note(how.words);
    std::this_thread::sleep_for(retry_pause);
  }
}

result<std::size_t> cluster_door::shard_count() {
  if (!known_.record)
    return options_.shards;
  const auto count = known_.record->shards;
  if (options_.shards != 0 && options_.shards != count)
    return error{
      errc::incompatible_store,
      "shards is " + std::to_string(options_.shards) + ", but cluster " + options_.cluster.name
        + " has " + std::to_string(count)
        + ", which cannot be changed; leave --shards out, or correct --cluster"};
  return count;
}

result<void> cluster_door::check_store(const storage::task_store& store) const {
  if (!known_.record)
    return {};
  auto found = store.read(storage::store_key{}.encode());
  if (!found)
    return found.error();
  if (!*found)
    return {};
  auto identity = storage::read_identity(store);
  if (!identity)
    return identity.error();
  return check_shards(options_, identity->shard_count, *known_.record);
}

/// A store that has some shards of another cluster would make the others empty, with epochs that
/// were there before.
result<void> cluster_door::check_founder(const storage::task_store& store) const {
  auto found = storage::has_replicas(store);
  if (!found)
    return found.error();
  if (*found)
    return error{
      errc::incompatible_store,
      "etcd has no cluster " + options_.cluster.name
        + ", and the store cannot create it, since it is a part of another one; `codeqctl restore` "
          "makes a store that can, from the backup of a whole cluster"};
  return {};
}

result<void> cluster_door::create(const storage::store_record& identity) {
  cluster::cluster_record record;
  record.version = 1;
  record.identity = identity.store_id;
  record.shards = identity.shard_count;
  record.copies = options_.cluster.replicas == 0 ? copies_default : options_.cluster.replicas;
  record.store_format = storage::format_version;
  record.min_in_sync = least_in_sync(record.copies);
  const cluster::catalogue_keys keys(options_.cluster.name);
  (void)decide(cluster::founding_swap(keys, record));
  auto known = look();
  if (!known)
    return known.error();
  known_ = std::move(*known);
  if (!known_.record)
    return error{errc::unavailable, "etcd has lost the record of the cluster that was created"};
  if (known_.record->identity == identity.store_id)
    warn_of_other_clusters();
  // Another coordinator may have created it first, with its own number of copies.
  return check_replicas();
}

/// A coordinator whose --cluster is mistyped creates another cluster instead of joining one.
void cluster_door::warn_of_other_clusters() {
  const auto others = other_clusters(client_, options_.cluster.name);
  if (!others)
    CODEQ_LOG_WARN(
      "coordinator cannot see which other clusters etcd has reason=\"{}\"",
      to_string(others.error()));
  else if (!others->empty())
    CODEQ_LOG_WARN(
      "coordinator has created a cluster, though etcd has others cluster={} others=\"{}\" "
      "advice=\"if it was to join one of them, stop it, correct --cluster and give an empty "
      "--data\"",
      options_.cluster.name,
      *others);
}

result<void> cluster_door::found_shards(
  storage::task_store& store, const storage::store_record& identity) {
  const cluster::catalogue_keys keys(options_.cluster.name);
  for (std::uint16_t i = 0; i < identity.shard_count; ++i) {
    const shard_id shard{i};
    if (known_.shards.contains(shard))
      continue;
    auto stored = storage::read_replica(store, shard);
    if (!stored)
      return stored.error();
    if (!*stored) {
      const replication::replica_id id{base::random_bits() | 1};
      auto founded = storage::found_replica(store, shard, id, identity.epoch);
      if (!founded)
        return founded.error();
      *stored = std::move(*founded);
    }
    const auto& own = (*stored)->record;
    const auto record = cluster::first_record(
      *known_.record, {own.id, name_in_cluster(options_), own.promised});
    (void)decide(cluster::founding_swap(keys, shard, record));
  }
  auto known = look();
  if (!known)
    return known.error();
  known_ = std::move(*known);
  return {};
}

result<void> cluster_door::check_joiner(
  const storage::task_store& store, const storage::store_record& identity) const {
  if (auto ok = check_shards(options_, identity.shard_count, *known_.record); !ok)
    return ok;
  for (std::uint16_t i = 0; i < identity.shard_count; ++i) {
    const shard_id shard{i};
    auto stored = storage::read_replica(store, shard);
    if (!stored)
      return stored.error();
    if (*stored)
      continue;
    bool has_data = false;
    for (const auto& range : storage::data_of(shard)) {
      auto scanned = store.scan(range.begin, range.end, [&](auto, auto) {
        has_data = true;
        return false;
      });
      if (!scanned)
        return scanned.error();
    }
    if (has_data)
      return error{
        errc::incompatible_store,
        "the store in " + options_.data.string() + " was made for other use than cluster "
          + options_.cluster.name
          + ", which exists already in etcd, so it cannot join. Give an empty --data; after a "
            "restore give another --cluster name or an empty etcd, in which this store creates "
            "the cluster"};
  }
  return {};
}

/// Epochs are promised after etcd has stored them, so etcd has to know them.
result<void>
cluster_door::check_promise(shard_id shard, replication::epoch_number promised) {
  const auto found = known_.shards.find(shard);
  // While a cluster is founded, the record may be missing.
  if (found == known_.shards.end() || promised <= found->second.value.epoch)
    return {};
  // What was read may be old; a decision is not.
  const auto key = cluster::catalogue_keys(options_.cluster.name).shard(shard);
  const auto bytes = encode(found->second);
  const auto sure = decide({key, bytes, bytes, 0});
  if (const auto how = client_.replaced_because(); !how.empty())
    return forgetful(how);
  auto record = cluster::decode<cluster::shard_record>(sure.current.value_or(""));
  if (!record)
    return record.error();
  found->second = std::move(*record);
  if (promised <= found->second.value.epoch)
    return {};
  return forgetful(
    "shard " + std::to_string(value(shard)) + " is at epoch "
    + std::to_string(found->second.value.epoch) + " there, but this store has promised "
    + std::to_string(promised));
}

result<void> cluster_door::check_history(const storage::task_store& store) {
  // A store that was restored from a backup may found a cluster of its own.
  if (!has_history_)
    return {};
  const std::size_t shards = known_.record ? known_.record->shards : limits::shards_max;
  for (std::size_t i = 0; i < shards; ++i) {
    const auto shard = static_cast<shard_id>(i);
    auto stored = storage::read_replica(store, shard);
    if (!stored)
      return stored.error();
    if (!*stored)
      continue;
    if (!known_.record)
      return error{
        errc::incompatible_store,
        "etcd has no cluster " + options_.cluster.name
          + ", and the store has replicas of one: is --cluster right, and --etcd? If they are, "
            "etcd was restored from an older state, or founded anew; CLUSTERS.md, Repair, tells "
            "what to do"};
    if (auto ok = check_promise(shard, (*stored)->record.promised); !ok)
      return ok;
  }
  return {};
}

/// The copies that a store has of one cluster would be overwritten by those of another one.
result<void> cluster_door::check_identity() const {
  auto history =
    coordinator::read_etcd_history(coordinator::etcd_history_file(options_.data));
  if (!history)
    return history.error();
  if (history->identity == 0 || !known_.record || history->identity == known_.record->identity)
    return {};
  return error{
    errc::incompatible_store,
    "the store in " + options_.data.string() + " belongs to another cluster than "
      + options_.cluster.name + "; correct --cluster, or give an empty --data"};
}

/// The replicas of a store are those of one name in etcd. Under another name they would be taken
/// for copies that are not wanted.
result<void> cluster_door::check_name(const storage::task_store& store) {
  const auto name = name_in_cluster(options_);
  bool is_own = false;
  for (const auto& [shard, record] : known_.shards) {
    auto stored = storage::read_replica(store, shard);
    if (!stored)
      return stored.error();
    if (!*stored)
      continue;
    const auto found = record.nodes.find((*stored)->record.id);
    if (found != record.nodes.end() && found->second != name)
      return other_store_name(options_.data, found->second, name);
    is_own = is_own || found != record.nodes.end();
  }
  if (is_own)
    return {};
  if (auto ok = check_store_name(options_.data, name); !ok)
    return ok;
  return await_name();
}

/// A coordinator that ended just now, for instance since its disk was lost, is still registered.
result<void> cluster_door::await_name() {
  const auto name = name_in_cluster(options_);
  // A new leader of etcd lets leases last longer.
  constexpr auto most = 3 * cluster::timing::lease;
  if (const auto held = known_.nodes.find(name); held != known_.nodes.end())
    CODEQ_LOG_WARN(
      "coordinator waits until its name is free node={} address={} wait_max={} reason=\"another "
      "coordinator with that name runs at that address, or has just ended\"",
      name,
      held->second.address,
      base::format_duration(most));
  const auto end = std::chrono::steady_clock::now() + most;
  while (known_.nodes.contains(name)) {
    if (std::chrono::steady_clock::now() > end)
      return wrong(
        "node is " + name + "; another coordinator with that name runs at "
        + known_.nodes.at(name).address + ": give another --node, or stop that one");
    std::this_thread::sleep_for(retry_pause);
    auto known = look();
    if (!known)
      return known.error();
    known_ = std::move(*known);
  }
  return {};
}

result<cluster_entry>
cluster_door::enter(storage::task_store& store, const storage::store_record& identity) {
  if (auto ok = check_identity(); !ok)
    return ok.error();
  if (auto ok = check_history(store); !ok)
    return ok.error();
  if (auto ok = check_name(store); !ok)
    return ok.error();
  if (!known_.record) {
    if (auto ok = check_founder(store); !ok)
      return ok.error();
    if (auto ok = create(identity); !ok)
      return ok.error();
  }
  const auto is_founder = known_.record->identity == identity.store_id;
  auto ok = is_founder ? found_shards(store, identity) : check_joiner(store, identity);
  if (!ok)
    return ok.error();
  const auto mode = options_.sync ? storage::durability::sync : storage::durability::os;
  auto may_have_lost = storage::begin_boot(store, storage::kernel_boot_id(), mode);
  if (!may_have_lost)
    return may_have_lost.error();
  auto history = coordinator::history_of(client_.known(), *known_.record);
  for (const auto& [shard, record] : known_.shards)
    for (const auto& [replica, node] : record.nodes)
      history.nodes.insert(node);
  const auto file = coordinator::etcd_history_file(options_.data);
  if (auto kept = coordinator::write_etcd_history(file, history); !kept)
    return kept.error();
  if (auto kept = keep_store_name(options_.data, name_in_cluster(options_)); !kept)
    return kept.error();
  cluster_entry entry{*known_.record, known_.shards, {}, *may_have_lost};
  for (const auto& [shard, record] : known_.shards) {
    auto stored = storage::read_replica(store, shard);
    if (!stored)
      return stored.error();
    if (*stored)
      entry.replicas.emplace(shard, std::move(**stored));
  }
  CODEQ_LOG_INFO(
    "coordinator {} cluster={} node={} shards={} copies={} replicas_here={}",
    is_founder ? "has founded its" : "joins its",
    options_.cluster.name,
    name_in_cluster(options_),
    entry.record.shards,
    entry.record.copies,
    entry.replicas.size());
  return entry;
}

result<void> cluster_door::read_shards_surely() {
  const cluster::catalogue_keys keys(options_.cluster.name);
  for (std::uint32_t i = 0; i < known_.record->shards; ++i) {
    const auto shard = static_cast<shard_id>(i);
    const auto found = known_.shards.find(shard);
    std::optional<std::string> bytes;
    if (found != known_.shards.end())
      bytes = encode(found->second);
    const auto sure = decide({keys.shard(shard), bytes, bytes, 0});
    if (const auto how = client_.replaced_because(); !how.empty())
      return forgetful(how);
    if (!sure.current) {
      known_.shards.erase(shard);
      continue;
    }
    auto record = cluster::decode<cluster::shard_record>(*sure.current);
    if (!record)
      return record.error();
    known_.shards.insert_or_assign(shard, std::move(*record));
  }
  return {};
}

result<coordinator::store_need> cluster_door::look_at_need() const {
  if (!known_.record)
    return error{
      errc::incompatible_store,
      "etcd has no cluster " + options_.cluster.name + ", and the damaged store in "
        + options_.data.string() + " is of one: is --cluster right, and --etcd?"};
  return coordinator::need_of(
    name_in_cluster(options_), known_.record->shards, known_.shards, known_.nodes);
}

result<void> cluster_door::await_unneeded_store() {
  if (auto ok = check_identity(); !ok)
    return ok;
  const auto end = std::chrono::steady_clock::now() + takeover_max;
  for (bool is_told = false;;) {
    auto need = look_at_need();
    if (!need)
      return need.error();
    const auto is_late = std::chrono::steady_clock::now() > end;
    if (is_late || need->awaited.empty() || !need->last_copies.empty()) {
      // The reads may be old; the answer to a decision is not.
      if (auto ok = read_shards_surely(); !ok)
        return ok;
      need = look_at_need();
      if (*need == coordinator::store_need{})
        return {};
      if (is_late || !need->last_copies.empty())
        return refusal(*need);
    }
    if (!std::exchange(is_told, true))
      CODEQ_LOG_INFO(
        "coordinator waits until others serve the shards of its damaged store shards=\"{}\"",
        coordinator::text_of(need->awaited));
    std::this_thread::sleep_for(retry_pause);
    auto known = look();
    if (!known)
      return known.error();
    known_ = std::move(*known);
  }
}

} // namespace codeq::node
