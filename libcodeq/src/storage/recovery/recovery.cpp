// SPDX-License-Identifier: Apache-2.0
#include "storage/recovery/recovery.hpp"

#include "base/tuning.hpp"
#include "core/state/apply.hpp"
#include "core/state/producer_sessions.hpp"
#include "core/state/queue_removal.hpp"
#include "core/state/restore.hpp"
#include "core/state/task_checkpoints.hpp"
#include "core/state/task_keys.hpp"
#include "storage/keys/keyspace.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace codeq::storage {

namespace {

constexpr std::size_t shards_default = 12;

/// Rebuilds one shard; the functions are in the order in which `recover` calls them.
class shard_recovery {
public:
  shard_recovery(const task_store& store, core::shard_state& state)
    : store_(store), state_(state), shard_(state.id) {}

  result<void> load_snapshot();
  result<void> load_totals();
  result<void> load_queues();
  result<void> load_producers();
  result<void> load_blocks();
  result<void> load_segments();
  /// Loads the keys of those closed tasks that the state has to know.
  result<void> load_keys();
  void settle_indexes();
  void remember_requests();
  result<void> load_grants();
  result<void> load_outcomes();
  result<void> load_changes();
  result<void> load_follow_ups();
  result<void> load_checkpoints();
  result<void> load_schedules();
  result<void> load_limits();
  result<void> load_limit_keys();
  result<void> load_permits();
  void replay();

private:
  result<void> load_segments(const key_range& range);

  /// Visits a range; the first error of `visit` ends the visit.
  result<void> each(
    const key_range& range,
    const std::function<result<void>(std::string_view key, std::string_view value)>& visit);

  const task_store& store_;
  core::shard_state& state_;
  shard_id shard_;
  core::log_position snapshot_ = 0;
  /// Totals that older versions wrote, in format 1 within the snapshot: the next snapshot writes
  /// them anew.
  std::vector<core::queue_totals> totals_to_write_;
  /// Blocks contain the segments below this sequence.
  sequence next_sequence_ = 0;
  core::gathered_index gathered_;
  std::vector<core::segment_appended> after_snapshot_;
  std::map<core::log_position, core::event> tail_;
};

result<void> shard_recovery::each(
  const key_range& range,
  const std::function<result<void>(std::string_view, std::string_view)>& visit) {
  result<void> outcome;
  auto scanned = store_.scan(range.begin, range.end, [&](std::string_view key, std::string_view v) {
    outcome = visit(key, v);
    return outcome.has_value();
  });
  return scanned ? outcome : scanned;
}

result<void> shard_recovery::load_snapshot() {
  auto value = store_.read(shard_key{shard_}.encode());
  if (!value)
    return value.error();
  if (!*value)
    return {};
  auto snapshot = decode_snapshot(**value);
  if (!snapshot)
    return snapshot.error();
  snapshot_ = snapshot->position;
  next_sequence_ = snapshot->next_sequence;
  state_.at = snapshot->at;
  totals_to_write_ = std::move(snapshot->queues);
  core::restore_forgotten(state_, snapshot->forgotten);
  return {};
}

result<void> shard_recovery::load_totals() {
  auto load = [&](std::string_view key, std::string_view value) -> result<void> {
    auto queue = totals_key::decode(key);
    if (!queue)
      return error{errc::corruption, "a key that is not a queue's among the totals"};
    auto record = decode_totals(value, queue->queue);
    if (!record)
      return record.error();
    auto& totals = record->totals;
    if (record->is_removed)
      core::restore_mark(state_, queue->queue, {totals.purged_below, totals.purged_until});
    else if (record->has_record_times)
      state_.queues[state_.intern(queue->queue)]->totals = std::move(totals);
    else
      totals_to_write_.push_back(std::move(totals));
    return {};
  };
  if (auto ok = each(totals_of(shard_), load); !ok)
    return ok;
  state_.settle_totals();
  for (auto& totals : totals_to_write_) {
    core::assume_records(state_, totals);
    auto queue = state_.intern(totals.queue);
    state_.change_totals(queue) = std::move(totals);
  }
  core::restore_purges(state_);
  return {};
}

result<void> shard_recovery::load_queues() {
  return each(queues_of(shard_), [&](std::string_view key, std::string_view value) -> result<void> {
    auto queue = queue_key::decode(key);
    if (!queue)
      return error{errc::corruption, "a key that is not a queue's among the queues"};
    auto e = decode_queue(value, queue->queue);
    if (!e)
      return e.error();
    core::apply(state_, *e);
    return {};
  });
}

result<void> shard_recovery::load_producers() {
  return each(producers_of(shard_), [&](std::string_view key, std::string_view v) -> result<void> {
    auto id = producer_key::decode(key);
    if (!id)
      return error{errc::corruption, "a key that is not a session's among the sessions"};
    auto session = decode_producer(v, id->producer);
    if (!session)
      return session.error();
    core::restore_session(state_, std::move(*session));
    return {};
  });
}

result<void> shard_recovery::load_segments() {
  auto plain = load_segments(segments_of(shard_, next_sequence_));
  return plain ? load_segments(asides_of(shard_, next_sequence_)) : plain;
}

result<void> shard_recovery::load_segments(const key_range& range) {
  return each(range, [&](std::string_view key, std::string_view value) -> result<void> {
    auto first = segment_key::decode(key);
    auto aside = aside_key::decode(key);
    if (!first && !aside)
      return error{errc::corruption, "a key that is not a segment's among the segments"};
    auto e = decode_segment(value, first ? first->number : aside->number);
    if (!e)
      return e.error();
    state_.at = std::max(state_.at, e->at);
    auto& s = core::add_segment(state_, *e);
    s.count = e->count;
    s.body_bytes = e->body_bytes;
    if (s.aside)
      s.touch(s.first).state = s.fresh_state();
    core::index_segment(state_, s, gathered_);
    if (e->position > snapshot_)
      after_snapshot_.push_back(std::move(*e));
    return {};
  });
}

result<void> shard_recovery::load_blocks() {
  auto load = [&](std::string_view key, std::string_view value) -> result<void> {
    auto place = block_key::decode(key);
    if (!place)
      return error{errc::corruption, "a key that is not a block's among the blocks"};
    if (snapshot_ == 0)
      return error{errc::corruption, "blocks without a snapshot"};
    auto block = decode_block(value, place->number);
    if (!block)
      return block.error();
    bool is_whole = state_.segments.restore(
      *block,
      [this](const queue_address& queue) { return state_.intern(queue); },
      [this](core::segment& s) { core::restore_segment(state_, s, gathered_); });
    if (!is_whole)
      return error{errc::corruption, "a block that does not hold what its header says"};
    return {};
  };
  auto loaded = each(blocks_of(shard_), load);
  core::fill_keys(state_, std::exchange(gathered_.key_holders, {}));
  return loaded;
}

result<void> shard_recovery::load_keys() {
  std::map<std::string, task_key> names;
  for (const auto& name : gathered_.ended_keys)
    names.emplace(key_key{shard_, name}.encode(), name);
  std::vector<std::string> keys;
  keys.reserve(names.size());
  for (const auto& [key, name] : names)
    keys.push_back(key);
  result<void> decoded;
  auto take = [&](std::size_t place, std::string_view value) {
    if (auto record = decode_key(value))
      core::retain_key(state_, names.at(keys[place]), *record);
    else
      decoded = record.error();
    return decoded.has_value();
  };
  auto read = store_.read_many(keys, take);
  return read ? decoded : read;
}

void shard_recovery::settle_indexes() {
  core::fill_indexes(state_, std::move(gathered_));
}

void shard_recovery::remember_requests() {
  std::sort(after_snapshot_.begin(), after_snapshot_.end(), [](const auto& a, const auto& b) {
    return a.position < b.position;
  });
  for (const auto& e : after_snapshot_) {
    for (const auto& mark : e.requests)
      core::remember_request(
        state_, mark.request, e.queue.tenant, {e.first + mark.offset, mark.count}, e.at);
  }
}

result<void> shard_recovery::load_grants() {
  return each(grants_of(shard_), [&](std::string_view, std::string_view value) -> result<void> {
    auto e = decode_grant(value);
    if (!e)
      return e.error();
    if (e->position <= snapshot_)
      core::restore_grant(state_, *e);
    else
      tail_.emplace(e->position, std::move(*e));
    return {};
  });
}

result<void> shard_recovery::load_outcomes() {
  auto range = outcomes_of(shard_, snapshot_ + 1);
  return each(range, [&](std::string_view, std::string_view value) -> result<void> {
    auto e = decode_outcome(value);
    if (!e)
      return e.error();
    tail_.emplace(e->position, std::move(*e));
    return {};
  });
}

result<void> shard_recovery::load_changes() {
  return each(changes_of(shard_), [&](std::string_view, std::string_view value) -> result<void> {
    auto e = decode_change(value);
    if (!e)
      return e.error();
    tail_.emplace(e->position, std::move(*e));
    return {};
  });
}

result<void> shard_recovery::load_follow_ups() {
  return each(follow_ups_of(shard_), [&](std::string_view, std::string_view value) -> result<void> {
    auto e = decode_follow_ups(value);
    if (!e)
      return e.error();
    // Follow-ups are not in any snapshot; their records stay until the other shards have added
    // them.
    tail_.emplace(e->position, std::move(*e));
    return {};
  });
}

result<void> shard_recovery::load_checkpoints() {
  return each(
    checkpoints_of(shard_), [&](std::string_view key, std::string_view v) -> result<void> {
      auto task = checkpoint_key::decode(key);
      if (!task)
        return error{errc::corruption, "a key that is not one of a task among the checkpoints"};
      auto record = decode_checkpoint(v, task->number);
      if (!record)
        return record.error();
      state_.at = std::max(state_.at, record->at);
      core::set_checkpoint(state_, task->number, record->checkpoint.mark);
      return {};
    });
}

result<void> shard_recovery::load_schedules() {
  std::map<schedule_address, core::definition_ptr> definitions;
  auto load = [&](std::string_view key, std::string_view value) -> result<void> {
    auto name = schedule_key::decode(key);
    if (!name)
      return error{errc::corruption, "a key that is not a schedule's among the schedules"};
    auto definition = decode_schedule(value);
    if (!definition)
      return definition.error();
    definitions.emplace(
      name->schedule, std::make_shared<const core::schedule_definition>(std::move(*definition)));
    return {};
  };
  if (auto ok = each(schedules_of(shard_), load); !ok)
    return ok;
  return each(progress_of(shard_), [&](std::string_view key, std::string_view v) -> result<void> {
    auto name = progress_key::decode(key);
    auto definition = name ? definitions.find(name->schedule) : definitions.end();
    if (definition == definitions.end())
      return error{errc::corruption, "the progress of a schedule that does not exist"};
    auto record = decode_progress(v);
    if (!record)
      return record.error();
    state_.at = std::max(state_.at, record->at);
    state_.schedules.put(name->schedule, definition->second, std::move(record->progress));
    return {};
  });
}

result<void> shard_recovery::load_limits() {
  return each(limits_of(shard_), [&](std::string_view key, std::string_view value) -> result<void> {
    auto name = limit_name_key::decode(key);
    if (!name)
      return error{errc::corruption, "a key that is not a limit's among the limits"};
    auto e = decode_limit(value, name->limit);
    if (!e)
      return e.error();
    core::apply(state_, *e);
    return {};
  });
}

result<void> shard_recovery::load_limit_keys() {
  return each(limit_keys_of(shard_), [&](std::string_view key, std::string_view v) -> result<void> {
    auto name = limit_key_key::decode(key);
    if (!name)
      return error{errc::corruption, "a key that is not a limit key's among the limit keys"};
    auto record = decode_limit_key(v);
    if (!record)
      return record.error();
    state_.at = std::max(state_.at, record->at);
    bool is_of_all = name->limit.name.empty();
    if (is_of_all && record->used_up_at != timestamp{})
      state_.limits.restore_used_up(record->used_up_at);
    else if (!is_of_all)
      state_.limits.restore({name->limit, name->key, record->paid_at, record->closed_until});
    return {};
  });
}

result<void> shard_recovery::load_permits() {
  return each(permits_of(shard_), [&](std::string_view key, std::string_view v) -> result<void> {
    auto name = permit_key::decode(key);
    if (!name)
      return error{errc::corruption, "a key that is not a permit's among the permits"};
    auto record = decode_permit(v, name->number);
    if (!record)
      return record.error();
    // The record about the asking shard comes before those of its permits.
    const auto& asker = state_.lent.of(name->asker);
    core::permits_changed e{0, record->at, name->asker, asker.session, asker.heard, {}, {}};
    if (name->number == 0) {
      e.session = record->session;
      e.heard = record->heard;
    } else {
      e.booked.push_back(std::move(record->what));
    }
    core::apply(state_, e);
    return {};
  });
}

void shard_recovery::replay() {
  for (const auto& [position, e] : tail_)
    core::apply(state_, e);
  // Counts as written, so that a snapshot soon covers the tail and the next recovery replays less.
  state_.records_since_snapshot = tail_.size();
  core::list_all_queue_ends(state_);
}

} // namespace

result<std::unique_ptr<core::shard_state>> recover(
  const task_store& store,
  shard_id shard,
  std::uint32_t epoch,
  monotonic_time steady,
  std::uint64_t name_seed) {
  auto state = std::make_unique<core::shard_state>(shard, epoch, name_seed);
  state->steady = steady;
  shard_recovery r(store, *state);
  if (auto ok = r.load_snapshot(); !ok)
    return ok.error();
  if (auto ok = r.load_totals(); !ok)
    return ok.error();
  if (auto ok = r.load_queues(); !ok)
    return ok.error();
  if (auto ok = r.load_limits(); !ok)
    return ok.error();
  if (auto ok = r.load_limit_keys(); !ok)
    return ok.error();
  if (auto ok = r.load_permits(); !ok)
    return ok.error();
  if (auto ok = r.load_producers(); !ok)
    return ok.error();
  if (auto ok = r.load_blocks(); !ok)
    return ok.error();
  if (auto ok = r.load_segments(); !ok)
    return ok.error();
  if (auto ok = r.load_keys(); !ok)
    return ok.error();
  r.settle_indexes();
  r.remember_requests();
  if (auto ok = r.load_grants(); !ok)
    return ok.error();
  if (auto ok = r.load_outcomes(); !ok)
    return ok.error();
  if (auto ok = r.load_changes(); !ok)
    return ok.error();
  if (auto ok = r.load_follow_ups(); !ok)
    return ok.error();
  if (auto ok = r.load_checkpoints(); !ok)
    return ok.error();
  if (auto ok = r.load_schedules(); !ok)
    return ok.error();
  r.replay();
  return state;
}

result<store_record> read_identity(const task_store& store) {
  auto value = store.read(store_key{}.encode());
  if (!value)
    return value.error();
  if (!*value)
    return error{errc::corruption, "the store has no record of its identity"};
  auto record = decode_store(**value);
  if (record && record->version > format_version)
    return error{
      errc::incompatible_store,
      "the store has format " + std::to_string(record->version) + "; this version reads up to "
        + std::to_string(format_version)};
  return record;
}

result<store_record>
open_identity(task_store& store, std::size_t shards, std::uint64_t fresh_store_id) {
  auto value = store.read(store_key{}.encode());
  if (!value)
    return value.error();
  store_record record;
  if (*value) {
    auto found = read_identity(store);
    if (!found)
      return found.error();
    record = *found;
    if (shards != 0 && shards != record.shard_count)
      return error{
        errc::incompatible_store,
        "the store was created with " + std::to_string(record.shard_count)
          + " shards, which cannot be changed; " + std::to_string(shards) + " were asked for"};
  } else {
    record.store_id = fresh_store_id;
    record.shard_count = static_cast<std::uint16_t>(shards == 0 ? shards_default : shards);
  }
  if (record.epoch >= tuning::epoch_max)
    return error{errc::incompatible_store, "the store was started too often: its epochs ran out"};
  ++record.epoch;
  // From now on the store may contain records that older versions do not know.
  record.version = format_version;
  auto writes = std::make_shared<write_set>();
  writes->put(store_key{}.encode(), encode(record));
  std::shared_ptr<const write_set> set = writes;
  if (auto ok = store.commit({&set, 1}, durability::sync); !ok)
    return ok.error();
  return record;
}

} // namespace codeq::storage
