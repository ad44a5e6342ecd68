// SPDX-License-Identifier: Apache-2.0
#include "codeq/coordinator_node.hpp"

#include "codeq/limits.hpp"

#include "base/clock.hpp"
#include "base/random.hpp"
#include "base/tuning.hpp"
#include "coordinator/actors/backup_runner.hpp"
#include "coordinator/actors/journal_driver.hpp"
#include "coordinator/actors/keeper.hpp"
#include "coordinator/actors/log_syncer.hpp"
#include "coordinator/actors/reader_driver.hpp"
#include "coordinator/actors/registrar_driver.hpp"
#include "coordinator/actors/shard_driver.hpp"
#include "coordinator/shared/shared_board.hpp"
#include "http/gateway/gateway.hpp"
#include "node/cluster_fit.hpp"
#include "node/cluster_seat.hpp"
#include "node/coordinator_access.hpp"
#include "node/coordinator_counts.hpp"
#include "node/coordinator_options.hpp"
#include "node/damaged_store.hpp"
#include "node/http_access.hpp"
#include "node/shard_recovery.hpp"
#include "node/start_disk.hpp"
#include "node/webhook_access.hpp"
#include "observe/limit_meter.hpp"
#include "observe/log.hpp"
#include "storage/recovery/recovery.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "transport/acceptor.hpp"
#include "transport/configure.hpp"
#include "transport/socket.hpp"
#include "transport/spawn_beside_sockets.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string_view>
#include <vector>

namespace codeq {

namespace {

/// Minimum time that a stop leaves for hand-overs, however long the gateway took to stop.
constexpr duration hand_over_min{700};

void log_zone(const schedule::zone_store::change& change) {
  if (change.zone && change.was_known)
    CODEQ_LOG_INFO("time zone has new rules zone={}", change.name);
  else if (change.zone)
    CODEQ_LOG_INFO("time zone is known now, its schedules fire zone={}", change.name);
  else
    CODEQ_LOG_WARN(
      "time zone cannot be read, {} zone={} reason=\"{}\"",
      change.was_known ? "the last known rules stay in use" : "its schedules do not fire",
      change.name, to_string(change.zone.error()));
}

storage::rocksdb_store_options store_options(
  const coordinator_node_options& options,
  const std::shared_ptr<storage::retention_horizons>& horizons) {
  storage::rocksdb_store_options s;
  s.directory = options.data;
  s.mode = options.sync ? storage::durability::sync : storage::durability::os;
  s.horizons = horizons;
  s.on_background_error = node::end_on_failure(options);
  // A coordinator that is alone goes on where the damage concerns no request.
  if (!options.cluster.name.empty())
    s.on_damage = node::end_on_failure(options);
  s.on_recovery = [](std::string_view text) {
    CODEQ_LOG_WARN("store recovers after a crash loss=\"{}\"", text);
  };
  return s;
}

result<void> prepare_directories(const coordinator_node_options& options) {
  if (auto ok = node::prepare_directory("--data", options.data); !ok)
    return ok;
  // Otherwise the first backup, perhaps at night, would find out that it cannot be written.
  return options.backups.empty() ? result<void>{}
                                 : node::prepare_directory("--backup-dir", options.backups);
}

/// Null for a coordinator that is alone.
result<std::unique_ptr<node::cluster_door>> open_door(const coordinator_node_options& options) {
  if (options.cluster.name.empty())
    return std::unique_ptr<node::cluster_door>{};
  return node::cluster_door::open(options);
}

} // namespace

struct coordinator_node::impl {
  /// Recovers the store, unless the shards of a cluster are to be recovered later. Errors: of the
  /// store, and of the cluster.
  result<void> recover(const coordinator_node_options& options);
  result<void> open_store(const coordinator_node_options& options, node::cluster_door* door);
  result<void> identify(const coordinator_node_options& options, std::size_t shard_count);
  result<void> enter(node::cluster_door& door);
  result<void> recover_alone(const coordinator_node_options& options);

  /// Starts the actors of the coordinator. Errors: of the cluster's credentials.
  result<void> spawn_actors(const coordinator_node_options& options);
  void spawn_journal(
    const coordinator_node_options& options, const std::shared_ptr<coordinator::turn_loop>& loop);
  void spawn_registrar(
    const coordinator_node_options& options, const std::shared_ptr<coordinator::turn_loop>& loop);
  void spawn_shards(
    const coordinator_node_options& options, const std::shared_ptr<coordinator::turn_loop>& loop);

  /// Starts the replicas, and the hosts of the shards that they will serve.
  result<void> take_seat(const coordinator_node_options& options);
  [[nodiscard]] coordinator::shard_driver_options shard_options(
    const coordinator_node_options& options,
    std::shared_ptr<core::shard_state> state,
    std::shared_ptr<base::clock> clock) const;

  /// Opens the listening port.
  result<void> listen(const coordinator_node_options& options);
  result<void> reload();

  /// Starts the HTTP gateway, if it is configured.
  result<void> serve_http(const coordinator_node_options& options);
  void stop();

  node::coordinator_access rights;

  std::shared_ptr<storage::retention_horizons> horizons =
    std::make_shared<storage::retention_horizons>();
  std::shared_ptr<coordinator::disk_reserve> reserve;
  std::shared_ptr<storage::task_store> store;
  storage::store_record identity;
  std::vector<std::shared_ptr<core::shard_state>> states;
  /// The last second may be missing after a power cut.
  bool may_have_lost = false;
  std::shared_ptr<schedule::zone_store> zones = std::make_shared<schedule::zone_store>(
    std::string(schedule::zone_store::default_folder), log_zone);
  /// The first ready tasks of all shards that are here; null when there is only one shard.
  std::shared_ptr<coordinator::shared_board> board;
  /// How the cluster was entered; empty for a coordinator that is alone.
  std::optional<node::cluster_entry> entry;
  caf::actor_system_config config;
  std::unique_ptr<caf::actor_system> system;
  coordinator::journal_actor journal;
  /// Null in `sync` mode.
  coordinator::log_syncer_actor syncer;
  coordinator::reader_actor reader;
  /// Number of look-ups that wait for the reader.
  std::shared_ptr<std::atomic<std::size_t>> lookups = std::make_shared<std::atomic<std::size_t>>(0);
  coordinator::keeper_actor keeper;
  std::shared_ptr<coordinator::backup_runner> backups;
  std::shared_ptr<coordinator::shared_hold> hold =
    std::make_shared<coordinator::shared_hold>(base::random_bits());
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
  /// In a cluster the hosts of its shards.
  std::vector<coordinator::shard_actor> shards;
  /// Null for a coordinator that is alone.
  std::unique_ptr<node::cluster_seat> seat;
  coordinator::registrar_internal_actor registrar;
  /// The latest shard time found in the store.
  timestamp latest{};
  transport::acceptor_handle acceptor;
  std::shared_ptr<coordinator::journal_meter> journal_meter =
    std::make_shared<coordinator::journal_meter>();
  std::shared_ptr<observe::limit_meter> limit_meter = std::make_shared<observe::limit_meter>();
  /// Shared by the node port and the gateway.
  std::shared_ptr<coordinator::enqueue_shares> enqueues;
  std::shared_ptr<coordinator::drained_workers> drained =
    std::make_shared<coordinator::drained_workers>();
  std::unique_ptr<http::gateway_node> gateway;
  bool stopped = false;
};

result<void> coordinator_node::impl::reload() {
  auto outcome = rights.reload();
  if (outcome.is_new) {
    rights.limiter->forget_idle(base::system_clock(timestamp{}).now().steady);
    caf::anon_send(registrar, coordinator::tokens_replaced{});
  }
  return outcome.how;
}

result<void> coordinator_node::impl::recover(const coordinator_node_options& options) {
  if (auto ok = prepare_directories(options); !ok)
    return ok;
  if (!options.cluster.name.empty())
    if (auto ok = node::replace_damaged_store(options); !ok)
      return ok;
  // Comes before the store, because a start writes the entries of the log that it replays, which
  // takes space.
  reserve = std::make_shared<coordinator::disk_reserve>(options.data);
  auto usable = reserve->usable();
  if (auto ok = node::check_start_space(options.data); !ok)
    return ok;
  if (auto words = node::warning_of_small_disk(options.data, options.free_bytes_least);
      !words.empty())
    CODEQ_LOG_WARN("coordinator will never take new tasks reason=\"{}\"", words);
  auto door = open_door(options);
  if (!door)
    return door.error();
  if (!usable)
    CODEQ_LOG_WARN("disk reserve is not looked after reason=\"{}\"", to_string(usable.error()));
  const auto owner = node::owner_of(options);
  if (auto ok = open_store(options, door->get()); !ok)
    return node::note_damage(ok.error(), owner);
  auto recovered = *door ? enter(**door) : recover_alone(options);
  return recovered ? recovered : node::advise_on_damage(recovered.error(), owner);
}

result<void> coordinator_node::impl::open_store(
  const coordinator_node_options& options, node::cluster_door* door) {
  auto shard_count = door ? door->shard_count() : result<std::size_t>(options.shards);
  if (!shard_count)
    return shard_count.error();
  auto opened = storage::open_rocksdb_store(store_options(options, horizons));
  if (!opened)
    return opened.error();
  store = std::move(*opened);
  if (auto ok = door ? door->check_store(*store) : result<void>(); !ok)
    return ok;
  return identify(options, *shard_count);
}

result<void> coordinator_node::impl::identify(
  const coordinator_node_options& options, std::size_t shard_count) {
  auto record = storage::open_identity(*store, shard_count, base::random_bits() | 1);
  if (!record)
    return record.error();
  identity = *record;
  if (identity.epoch == 1)
    CODEQ_LOG_INFO(
      "store is new and has no tasks directory={} shards={}",
      options.data.string(),
      identity.shard_count);
  if (const bool is_member = !options.cluster.name.empty(); is_member || identity.shard_count > 1)
    board = std::make_shared<coordinator::shared_board>(identity.shard_count, is_member);
  return {};
}

result<void> coordinator_node::impl::enter(node::cluster_door& door) {
  auto entered = door.enter(*store, identity);
  if (!entered)
    return entered.error();
  may_have_lost = entered->may_have_lost;
  entry = std::move(*entered);
  return {};
}

result<void> coordinator_node::impl::recover_alone(const coordinator_node_options& options) {
  if (auto ok = node::check_alone(*store); !ok)
    return ok;
  auto mode = options.sync ? storage::durability::sync : storage::durability::os;
  auto begun = storage::begin_boot(*store, storage::kernel_boot_id(), mode);
  if (!begun)
    return begun.error();
  may_have_lost = *begun;
  auto recovered = node::recover_shards(*store, identity);
  if (!recovered)
    return recovered.error();
  states = std::move(*recovered);
  return {};
}

void coordinator_node::impl::spawn_journal(
  const coordinator_node_options& options, const std::shared_ptr<coordinator::turn_loop>& loop) {
  auto mode = options.sync ? storage::durability::sync : storage::durability::os;
  if (!options.sync)
    syncer = system->spawn<caf::detached>(coordinator::log_syncer, store);
  coordinator::journal_driver_options writes{
    store, {mode, identity}, {}, horizons, journal_meter, syncer, reserve};
  writes.on_failure = node::end_on_failure(options);
  // Waiting for a disk needs a thread of its own. A write to the page cache is done before another
  // thread would have woken up.
  if (!options.sync)
    writes.loop = loop;
  journal = options.sync
              ? system->spawn<caf::detached>(coordinator::drive_journal, writes)
              : transport::spawn_beside_sockets(*system, coordinator::drive_journal, writes);
}

result<void> coordinator_node::impl::spawn_actors(const coordinator_node_options& options) {
  transport::configure(config, options.threads);
  system = std::make_unique<caf::actor_system>(config);
  // In a cluster shards come and go, so sessions reach them by messages to their hosts.
  auto loop = entry ? nullptr : std::make_shared<coordinator::turn_loop>();
  spawn_journal(options, loop);
  coordinator::reader_driver_options reads{
    {store, tuning::segment_cache_bytes_default / 4 / identity.shard_count},
    node::end_on_failure(options),
    lookups,
    {},
    limit_meter};
  reader = system->spawn<caf::detached>(coordinator::drive_reader, reads);
  keeper = system->spawn<caf::detached>(
    coordinator::keeper,
    coordinator::keeper_options{
      {store, horizons, options.retention_bytes},
      cancelled,
      node::end_on_failure(options),
      limit_meter,
      reserve,
      options.free_bytes_least});
  if (!entry)
    spawn_shards(options, loop);
  else if (auto ok = take_seat(options); !ok)
    return ok;
  spawn_registrar(options, loop);
  return {};
}

void coordinator_node::impl::spawn_registrar(
  const coordinator_node_options& options, const std::shared_ptr<coordinator::turn_loop>& loop) {
  coordinator::registrar_driver_options r;
  r.registrar = {
    identity.shard_count, base::random_bits() | 1, identity.store_id, options.connections_max};
  if (seat) {
    r.registrar.store_id = seat->entry().record.identity;
    r.registrar.cluster = options.cluster.name;
    r.registrar.node = node::name_in_cluster(options);
    r.registrar.places = seat->places();
    r.replicas = seat->replicas();
  }
  r.meter = limit_meter;
  enqueues = std::make_shared<coordinator::enqueue_shares>(options.enqueue_bytes_max, limit_meter);
  r.enqueues = enqueues;
  r.drained = drained;
  r.unread = std::make_shared<coordinator::unread_shares>(limits::unread_bytes_max, limit_meter);
  r.shards = shards;
  r.gauges = [s = store, h = horizons, d = reserve, l = lookups, e = enqueues] {
    auto gauges = node::store_gauges(*s, *h, *d);
    gauges["codeq_lookups_waiting"] = static_cast<std::int64_t>(l->load());
    gauges["codeq_enqueue_bytes"] = static_cast<std::int64_t>(e->used());
    return gauges;
  };
  r.clock = std::make_shared<base::system_clock>(latest);
  r.access = rights.access;
  r.limiter = rights.limiter;
  backups = std::make_shared<coordinator::backup_runner>(
    coordinator::backup_options{
      store, options.backups, options.backups_kept, hold, r.registrar.node});
  r.backups = [b = backups](const backup_wish& wish) { return b->carry_out(wish); };
  r.list_backups = [b = backups] { return b->list(); };
  r.loop = loop;
  registrar = transport::spawn_beside_sockets(*system, coordinator::drive_registrar, r);
  if (rights.jwt_keys)
    rights.jwt_keys->notify(
      [to = registrar] { caf::anon_send(to, coordinator::tokens_replaced{}); });
}

coordinator::shard_driver_options coordinator_node::impl::shard_options(
  const coordinator_node_options& options,
  std::shared_ptr<core::shard_state> state,
  std::shared_ptr<base::clock> clock) const {
  coordinator::shard_driver_options s;
  s.clock = std::move(clock);
  s.shard.state = std::move(state);
  s.shard.shard_count = identity.shard_count;
  s.shard.zones = zones;
  s.shard.board = board;
  s.shard.may_have_lost = may_have_lost;
  s.store = store;
  s.meter = limit_meter;
  s.reader = reader;
  s.space =
    std::make_shared<coordinator::free_space>(options.data, options.free_bytes_least, reserve);
  s.reserve = reserve;
  s.shard.cache_bytes = tuning::segment_cache_bytes_default / identity.shard_count;
  return s;
}

void coordinator_node::impl::spawn_shards(
  const coordinator_node_options& options, const std::shared_ptr<coordinator::turn_loop>& loop) {
  coordinator::meet_shards introduction;
  for (auto& state : states) {
    latest = std::max(latest, state->at);
    auto clock = std::make_shared<base::system_clock>(state->at);
    auto s = shard_options(options, std::move(state), std::move(clock));
    s.journal = journal;
    s.loop = loop;
    auto shard = transport::spawn_beside_sockets(*system, coordinator::drive_shard, s);
    introduction.shards.emplace_back(shard);
    shards.emplace_back(shard);
  }
  for (const auto& shard : introduction.shards)
    caf::anon_send(caf::actor_cast<coordinator::shard_internal_actor>(shard), introduction);
  states.clear();
}

result<void> coordinator_node::impl::take_seat(const coordinator_node_options& options) {
  node::cluster_seat_parts parts{store, journal, identity.epoch, {}, reserve, board};
  parts.start_shard = [this, options](coordinator::served_shard served) {
    auto s = shard_options(options, std::move(served.state), std::move(served.clock));
    s.journal = std::move(served.journal);
    s.authority = std::move(served.authority);
    s.neighbours = std::move(served.neighbours);
    s.epoch = served.epoch;
    s.shard.hand_overs.emplace();
    s.shard.carries_settings = true;
    s.shard.hold = hold;
    if (!options.sync)
      s.shard.hand_overs->sync_pace = coordinator::os_hand_over_pace;
    return transport::spawn_beside_sockets(*system, coordinator::drive_shard, s);
  };
  auto taken = node::cluster_seat::take(*system, options, std::move(parts), std::move(*entry));
  if (!taken)
    return taken.error();
  seat = std::move(*taken);
  for (const auto& host : seat->hosts())
    shards.emplace_back(host);
  return {};
}

result<void> coordinator_node::impl::listen(const coordinator_node_options& options) {
  auto endpoint = transport::parse_listen_address(options.listen);
  if (!endpoint)
    return endpoint.error();
  transport::acceptor_options a;
  a.address = endpoint->host;
  a.port = endpoint->port;
  a.registrar = registrar;
  a.tls = rights.tls;
  // Otherwise nodes that are connected could use up the places of those that have yet to show their
  // tokens, for which the registrar may end another connection.
  a.connections_max =
    options.connections_max + (rights.access ? limits::unauthenticated_connections_max : 0);
  a.meter = limit_meter;
  auto spawned = transport::spawn_acceptor(*system, std::move(a));
  if (!spawned)
    return error{spawned.error().code, "--listen: " + spawned.error().context};
  acceptor = std::move(*spawned);
  return {};
}

result<void> coordinator_node::impl::serve_http(const coordinator_node_options& options) {
  if (options.http.empty())
    return {};
  http::gateway_options g;
  g.listen = options.http;
  g.metrics_listen = options.metrics;
  g.tls = rights.http_tls;
  g.connections_max = options.http_connections_max;
  auto webhooks = node::open_webhooks(options);
  if (!webhooks)
    return error{errc::invalid_argument, webhooks.error().context};
  g.actor.webhooks = std::move(*webhooks);
  const auto store_id = seat ? seat->entry().record.identity : identity.store_id;
  g.actor.desk = {
    shards, store_id, std::make_shared<base::system_clock>(latest), limit_meter, enqueues};
  g.actor.desk.board = board;
  g.actor.desk.drained = drained;
  if (seat) {
    g.actor.desk.cluster = seat->far_shards();
    g.actor.replicas = seat->replicas();
  }
  g.actor.who = node::authenticate_by(rights.access);
  g.actor.callers_of = node::callers_by(rights.tokens);
  g.actor.accepts_jwts = rights.jwt_keys != nullptr;
  g.actor.limit = node::limit_by(rights.limiter, limit_meter);
  g.actor.is_loopback_only = options.development;
  g.actor.cors = http::cors_policy(options.http_cors_origins);
  g.actor.needs_token = options.http_needs_token;
  g.actor.check_disk = [space = std::make_shared<coordinator::free_space>(
                          options.data, options.free_bytes_least, reserve),
                        clock = g.actor.desk.clock] { return space->check(clock->now().steady); };
  g.actor.metrics = node::metrics_of(
    {.store = store,
     .journal = journal_meter,
     .gateway = g.meter,
     .limits = limit_meter,
     .enqueues = enqueues,
     .lookups = lookups,
     .horizons = horizons,
     .reserve = reserve,
     .backups = backups,
     .backup_directory = options.backups,
     .places = seat ? seat->places() : nullptr});
  auto started = http::gateway_node::start(*system, std::move(g));
  if (!started)
    return started.error();
  gateway = std::move(*started);
  return {};
}

void coordinator_node::impl::stop() {
  if (!system || std::exchange(stopped, true))
    return;
  // The registrar has the rest.
  const auto until = std::chrono::steady_clock::now() + tuning::shutdown_max * 3 / 4;
  rights.jwt_keys = nullptr;
  if (gateway)
    gateway->stop();
  *cancelled = true;
  if (seat)
    seat->leave(std::max(until, std::chrono::steady_clock::now() + hand_over_min));
  backups->stop();
  caf::anon_send_exit(keeper, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(acceptor.actor, caf::exit_reason::user_shutdown);
  {
    caf::scoped_actor self{*system};
    self->request(registrar, tuning::shutdown_max / 4, coordinator::stop_registrar{})
      .receive([](bool) {}, [](const caf::error&) {});
    // All shards at the same time, so that there is only one wait for a slow disk.
    auto stop_one = [&](const coordinator::shard_actor& shard) {
      return self->request(shard, tuning::shutdown_max / 2, coordinator::stop_shard{});
    };
    std::vector<decltype(stop_one(shards.front()))> stops;
    // In a cluster the others go on with them.
    if (!seat)
      for (const auto& shard : shards)
        stops.push_back(stop_one(shard));
    for (auto& stop : stops) {
      stop.receive(
        [](bool) {},
        [](const caf::error&) {
          CODEQ_LOG_WARN("shard does not finish in time; its log is replayed at the next start");
        });
    }
  }
  for (const auto& shard : shards)
    caf::anon_send_exit(shard, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(registrar, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(journal, caf::exit_reason::user_shutdown);
  if (syncer)
    caf::anon_send_exit(syncer, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(reader, caf::exit_reason::user_shutdown);
  acceptor.actor = nullptr;
  shards.clear();
  registrar = nullptr;
  journal = nullptr;
  syncer = nullptr;
  reader = nullptr;
  keeper = nullptr;
}

coordinator_node::coordinator_node(std::unique_ptr<impl> state) : impl_(std::move(state)) {
}

coordinator_node::~coordinator_node() {
  stop();
  if (impl_->system)
    transport::finish(*impl_->system);
  // All writes are over. A store that was not closed in order may have lost some in a power cut.
  if (impl_->system)
    if (auto ok = storage::end_boot(*impl_->store); !ok)
      CODEQ_LOG_WARN("store is not closed in order reason=\"{}\"", to_string(ok.error()));
}

result<std::unique_ptr<coordinator_node>>
coordinator_node::start(coordinator_node_options options) {
  if (auto ok = node::check(options); !ok)
    return ok.error();
  if (auto ok = node::check_access(options); !ok)
    return ok.error();
  node::fit_connections(options);
  auto state = std::make_unique<impl>();
  if (auto ok = state->rights.open(options); !ok)
    return error{errc::invalid_argument, ok.error().context};
  if (auto ok = state->recover(options); !ok)
    return ok.error();
  if (auto ok = state->spawn_actors(options); !ok)
    return ok.error();
  auto* pending = state.get();
  std::unique_ptr<coordinator_node> node(new coordinator_node(std::move(state)));
  if (auto ok = pending->listen(options); !ok)
    return ok.error();
  if (auto ok = pending->serve_http(options); !ok)
    return ok.error();
  if (pending->seat)
    if (auto ok = pending->seat->join(); !ok)
      return ok.error();
  return node;
}

std::uint16_t coordinator_node::port() const noexcept {
  return impl_->acceptor.port;
}

result<void> coordinator_node::reload() {
  return impl_->reload();
}

std::uint16_t coordinator_node::http_port() const noexcept {
  return impl_->gateway ? impl_->gateway->port() : 0;
}

std::uint16_t coordinator_node::metrics_port() const noexcept {
  return impl_->gateway ? impl_->gateway->metrics_port() : 0;
}

void coordinator_node::stop() {
  impl_->stop();
}

} // namespace codeq
