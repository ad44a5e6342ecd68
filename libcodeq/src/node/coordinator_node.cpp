// SPDX-License-Identifier: Apache-2.0
#include "codeq/coordinator_node.hpp"

#include "codeq/limits.hpp"

#include "coordinator/journal.hpp"
#include "coordinator/keeper.hpp"
#include "coordinator/reader.hpp"
#include "coordinator/registrar.hpp"
#include "coordinator/shard.hpp"
#include "observe/log.hpp"
#include "storage/recovery.hpp"
#include "storage/rocksdb_store.hpp"
#include "transport/acceptor.hpp"
#include "transport/configure.hpp"
#include "transport/socket.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <unistd.h>

namespace codeq {

namespace {

/// Two are enough for shards and sessions; journal, reader and middleman have threads of their own.
constexpr std::size_t scheduler_threads = 2;

std::uint64_t random_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

/// The end of a process whose store failed: nothing may be answered any more, and what is in memory
/// may be ahead of the disk.
[[noreturn]] void die(const error& reason) {
  CODEQ_LOG_ERROR(
    "coordinator stops at once reason=\"{}\" advice=\"check the disk, then start again: everything "
    "acknowledged is recovered\"",
    to_string(reason));
  observe::flush_log();
  ::_exit(EXIT_FAILURE);
}

storage::rocksdb_store_options store_options(
  const coordinator_node_options& options,
  const std::shared_ptr<storage::retention_horizons>& horizons) {
  storage::rocksdb_store_options s;
  s.directory = options.data;
  s.mode = options.sync ? storage::durability::sync : storage::durability::os;
  s.horizons = horizons;
  s.on_background_error = [](const error& reason) { die(reason); };
  return s;
}

/// What the store has done since it was opened.
std::map<std::string, std::int64_t>
store_gauges(const storage::task_store& store, const storage::retention_horizons& horizons) {
  std::map<std::string, std::int64_t> gauges;
  for (const char* name : {"keys_written", "bytes_written", "keys_read", "wal_synced"})
    gauges[std::string("codeq_store_") + name] = static_cast<std::int64_t>(store.counter(name));
  gauges["codeq_records_evicted"] = static_cast<std::int64_t>(horizons.evicted());
  return gauges;
}

/// Reads the shards back, as many at once as there are processors.
result<std::vector<std::shared_ptr<core::shard_state>>>
recover_shards(const storage::task_store& store, const storage::store_record& identity) {
  base::system_clock clock(timestamp{});
  auto steady = clock.now().steady;
  std::vector<std::shared_ptr<core::shard_state>> states(identity.shard_count);
  std::vector<error> failures(identity.shard_count);
  std::atomic<std::size_t> next{0};
  auto recover_some = [&] {
    for (auto i = next++; i < states.size(); i = next++) {
      auto state = storage::recover(store, static_cast<shard_id>(i), identity.epoch, steady);
      if (state)
        states[i] = std::move(*state);
      else
        failures[i] = state.error();
    }
  };
  std::vector<std::thread> threads;
  auto wanted = std::min<std::size_t>(std::thread::hardware_concurrency(), states.size());
  for (std::size_t i = 1; i < wanted; ++i)
    threads.emplace_back(recover_some);
  recover_some();
  for (auto& thread : threads)
    thread.join();
  for (const auto& failure : failures)
    if (failure.code != errc::none)
      return failure;
  return states;
}

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
  return {};
}

} // namespace

struct coordinator_node::impl {
  /// Reads back what the store knows. Errors: of the store.
  result<void> recover(const coordinator_node_options& options);

  /// Starts the actors that serve it.
  void spawn_actors(const coordinator_node_options& options);

  /// Opens the port.
  result<void> listen(const coordinator_node_options& options);
  void stop();

  std::shared_ptr<storage::retention_horizons> horizons =
    std::make_shared<storage::retention_horizons>();
  std::shared_ptr<storage::task_store> store;
  storage::store_record identity;
  std::vector<std::shared_ptr<core::shard_state>> states;
  caf::actor_system_config config;
  std::unique_ptr<caf::actor_system> system;
  actors::journal_actor journal;
  actors::reader_actor reader;
  actors::keeper_actor keeper;
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
  std::vector<actors::shard_actor> shards;
  actors::registrar_internal_actor registrar;
  transport::acceptor_handle acceptor;
  bool stopped = false;
};

result<void> coordinator_node::impl::recover(const coordinator_node_options& options) {
  auto opened = storage::open_rocksdb_store(store_options(options, horizons));
  if (!opened)
    return opened.error();
  store = std::move(*opened);
  auto record = storage::open_identity(*store, options.shards, random_number());
  if (!record)
    return record.error();
  identity = *record;
  auto recovered = recover_shards(*store, identity);
  if (!recovered)
    return recovered.error();
  states = std::move(*recovered);
  for (const auto& state : states)
    CODEQ_LOG_INFO(
      "shard recovers shard={} segments={} leases={}",
      value(state->id),
      state->segments.packed_segments() + state->segments.unpacked_segments(),
      state->leases.size());
  return {};
}

void coordinator_node::impl::spawn_actors(const coordinator_node_options& options) {
  transport::configure(config, scheduler_threads);
  system = std::make_unique<caf::actor_system>(config);
  auto mode = options.sync ? storage::durability::sync : storage::durability::os;
  journal = system->spawn<caf::detached>(
    coordinator::journal, coordinator::journal_options{store, mode, die, horizons});
  coordinator::reader_options reads;
  reads.store = store;
  reads.cache_bytes = limits::segment_cache_bytes_default / 4 / identity.shard_count;
  reads.on_failure = die;
  reader = system->spawn<caf::detached>(coordinator::reader, reads);
  keeper = system->spawn<caf::detached>(
    coordinator::keeper,
    coordinator::keeper_options{{store, horizons, options.retention_bytes}, cancelled, die});
  timestamp latest{};
  actors::meet_shards introduction;
  for (auto& state : states) {
    latest = std::max(latest, state->at);
    coordinator::shard_options s;
    s.clock = std::make_shared<base::system_clock>(state->at);
    s.state = std::move(state);
    s.shard_count = identity.shard_count;
    s.journal = journal;
    s.reader = reader;
    s.space = std::make_shared<coordinator::free_space>(options.data, options.free_bytes_least);
    s.cache_bytes = limits::segment_cache_bytes_default / identity.shard_count;
    auto shard = system->spawn(coordinator::shard, s);
    introduction.shards.emplace_back(shard);
    shards.emplace_back(shard);
  }
  for (const auto& shard : introduction.shards)
    caf::anon_send(caf::actor_cast<actors::shard_internal_actor>(shard), introduction);
  states.clear();
  coordinator::registrar_options r;
  r.shards = shards;
  r.coordinator_id = random_number();
  r.store_id = identity.store_id;
  r.gauges = [s = store, h = horizons] { return store_gauges(*s, *h); };
  r.clock = std::make_shared<base::system_clock>(latest);
  registrar = system->spawn(coordinator::registrar, r);
}

result<void> coordinator_node::impl::listen(const coordinator_node_options& options) {
  auto endpoint = transport::parse_listen_address(options.listen);
  if (!endpoint)
    return endpoint.error();
  transport::acceptor_options a;
  a.address = endpoint->host;
  a.port = endpoint->port;
  a.registrar = registrar;
  auto spawned = transport::spawn_acceptor(*system, std::move(a));
  if (!spawned)
    return spawned.error();
  acceptor = std::move(*spawned);
  return {};
}

void coordinator_node::impl::stop() {
  if (!system || std::exchange(stopped, true))
    return;
  *cancelled = true;
  caf::anon_send_exit(keeper, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(acceptor.actor, caf::exit_reason::user_shutdown);
  {
    caf::scoped_actor self{*system};
    self->request(registrar, limits::shutdown_max / 4, actors::stop_registrar{})
      .receive([](bool) {}, [](const caf::error&) {});
    // All at once, so that a slow disk is waited for once.
    auto stop_one = [&](const actors::shard_actor& shard) {
      return self->request(shard, limits::shutdown_max / 2, actors::stop_shard{});
    };
    std::vector<decltype(stop_one(shards.front()))> stops;
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
  caf::anon_send_exit(reader, caf::exit_reason::user_shutdown);
  acceptor.actor = nullptr;
  shards.clear();
  registrar = nullptr;
  journal = nullptr;
  reader = nullptr;
  keeper = nullptr;
}

coordinator_node::coordinator_node(std::unique_ptr<impl> state) : impl_(std::move(state)) {
}

coordinator_node::~coordinator_node() {
  stop();
  if (impl_->system)
    transport::finish(*impl_->system);
}

result<std::unique_ptr<coordinator_node>>
coordinator_node::start(coordinator_node_options options) {
  if (auto ok = check(options); !ok)
    return ok.error();
  auto state = std::make_unique<impl>();
  if (auto ok = state->recover(options); !ok)
    return ok.error();
  state->spawn_actors(options);
  auto* pending = state.get();
  std::unique_ptr<coordinator_node> node(new coordinator_node(std::move(state)));
  if (auto ok = pending->listen(options); !ok)
    return ok.error();
  return node;
}

std::uint16_t coordinator_node::port() const noexcept {
  return impl_->acceptor.port;
}

void coordinator_node::stop() {
  impl_->stop();
}

} // namespace codeq
