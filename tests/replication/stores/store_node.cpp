// SPDX-License-Identifier: Apache-2.0
#include "replication/stores/store_node.hpp"

#include "base/clock.hpp"
#include "replication/bounds.hpp"
#include "replication/stores/store_world.hpp"
#include "storage/recovery/recovery.hpp"
#include "storage/replica/shard_sweep.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"

#include <stdexcept>
#include <utility>

namespace codeq::replication::stores {

using namespace std::chrono_literals;

namespace {

/// RocksDB's smallest memtable, so that there are flushes and compactions.
constexpr std::size_t small_buffer_bytes = 256u << 10;

/// The epoch in which the founder was alone.
constexpr epoch_number founding_epoch = 1;

template <class T>
T or_throw(result<T> r) {
  if (!r)
    throw std::runtime_error(to_string(r.error()));
  return std::move(*r);
}

void or_throw(const result<void>& r) {
  if (!r)
    throw std::runtime_error(to_string(r.error()));
}

coordinator::shard_options options_of(std::shared_ptr<core::shard_state> state) {
  coordinator::shard_options options;
  options.state = std::move(state);
  options.cache_bytes = 600;
  options.turns.snapshot_records = 40;
  return options;
}

} // namespace

struct store_node::process {
  std::shared_ptr<storage::retention_horizons> horizons =
    std::make_shared<storage::retention_horizons>();
  std::shared_ptr<storage::task_store> store;
  std::optional<coordinator::journal> journal;
  std::optional<storage::delta_spool> spool;
  coordinator::ring_memory memory;
  std::optional<coordinator::replica_driver> driver;
  std::map<copy_id, storage::shard_copy> copies;
  std::optional<storage::shard_sweep> sweep;
  copy_id swept_for;
  // While the shard is served, or recovered for it.
  std::shared_ptr<core::shard_state> recovered;
  /// Counts the recoveries; the end of an older one is void.
  std::uint64_t recoveries = 0;
  std::optional<base::shard_time> clock;
  std::optional<coordinator::shard> shard;
  std::optional<coordinator::reader> reader;
  std::map<fencing_token, sequence> timers;
  /// Counts shards, so that messages of an earlier one are not taken for those of a later one.
  std::uint64_t served = 0;
};

store_node::store_node(store_world& world, std::size_t index, replica_id id)
  : world_(world), index_(index), id_(id), disk_(world.options().seed * 10 + index) {
}

store_node::~store_node() {
  kill();
}

void store_node::open() {
  ++incarnation_;
  process_ = std::make_unique<process>();
  storage::rocksdb_store_options options;
  options.directory = directory();
  options.mode = world_.options().mode;
  options.write_buffer_bytes = small_buffer_bytes;
  options.environment = disk_.environment();
  options.horizons = process_->horizons;
  process_->store = or_throw(storage::open_rocksdb_store(options));
}

void store_node::start(bool is_founder) {
  open();
  auto& p = *process_;
  const auto identity = or_throw(storage::open_identity(*p.store, 1, 77));
  auto stored = or_throw(storage::read_replica(*p.store, shard_number));
  if (!stored)
    stored = is_founder
               ? or_throw(storage::found_replica(*p.store, shard_number, id_, founding_epoch))
               : or_throw(storage::create_replica(*p.store, shard_number, id_));
  or_throw(storage::begin_boot(*p.store, boot_id_, world_.options().mode));
  stored = or_throw(storage::read_replica(*p.store, shard_number));
  p.journal.emplace(coordinator::journal_options{world_.options().mode, identity}, *this);
  p.spool.emplace(storage::delta_spool_options{directory_.path() / "spool", shard_number});
  p.reader.emplace(coordinator::reader_options{p.store}, *this);
  p.driver.emplace(
    coordinator::replica_driver_options{
      shard_number, std::move(*stored), world_.value(), incarnation_},
    *this,
    p.memory,
    steady());
  later(0us, [this] { tick(); });
}

void store_node::kill() {
  if (!process_)
    return;
  disk_.end_process();
  process_.reset();
  disk_.restore_power();
}

void store_node::cut_power() {
  disk_.cut_power(test::cut_policy::lose_all);
  process_.reset();
  disk_.restore_power();
  boot_id_ = "boot " + std::to_string(++boots_);
}

void store_node::stop() {
  or_throw(process_->store->sync_log());
  or_throw(storage::end_boot(*process_->store));
  process_.reset();
}

void store_node::wipe() {
  kill();
  std::filesystem::remove_all(directory());
  drop_spool();
}

void store_node::drop_spool() {
  std::filesystem::remove_all(directory_.path() / "spool");
}

void store_node::later(sim::span delay, std::function<void()> what) {
  world_.time().after(delay, [this, what = std::move(what), started = incarnation_] {
    if (process_ && started == incarnation_)
      what();
  });
}

void store_node::tick() {
  process_->driver->tick(steady());
  later(20ms, [this] { tick(); });
}

monotonic_time store_node::steady() const {
  const auto ms = std::chrono::duration_cast<duration>(world_.time().now());
  return monotonic_time{duration{1'000'000} + ms};
}

instant store_node::now() {
  const timestamp wall{duration{1'700'000'000'000} + steady().time_since_epoch()};
  return {steady(), process_->clock->at(steady(), wall)};
}

store_node::time_point store_node::journal_now() const {
  return time_point{world_.time().now()};
}

bool store_node::is_serving() const {
  return process_ && process_->shard && process_->driver->replica().is_serving();
}

coordinator::replica_driver& store_node::driver() {
  return *process_->driver;
}

std::size_t store_node::open_copies() const {
  return process_->copies.size();
}

storage::task_store& store_node::store() {
  return *process_->store;
}

const core::shard_state& store_node::state() const {
  return process_->shard->state();
}

void store_node::decide(const core::command& command) {
  process_->shard->decide(command, now());
}

void store_node::etcd_answered(const membership& current, bool applied) {
  process_->driver->etcd_answered(current, applied, steady());
}

// The port of the replica.

void store_node::send(replica_id to, const message& what) {
  send(to, coordinator::shard_message{shard_number, id_, to, what});
}

void store_node::send(replica_id to, const coordinator::copy_message& what) {
  send(to, coordinator::shard_message{shard_number, id_, to, what});
}

void store_node::send(replica_id to, const coordinator::shard_message& what) {
  const std::vector<bytes> messages{coordinator::encode(what)};
  world_.send(
    index_,
    to,
    [from = id_, incarnation = incarnation_, frame = coordinator::encode_frame(messages)](
      store_node& receiver) { receiver.receive(from, incarnation, frame); });
}

void store_node::receive(replica_id from, std::uint64_t incarnation, const bytes& frame) {
  const auto read = or_throw(coordinator::decode_frame(frame));
  for (const auto& body : read.messages) {
    auto m = or_throw(coordinator::decode_shard_message(body));
    if (const auto* copy = std::get_if<coordinator::copy_message>(&m.content))
      process_->driver->receive(from, *copy, steady());
    else
      process_->driver->receive(
        {from, incarnation, std::get<message>(std::move(m.content))}, steady());
  }
}

void store_node::gather(coordinator::turn_commit turn) {
  process_->journal->gather(std::move(turn), journal_now());
}

void store_node::compare_and_set(const membership& old, const membership& next) {
  world_.compare_and_set(index_, old, next);
}

void store_node::spool(const entry& e) {
  process_->spool->append(e);
}

void store_node::read_spool(replica_id to, position after) {
  later(300us, [this, to, after] {
    auto entries = process_->spool->read_after(after, bounds::message_bytes);
    tails_from_spool_ += entries.empty() ? 0 : 1;
    process_->driver->spool_read(to, after, std::move(entries), steady());
  });
}

void store_node::keep_spool(std::optional<std::uint64_t> from) {
  process_->spool->keep_from(from);
}

void store_node::open_copy(const copy_id& id) {
  later(500us, [this, id] {
    auto copy = or_throw(storage::shard_copy::begin(*process_->store, shard_number));
    auto log = copy.log();
    process_->copies.emplace(id, std::move(copy));
    process_->driver->copy_opened(id, std::move(log));
  });
}

void store_node::read_part(const copy_id& id) {
  later(500us, [this, id] {
    const auto copy = process_->copies.find(id);
    if (copy != process_->copies.end())
      process_->driver->part_read(id, copy->second.next(4096));
  });
}

void store_node::close_copy(const copy_id& id) {
  later(0us, [this, id] { process_->copies.erase(id); });
}

void store_node::read_removals(const copy_id& id) {
  later(300us, [this, id] {
    auto& p = *process_;
    if (!p.sweep || p.swept_for != id)
      p.sweep.emplace(*p.store, shard_number);
    p.swept_for = id;
    p.driver->removals_read(id, p.sweep->next(20));
  });
}

void store_node::recover(epoch_number epoch, timestamp shard_time) {
  later(2ms, [this, epoch, shard_time, number = ++process_->recoveries] {
    auto& p = *process_;
    if (number != p.recoveries)
      return;
    p.recovered = or_throw(storage::recover(*p.store, shard_number, epoch, steady()));
    p.recovered->at = std::max(p.recovered->at, shard_time);
    p.driver->recovered(epoch, steady());
  });
}

void store_node::drop_recovery() {
  ++process_->recoveries;
  process_->recovered.reset();
}

void store_node::serve(epoch_number) {
  auto& p = *process_;
  ++p.served;
  p.timers.clear();
  const timestamp wall{duration{1'700'000'000'000} + steady().time_since_epoch()};
  p.clock.emplace(p.recovered->at, steady(), wall);
  p.shard.emplace(options_of(std::exchange(p.recovered, nullptr)), *this, now());
  p.shard->start(now());
  p.shard->attach({client::producer}, now());
  auto identity = std::make_shared<const worker_identity>(worker_identity{"w", 1});
  p.shard->attach({client::worker, identity, {{"default", "q"}}}, now());
  p.shard->close_turn(now());
}

void store_node::stop_serving() {
  process_->timers.clear();
  // Messages to the shard are void from now on; it goes later, since it may be the caller.
  later(0us, [this, served = ++process_->served] {
    if (process_->served == served) {
      process_->shard.reset();
      process_->clock.reset();
    }
  });
}

void store_node::acknowledged(std::uint64_t number) {
  later(0us, [this, number, served = process_->served] {
    if (process_->served == served && process_->shard)
      process_->shard->committed(number, now());
  });
}

timestamp store_node::shard_time() {
  return process_->clock ? now().shard : timestamp{};
}

// The port of the journal.

void store_node::begin_write(const coordinator::commit_group& group) {
  std::vector<std::shared_ptr<const storage::write_set>> sets;
  for (const auto& turn : group.turns) {
    sets.push_back(turn.writes);
    if (turn.replica_writes)
      sets.push_back(turn.replica_writes);
  }
  later(world_.random().moment(100, 2'000), [this, sets, mode = group.mode] {
    process_->journal->written(process_->store->commit(sets, mode), journal_now());
    process_->driver->settle(steady());
  });
}

void store_node::begin_sync() {
  later(world_.random().moment(500, 5'000), [this] {
    process_->journal->synced(process_->store->sync_log(), journal_now());
  });
}

void store_node::committed(shard_id, std::uint64_t number) {
  process_->driver->committed(number);
}

void store_node::publish_horizon(std::shared_ptr<const storage::shard_horizon> horizon) {
  process_->horizons->publish(std::move(horizon));
}

void store_node::forget_horizon(shard_id shard) {
  ++copies_taken_;
  process_->horizons->forget(shard);
}

void store_node::write_soon() {
  later(0us, [this] { process_->journal->write(journal_now()); });
}

void store_node::sync_after(time_point::duration wait) {
  later(std::chrono::duration_cast<sim::span>(wait), [this] { process_->journal->sync(); });
}

// The ports of the shard and the reader.

void store_node::commit(coordinator::turn_commit turn, const std::vector<core::event>&) {
  process_->driver->propose(std::move(turn), steady());
}

void store_node::reply(core::peer_id, protocol::peer_reply reply) {
  if (const auto* added = std::get_if<core::enqueue_answered>(&reply))
    world_.user().told(*added);
  else if (const auto* ended = std::get_if<core::reports_answered>(&reply))
    world_.user().told(*ended);
}

void store_node::reply(core::peer_id peer, coordinator::shard_reply reply) {
  this->reply(peer, std::move(reply.reply));
}

void store_node::deliver(core::peer_id, coordinator::task_delivery tasks) {
  world_.user().given(tasks);
}

void store_node::fetch_bodies(core::peer_id, coordinator::bodies_wanted wanted) {
  process_->reader->fetch(std::move(wanted));
}

void store_node::answer_inquiry(core::peer_id, coordinator::stored_inquiry asked) {
  process_->reader->answer(asked);
}

void store_node::read_survivors(coordinator::survivors_wanted wanted) {
  process_->reader->read(wanted);
}

void store_node::survivors_read(shard_id, core::copy_survivors found) {
  later(0us, [this, command = core::command(std::move(found))] {
    if (process_->shard)
      decide(command);
  });
}

bool store_node::make_timer(sequence seq, fencing_token token) {
  return process_->timers.emplace(token, seq).second;
}

void store_node::fire_timer(fencing_token token) {
  later(0us, [this, token, served = process_->served] {
    const auto timer = process_->timers.find(token);
    if (process_->served == served && timer != process_->timers.end())
      decide(core::expire_lease{timer->second, token});
  });
}

bool store_node::drop_timer(fencing_token token) {
  return process_->timers.erase(token) > 0;
}

void store_node::close_turn_soon() {
  later(50us, [this, served = process_->served] {
    if (process_->served == served && process_->shard)
      process_->shard->close_turn(now());
  });
}

void store_node::wake_after(duration wait, std::uint64_t number) {
  later(wait, [this, number, served = process_->served] {
    if (process_->served == served && process_->shard)
      process_->shard->wake(number, now());
  });
}

void store_node::fail(const error& reason) {
  throw std::runtime_error(to_string(reason));
}

} // namespace codeq::replication::stores
