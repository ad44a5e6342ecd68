// SPDX-License-Identifier: Apache-2.0
#include "node/cluster_seat.hpp"

#include "base/duration_text.hpp"
#include "base/random.hpp"
#include "base/tuning.hpp"
#include "cluster/cluster_timing.hpp"
#include "coordinator/hub/etcd_history.hpp"
#include "coordinator/hub/replica_worker.hpp"
#include "coordinator/hub/shard_host.hpp"
#include "node/coordinator_options.hpp"
#include "node/damaged_store.hpp"
#include "observe/log.hpp"
#include "transport/spawn_beside_sockets.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <utility>

#include <unistd.h>

namespace codeq::node {

namespace {

/// The part of the time to stop that is kept to leave etcd.
constexpr duration etcd_leave_max = tuning::shutdown_max / 8;

using coordinator::replica_hub;
using coordinator::replica_step;

/// Has the replicas do something, from another thread.
template <class Action>
void tell(const coordinator::replicas_actor& replicas, Action action) {
  caf::anon_send(replicas, replica_step{std::move(action)});
}

/// The credentials that are shown to other coordinators: the certificate is this one's own.
credentials credentials_of(const coordinator_node_options& options) {
  credentials access;
  if (!options.development)
    access.token_file = options.cluster.token_file;
  if (has_tls(options)) {
    access.tls_authority = options.tls_authority;
    access.tls_certificate = options.tls_certificate;
    access.tls_key = options.tls_key;
  }
  return access;
}

void log_etcd_member(const etcd::member_url& member, const std::string& foreign_because) {
  if (foreign_because.empty())
    CODEQ_LOG_INFO("member of etcd belongs to the known etcd again url={}", to_string(member));
  else
    CODEQ_LOG_WARN(
      "member of etcd belongs to another etcd, its answers are skipped url={} reason=\"{}\" "
      "advice=\"has it lost its data, or is --etcd wrong?\"",
      to_string(member),
      foreign_because);
}

} // namespace

cluster_seat::cluster_seat(
  caf::actor_system& system, const coordinator_node_options& options, cluster_entry entry)
  : system_(system),
    options_(options),
    entry_(std::move(entry)),
    places_(std::make_shared<coordinator::served_shards>(entry_.record.shards)) {
  places_->note_store_format(entry_.record.store_format);
}

result<std::unique_ptr<cluster_seat>> cluster_seat::take(
  caf::actor_system& system,
  const coordinator_node_options& options,
  cluster_seat_parts parts,
  cluster_entry entry) {
  auto access = open_credentials(credentials_of(options), {address_in_cluster(options)});
  if (!access)
    return error{errc::invalid_argument, "token for the cluster: " + access.error().context};
  std::unique_ptr<cluster_seat> seat(new cluster_seat(system, options, std::move(entry)));
  coordinator::replica_hub_options hub;
  hub.links = {
    options.cluster.name, name_in_cluster(options), parts.incarnation, access->token, access->tls};
  seat->access_ = std::move(*access);
  hub.store = std::move(parts.store);
  hub.journal = std::move(parts.journal);
  hub.start_shard = std::move(parts.start_shard);
  hub.spools = options.data / "replicas";
  hub.end_on_failure = end_on_failure(options);
  hub.keep_etcd = [file = coordinator::etcd_history_file(options.data),
                   record = seat->entry_.record](
                    const etcd::header& known, const std::set<std::string>& nodes) {
    auto history = coordinator::history_of(known, record);
    history.nodes = nodes;
    if (auto kept = coordinator::write_etcd_history(file, history); !kept)
      CODEQ_LOG_WARN("coordinator cannot note its etcd reason=\"{}\"", to_string(kept.error()));
  };
  seat->look_at_disk_ = [reserve = std::move(parts.reserve), least = options.free_bytes_least](
                          const cluster::node_disk& before) {
    return cluster::next_disk(before, reserve->usable(), reserve->least(least));
  };
  hub.look_at_disk = seat->look_at_disk_;
  hub.places = seat->places_;
  hub.board = std::move(parts.board);
  hub.name_seed = base::random_bits();
  for (auto* worker : {&hub.spooler, &hub.copier, &hub.recoverer}) {
    *worker = system.spawn<caf::detached>(coordinator::replica_worker);
    seat->workers_.push_back(*worker);
  }
  for (std::uint32_t i = 0; i < seat->entry_.record.shards; ++i)
    seat->hosts_.push_back(transport::spawn_beside_sockets(
      system, coordinator::shard_host, static_cast<shard_id>(i)));
  hub.hosts = seat->hosts_;
  seat->replicas_ =
    transport::spawn_beside_sockets(system, coordinator::drive_replicas, std::move(hub));
  return seat;
}

http::far_shards_options cluster_seat::far_shards() const {
  const auto name = name_in_cluster(options_);
  return {
    address_in_cluster(options_),
    name,
    {schema::Role::GATEWAY, name, base::random_bits() | 1, access_.token},
    access_.tls};
}

cluster_seat::~cluster_seat() {
  leave(std::chrono::steady_clock::now() + tuning::shutdown_max / 2);
}

cluster::member_events cluster_seat::events() const {
  cluster::member_events events;
  events.shard_told =
    [to = replicas_](shard_id shard, const cluster::shard_record& record, bool is_applied) {
      tell(to, [shard, record, is_applied](replica_hub& hub) {
        hub.shard_told(shard, record, is_applied);
      });
    };
  events.build_replica = [to = replicas_](shard_id shard) {
    tell(to, [shard](replica_hub& hub) { hub.build(shard); });
  };
  events.drop_replica = [to = replicas_](shard_id shard, replication::replica_id replica) {
    tell(to, [shard, replica](replica_hub& hub) { hub.drop(shard, replica); });
  };
  events.hand_over = [to = replicas_](shard_id shard, replication::replica_id next) {
    tell(to, [shard, next](replica_hub& hub) { hub.hand_over(shard, next); });
  };
  events.map_changed = [to = replicas_](const cluster::cluster_map& map) {
    tell(to, [map](replica_hub& hub) { hub.map_changed(map); });
  };
  events.store_format_told = [places = places_](std::uint32_t store_format) {
    places->note_store_format(store_format);
  };
  events.must_end = [](const std::string& words) {
    CODEQ_LOG_ERROR("coordinator stops at once reason=\"{}\"", words);
    observe::flush_log();
    ::_exit(EXIT_FAILURE);
  };
  events.needs_repair = [](const std::string& words) {
    CODEQ_LOG_ERROR(
      "etcd was restored or replaced, no shard gets another primary until an operator repairs the "
      "cluster reason=\"{}\"",
      words);
  };
  events.noted = [](const std::string& words) {
    CODEQ_LOG_DEBUG("coordinator follows etcd note=\"{}\"", words);
  };
  events.etcd_lost = [places = places_](const std::string& reason) {
    places->note_etcd(false);
    CODEQ_LOG_WARN(
      "etcd has not answered for {}, or has refused all writes, no shard gets another primary "
      "meanwhile reason=\"{}\"",
      base::format_duration(cluster::timing::etcd_silent),
      reason);
  };
  events.etcd_found = [places = places_] {
    places->note_etcd(true);
    CODEQ_LOG_INFO("etcd answers again");
  };
  events.record_noted = [](const std::string& words) {
    CODEQ_LOG_ERROR("coordinator leaves a record of etcd as it is reason=\"{}\"", words);
  };
  return events;
}

result<void> cluster_seat::join() {
  auto etcd = etcd_options(options_);
  if (!etcd)
    return etcd.error();
  etcd->member_changed = &log_etcd_member;
  cluster::member_options member;
  member.cluster = options_.cluster.name;
  member.node = name_in_cluster(options_);
  member.self.incarnation = base::random_bits() | 1;
  member.self.address = address_in_cluster(options_);
  member.self.http_address = options_.http;
  member.self.zone = options_.cluster.zone;
  member.self.store_format_max = storage::format_version;
  const auto disk = look_at_disk_({});
  member.self.free_bytes = disk.free_bytes;
  member.self.refuses_tasks = disk.refuses_tasks;
  std::vector<coordinator::found_replica_data> replicas;
  for (const auto& [shard, stored] : entry_.replicas) {
    // A replica that etcd does not list was dropped while this coordinator was away. The member
    // builds a new one if the shard is to have a copy here.
    if (entry_.shards.at(shard).nodes.contains(stored.record.id))
      member.held.emplace(shard, stored.record.id);
    replicas.push_back({shard, stored, entry_.shards.at(shard)});
  }
  member_ = std::make_shared<cluster::member_driver>(
    std::move(*etcd), std::move(member), events());
  tell(replicas_, [member = member_, replicas = std::move(replicas)](replica_hub& hub) {
    hub.join(member, replicas);
  });
  return {};
}

void cluster_seat::leave(std::chrono::steady_clock::time_point until) {
  if (!replicas_)
    return;
  // Without etcd no shard is handed over, and the lease cannot be ended there.
  if (!places_->etcd_answers())
    until = std::chrono::steady_clock::now();
  // Before the shards go, so that none of them is handed back.
  if (member_)
    member_->leave();
  {
    caf::scoped_actor self{system_};
    const auto left = until - etcd_leave_max - std::chrono::steady_clock::now();
    self->request(replicas_, std::max(left, left.zero()), coordinator::stop_replicas{})
      .receive([](bool) {}, [](const caf::error&) {});
  }
  if (member_) {
    auto ended = std::make_shared<std::promise<void>>();
    auto end = ended->get_future();
    member_->end([ended] { ended->set_value(); });
    (void)end.wait_until(until);
  }
  caf::anon_send_exit(replicas_, caf::exit_reason::user_shutdown);
  for (const auto& host : hosts_)
    caf::anon_send_exit(host, caf::exit_reason::user_shutdown);
  for (const auto& worker : workers_)
    caf::anon_send_exit(worker, caf::exit_reason::user_shutdown);
  replicas_ = nullptr;
  hosts_.clear();
  workers_.clear();
}

} // namespace codeq::node
