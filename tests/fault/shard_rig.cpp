// SPDX-License-Identifier: Apache-2.0
#include "fault/shard_rig.hpp"

#include "core/state/apply.hpp"
#include "core/checks/invariants.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/records/projection.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/recovery/recovery.hpp"
#include "storage/recovery/task_reader.hpp"

#include <algorithm>
#include <charconv>

namespace codeq::test {

using namespace storage;

namespace {

/// RocksDB's smallest memtable: a few hundred groups cause flushes and compactions.
constexpr std::size_t small_buffer_bytes = 256u << 10;

/// Maximum number of commands in one turn.
constexpr std::uint64_t turn_requests_max = 12;

/// In `os` mode the log is synced after this many groups.
constexpr std::uint64_t groups_per_sync = 16;

/// Almost no segment stays unpacked, and blocks have few segments.
core::paging_limits small_pages() {
  core::paging_limits limits;
  limits.weight_kept = 4 * core::segment_table::segment_weight;
  limits.block_segments_max = 8;
  limits.block_tasks_max = 24;
  return limits;
}

/// The record of a shard that does not exist, which recovery ignores. Each group overwrites it with
/// its own number, so that a store shows which group it comes after.
const std::string group_mark = shard_key{static_cast<shard_id>(shard_rig::shard_count)}.encode();

/// An epoch that no recovered shard goes on with.
constexpr std::uint32_t follower_epoch = 1'000'000;

std::uint64_t parse_number(const std::optional<std::string>& text) {
  std::uint64_t number = 0;
  if (text)
    std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

/// Advances the state's time without a turn, so that states of different turns can be compared.
void reach(core::shard_state& state, timestamp now) {
  state.at = std::max(state.at, now);
  core::release_due(state, state.at);
}

bool is_any(const core::live_grant&) {
  return true;
}

/// As `find_missing`, for one segment.
result<std::string>
find_missing_of(const task_store& store, const core::shard_state& state, const core::segment& s) {
  bool has_live = s.entries.empty();
  for (std::uint32_t i = 0; i < s.count; ++i) {
    auto entry = s.view(s.first + i);
    if (is_terminal(entry.state))
      continue;
    has_live = true;
    core::task_view view;
    view.seq = s.first + i;
    view.entry = entry;
    auto text = read_text(store, state.id, view, state.at);
    if (!text)
      return text.error();
    if (!*text)
      return "the latest text of " + to_string(state.id_of(view.seq)) + " is gone\n";
  }
  auto bodies = s.replaced ? read_replaced_body(store, state.id, s.first)
                           : read_bodies(store, state.id, s.first, s.aside);
  if (!bodies)
    return bodies.error();
  bool is_whole = *bodies && (*bodies)->count() == s.count;
  if (has_live && !is_whole)
    return "the bodies of " + to_string(state.id_of(s.first)) + " are gone\n";
  return std::string{};
}

/// Finds missing bodies and latest texts of live tasks, which workers and clients may ask for next.
result<std::string> find_missing(const task_store& store, const core::shard_state& state) {
  result<std::string> missing{std::string{}};
  state.segments.walk(0, core::segment_table::no_end, [&](const core::segment& s) {
    missing = find_missing_of(store, state, s);
    return missing && missing->empty();
  });
  return missing;
}

} // namespace

shard_rig::shard_rig(std::uint64_t seed, durability mode)
  : disk_(seed), mode_(mode), random_(seed) {
  for (std::uint16_t i = 0; i < shard_count; ++i) {
    auto session = make_producer_id(clock_.now().shard, i, seed);
    auto follower = std::make_unique<core::shard_state>(static_cast<shard_id>(i), follower_epoch);
    shards_.push_back(
      {nullptr, nullptr, {}, std::move(follower), {}, {seed + i, session, shard_count}, {}});
  }
}

result<void> shard_rig::open() {
  rocksdb_store_options options;
  options.directory = directory();
  options.mode = mode_;
  options.write_buffer_bytes = small_buffer_bytes;
  options.environment = disk_.environment();
  horizons_ = std::make_shared<retention_horizons>();
  options.horizons = horizons_;
  options.on_background_error = [told = background_errors_](const error&) { ++*told; };
  said_.clear();
  options.on_recovery = [this](std::string_view text) { said_ += std::string(text) + '\n'; };
  *background_errors_ = 0;
  auto opened = open_rocksdb_store(options);
  if (!opened)
    return opened.error();
  store_ = std::move(opened).value();
  return {};
}

result<void> shard_rig::start() {
  if (store_)
    return {};
  if (auto ok = open(); !ok)
    return ok;
  auto mark = store_->read(group_mark);
  auto record = mark ? open_identity(*store_, shard_count, 1) : result<store_record>{mark.error()};
  auto recovered =
    record ? recover_shards(record->epoch, parse_number(*mark)) : result<void>{record.error()};
  if (!recovered)
    store_.reset();
  return recovered;
}

result<void> shard_rig::recover_shards(std::uint32_t epoch, std::uint64_t found) {
  std::vector<std::unique_ptr<core::shard_state>> states;
  for (std::uint16_t i = 0; i < shard_count; ++i) {
    auto state = storage::recover(*store_, static_cast<shard_id>(i), epoch, clock_.now().steady);
    if (!state)
      return state.error();
    (*state)->segments.set_limits(small_pages());
    states.push_back(std::move(*state));
  }
  for (const auto& [group, turns] : written_)
    for (const auto& t : turns)
      for (const auto& e : t.events)
        if (group <= found)
          core::apply(*shards_[t.shard].follower, e);
  written_.clear();
  lost_ = acknowledged_ - std::min(acknowledged_, found);
  if (found < must_survive_)
    wrong_ += "ends with group " + std::to_string(found) + ", group "
              + std::to_string(must_survive_) + " was durable\n";
  must_survive_ = found;
  made_ = acknowledged_ = synced_ = found;
  for (std::size_t i = 0; i < shard_count; ++i) {
    shards_[i].state = std::move(states[i]);
    if (auto ok = compare(i, found); !ok)
      return ok;
    if (auto ok = connect(shards_[i]); !ok)
      return ok;
  }
  return {};
}

result<void> shard_rig::compare(std::size_t index, std::uint64_t found) {
  auto& s = shards_[index];
  auto now = std::max(clock_.now().shard, s.state->at);
  reach(*s.state, now);
  reach(*s.follower, now);
  auto name = "shard " + std::to_string(index) + ": ";
  auto expected = core::durable_text(*s.follower);
  auto recovered = core::durable_text(*s.state);
  if (recovered != expected)
    wrong_ += name + "recovered:\n" + recovered + "instead of:\n" + expected;
  for (const auto& violation : core::find_violations(*s.state))
    wrong_ += name + violation + '\n';
  if (s.state->leases.tokens_of(is_any) != s.follower->leases.tokens_of(is_any))
    wrong_ += name + "recovered other leases\n";
  auto missing = find_missing(*store_, *s.state);
  if (!missing)
    return missing.error();
  auto forgotten = s.ledger.check(*store_, *s.state, found);
  if (!forgotten)
    return forgotten.error();
  wrong_ += *missing + *forgotten;
  return {};
}

result<void> shard_rig::connect(shard_at_work& s) {
  s.inbox.clear();
  s.turns = std::make_unique<coordinator::turn_runner>(*s.state, clock_.now().steady);
  s.closed_keys = {};
  auto names = keys_of(s.state->id);
  auto read = store_->scan(names.begin, names.end, [&](auto key, std::string_view value) {
    s.closed_keys.note(core::closed_key{key_key::decode(key)->name, *decode_key(value)});
    return true;
  });
  if (!read)
    return read;
  for (auto& c : s.commands.connect())
    s.inbox.push_back(std::move(c));
  return {};
}

std::size_t shard_rig::count_in_flight() const {
  std::size_t requests = 0;
  for (const auto& t : ahead_)
    requests += t.requests;
  return requests;
}

void shard_rig::decide_ahead() {
  auto wanted = in_flight_least + below(in_flight_least);
  while (count_in_flight() < wanted)
    run_turn(below(shard_count));
}

void shard_rig::run_turn(std::size_t index) {
  auto& s = shards_[index];
  clock_.advance(duration{static_cast<std::int64_t>(below(150))});
  decided_turn t;
  t.shard = index;
  for (; !s.inbox.empty(); s.inbox.pop_front())
    decide(s, s.inbox.front());
  for (auto wanted = 1 + below(turn_requests_max); t.requests < wanted; ++t.requests)
    decide(s, s.commands.next(*s.state, clock_.now()));
  t.events = s.turns->close(clock_.now());
  t.number = s.turns->submitted();
  s.closed_keys.note(t.events);
  auto writes = std::make_shared<write_set>();
  for (const auto& e : t.events) {
    project(s.state->id, e, *writes);
    if (const auto* added = std::get_if<core::segment_appended>(&e))
      if (added->settings.retention == random_commands::brief_retention)
        s.ledger.may_go({added->first, added->count});
    if (const auto* c = std::get_if<core::snapshot_taken>(&e))
      t.horizon = std::make_shared<const shard_horizon>(horizon_of(*s.state, *c));
  }
  t.writes = std::move(writes);
  ahead_.push_back(std::move(t));
}

void shard_rig::decide(shard_at_work& s, const core::command& c) {
  s.ledger.decided(c);
  if (auto recalled = s.closed_keys.recall(c))
    s.turns->decide(*recalled, clock_.now());
  s.turns->decide(c, clock_.now());
}

result<void> shard_rig::commit_groups(std::size_t groups) {
  for (; groups > 0; --groups)
    if (auto done = commit_group(); !done)
      return done;
  return {};
}

result<void> shard_rig::commit_group() {
  decide_ahead();
  std::vector<decided_turn> group;
  bool has_snapshot = false;
  for (auto turns = std::min<std::size_t>(1 + below(6), ahead_.size()); turns > 0; --turns) {
    group.push_back(ahead_[group.size()]);
    has_snapshot |= group.back().horizon != nullptr;
  }
  std::vector<std::shared_ptr<const write_set>> sets;
  for (const auto& t : group)
    sets.push_back(t.writes);
  auto mark = std::make_shared<write_set>();
  mark->put(group_mark, std::to_string(++made_));
  sets.push_back(std::move(mark));
  written_.emplace_back(made_, group);
  if (has_snapshot && at_snapshot_) {
    disk_.cut_power_at(at_snapshot_->first, at_snapshot_->second);
    at_snapshot_.reset();
  }
  if (auto done = store_->commit(sets, mode_); !done)
    return done;
  acknowledge(std::move(group));
  if (mode_ == durability::sync || made_ % groups_per_sync != 0)
    return {};
  // Shards do not wait for the sync, so they decide further turns during it.
  decide_ahead();
  return sync_log();
}

void shard_rig::acknowledge(std::vector<decided_turn> group) {
  acknowledged_ = made_;
  for (auto& t : group) {
    ahead_.pop_front();
    if (t.horizon)
      unsynced_horizons_.push_back(std::move(t.horizon));
    shards_[t.shard].turns->committed(t.number, clock_.now().steady);
    while (auto effects = shards_[t.shard].turns->release())
      for (const auto& e : *effects)
        hand_out(t.shard, e);
  }
  if (mode_ == durability::sync) {
    synced_ = made_;
    publish_horizons();
  }
}

void shard_rig::hand_out(std::size_t index, const core::effect& e) {
  shards_[index].ledger.told(e, made_);
  auto own = static_cast<shard_id>(static_cast<std::uint16_t>(index));
  if (const auto* sent = std::get_if<core::deliver_follow_ups>(&e))
    shards_[value(sent->to)].inbox.push_back(
      core::take_follow_ups{own, sent->number, sent->answered_below, sent->runs});
  else if (const auto* taken = std::get_if<core::follow_ups_taken>(&e))
    shards_[value(taken->from)].inbox.push_back(
      core::confirm_follow_ups{own, taken->number, taken->tasks});
  else if (const auto* told = std::get_if<core::shard_told>(&e))
    std::visit([&](const auto& c) { shards_[value(told->to)].inbox.push_back(c); }, told->what);
}

result<void> shard_rig::sync_log() {
  auto done = store_->sync_log();
  if (done) {
    synced_ = acknowledged_;
    publish_horizons();
  }
  return done;
}

void shard_rig::publish_horizons() {
  for (auto& horizon : std::exchange(unsynced_horizons_, {}))
    horizons_->publish(std::move(horizon));
}

void shard_rig::cut_power_at_snapshot(const fault_point& point, cut_policy policy) {
  at_snapshot_.emplace(point, policy);
}

void shard_rig::end() {
  must_survive_ = disk_.has_power() ? acknowledged_ : synced_;
  in_flight_at_end_ = count_in_flight();
  store_.reset();
  ahead_.clear();
  unsynced_horizons_.clear();
}

void shard_rig::close() {
  end();
}

std::optional<std::string> shard_rig::recover() {
  if (store_)
    end();
  disk_.heal();
  disk_.restore_power();
  at_snapshot_.reset();
  if (auto started = start(); !started)
    return "does not start: " + to_string(started.error());
  if (wrong_.empty())
    return std::nullopt;
  return std::exchange(wrong_, {});
}

std::uint64_t shard_rig::answers_checked() const {
  std::uint64_t sum = 0;
  for (const auto& s : shards_)
    sum += s.ledger.checked();
  return sum;
}

} // namespace codeq::test
