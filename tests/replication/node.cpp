// SPDX-License-Identifier: Apache-2.0
#include "replication/node.hpp"

#include <algorithm>

namespace codeq::replication::sim {

using namespace std::chrono_literals;

namespace {

/// Number of lines that are printed of a run that failed.
constexpr std::size_t lines_told = 150;

} // namespace

std::string surroundings::story() const {
  std::string text;
  const auto first = lines_.size() > lines_told ? lines_.size() - lines_told : 0;
  for (auto i = first; i < lines_.size(); ++i)
    text += lines_[i] + "\n";
  return text;
}

node::node(surroundings& world, node_start from)
  : world_(world),
    id_(from.id),
    name_(std::move(from.name)),
    rate_(from.rate),
    promised_(from.is_new ? 0 : from.value.epoch),
    is_incomplete_(from.is_new),
    is_incomplete_synced_(from.is_new),
    syncs_copies_(from.syncs_copies),
    value_(std::move(from.value)) {}

monotonic_time node::now() const {
  const auto own = static_cast<double>(world_.time().now().count()) * rate_ / 1000;
  return monotonic_time{duration{1'000'000 + static_cast<std::int64_t>(own)}};
}

void node::start() {
  ++incarnation_;
  epoch_index index;
  for (const auto& e : log_)
    index.append(e.at);
  process_ = std::make_unique<shard_replica>(
    replica_start{id_, promised_, index, is_doubtful_, is_incomplete_, value_}, *this, now());
  ring_begin_ = log_.size();
  const auto keeps_spool = world_.random().hits(600);
  spool_begin_ = keeps_spool ? world_.random().below(log_.size() / 4 + 1) : log_.size();
  tails_read_.clear();
  world_.note("start " + name_);
  run(0us, [this](shard_replica&, monotonic_time) { tick(); });
  run(0us, [this](shard_replica&, monotonic_time) { sync_log(); });
}

void node::kill() {
  if (!process_)
    return;
  process_.reset();
  paused_until_ = {};
  log_.resize(written_);
  world_.note("kill " + name_);
  world_.ended(*this);
}

void node::cut_power() {
  kill();
  if (!world_.is_os())
    return;
  synced_ = std::min(synced_, written_);
  written_ = synced_ + world_.random().below(written_ - synced_ + 1);
  synced_ = written_;
  is_incomplete_ = is_incomplete_synced_;
  if (is_incomplete_)
    written_ = synced_ = 0;
  log_.resize(written_);
  is_doubtful_ = true;
  world_.note("power cut " + name_ + " keeps " + std::to_string(written_));
}

void node::drop() {
  process_.reset();
  world_.note("drop " + name_);
}

void node::pause(span length) {
  paused_until_ = std::max(paused_until_, world_.time().now() + length);
}

void node::run(span delay, std::function<void(shard_replica&, monotonic_time)> what) {
  world_.time().after(delay, [this, what = std::move(what), started = incarnation_] {
    if (!process_ || started != incarnation_)
      return;
    if (world_.time().now() < paused_until_) {
      run(paused_until_ - world_.time().now() + 1us, what);
      return;
    }
    what(*process_, now());
  });
}

void node::tick() {
  process_->tick(now());
  run(world_.random().moment(5'000, 50'000), [this](shard_replica&, monotonic_time) { tick(); });
}

void node::sync_log() {
  synced_ = written_;
  is_incomplete_synced_ = is_incomplete_;
  value_ = process_->value();
  run(1s, [this](shard_replica&, monotonic_time) { sync_log(); });
}

span node::next_write() {
  const auto now = world_.time().now();
  disk_free_ = std::max(disk_free_, now) + world_.random().moment(50, 2'000);
  return disk_free_ - now;
}

void node::send(replica_id to, const message& what) {
  world_.send(*this, to, {id_, incarnation_, what});
}

void node::save_promise(epoch_number epoch) {
  run(next_write(), [this, epoch](shard_replica& process, monotonic_time now) {
    promised_ = std::max(promised_, epoch);
    process.promise_saved(epoch, now);
  });
}

void node::write(const entry& what) {
  world_.audit_of(*this).writes(log_, what);
  if (is_incomplete_)
    world_.audit_of(*this).fail("a delta is written to incomplete data");
  log_.push_back(what);
  run(next_write(), [this, at = what.at](shard_replica& process, monotonic_time now) {
    written_ = at.number;
    if (!world_.is_os())
      synced_ = written_;
    process.written(at, now);
  });
}

void node::clear_doubt() {
  is_doubtful_ = false;
}

log_tail node::read_after(replica_id to, position after) {
  if (after.number < spool_begin_)
    return {};
  if (after.number < ring_begin_ && !tails_read_.contains({to, after})) {
    run(world_.random().moment(50, 20'000), [this, to, after](auto& process, auto now) {
      tails_read_.insert({to, after});
      process.tail_read(to, now);
    });
    return {log_tail::state::reading};
  }
  const auto begin = log_.begin() + static_cast<std::ptrdiff_t>(after.number);
  return {log_tail::state::held, {begin, log_.end()}};
}

void node::begin_copy(replica_id to, epoch_number epoch) {
  copy_offer offer{epoch, {id_, incarnation_, ++copies_}, {}};
  const std::vector<entry> data(
    log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(written_));
  for (const auto& e : data)
    offer.log.append(e.at);
  world_.copies()[offer.id] = data;
  send(to, offer);
  // It gives up some copies that are still under way.
  run(world_.random().moment(50'000, 1'500'000), [to](auto& process, auto) {
    process.copy_ended(to);
  });
}

void node::take_copy(replica_id, const copy_offer& what) {
  world_.note("copy to " + name_);
  taken_ = what.id;
  run(next_write(), [this, id = what.id](auto&, auto) { clear_log(id); });
}

void node::clear_log(const copy_id& copy) {
  log_.clear();
  written_ = synced_ = ring_begin_ = spool_begin_ = 0;
  is_incomplete_ = is_incomplete_synced_ = true;
  const auto is_long = world_.random().hits(300);
  run(world_.random().moment(1'000, is_long ? 2'000'000 : 50'000), [this, copy](auto&, auto) {
    fill_log(copy);
  });
}

void node::fill_log(const copy_id& copy) {
  if (copy != taken_)
    return;
  log_ = world_.copies()[copy];
  written_ = ring_begin_ = spool_begin_ = log_.size();
  const auto is_synced = syncs_copies_ || !world_.is_os();
  if (is_synced)
    synced_ = written_;
  is_incomplete_ = false;
  is_incomplete_synced_ = !is_synced;
  epoch_index index;
  for (const auto& e : log_)
    index.append(e.at);
  process_->rebuilt(index);
}

void node::recover(epoch_number epoch, timestamp) {
  const auto number = ++recoveries_;
  // It reads the log at some time before its end.
  run(world_.random().moment(50, 200'000), [this, number, epoch](auto&, auto) {
    if (number != recoveries_)
      return;
    const auto last = log_.empty() ? position{} : log_.back().at;
    run(world_.random().moment(50, 200'000), [this, number, epoch, last](auto& process, auto now) {
      if (number != recoveries_)
        return;
      recovered_ = {epoch, last};
      process.recovered(epoch, now);
    });
  });
}

void node::drop_recovery() {
  ++recoveries_;
  recovered_ = {};
}

void node::compare_and_set(const membership& old, const membership& next) {
  world_.compare_and_set(*this, old, next);
}

void node::acknowledge(position at) {
  world_.acknowledged(*this, at);
}

void node::serve(epoch_number epoch) {
  world_.note("serve " + name_ + " epoch " + std::to_string(epoch));
  world_.audit_of(*this).serves(epoch, log_);
  if (is_incomplete_ || recovered_.epoch != epoch)
    world_.audit_of(*this).fail("a shard is served that is incomplete or was not recovered");
  // The start of an epoch changes nothing of the shard.
  else if (recovered_.last != log_.back().at && recovered_.last != log_.back().previous)
    world_.audit_of(*this).fail("a shard is served without the last deltas of its log");
  world_.served(*this);
}

void node::stop_serving() {
  world_.note("stop serving " + name_);
}

} // namespace codeq::replication::sim
