// SPDX-License-Identifier: Apache-2.0
#include "model/store_history.hpp"

#include "codeq/limits.hpp"

#include "maintenance/store_verifier.hpp"
#include "model/words.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/records/projection.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/recovery/recovery.hpp"
#include "storage/recovery/task_reader.hpp"
#include "storage/write_set.hpp"
#include "support/key_ranges.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace codeq::model {

namespace {

constexpr shard_id only_shard{};

constexpr std::size_t checks_per_verification = 8;
constexpr std::size_t findings_max = 10;

/// A cut removes fewer turns than this, so older turns count as synced.
constexpr std::size_t turns_cut_max = 5;

/// An epoch that no recovered shard goes on with.
constexpr std::uint32_t passing_epoch = 1'000'000;

/// The keys that a turn removes are removed as `is_removed_singly` says, which is how the copy of a
/// whole shard is removed.
void require_listed_removals(const storage::write_set& writes) {
  using kind = storage::write_set::kind;
  for (const auto& operation : writes.operations()) {
    bool is_single = operation.what == kind::single_remove;
    if (operation.what != kind::put && is_single != storage::is_removed_singly(operation.key))
      throw std::logic_error(
        std::string("is_removed_singly is wrong for keys of kind ") + operation.key.front());
  }
}

} // namespace

store_history::store_history(store_maker make_store)
  : make_store_(std::move(make_store)), store_(make_store_()) {
  identify();
}

void store_history::identify() {
  storage::store_record identity;
  identity.shard_count = 1;
  identity.epoch = passing_epoch - 1;
  auto writes = std::make_shared<storage::write_set>();
  writes->put(storage::store_key{}.encode(), storage::encode(identity));
  commit(writes);
}

void store_history::append(const std::vector<core::event>& events) {
  auto writes = std::make_shared<storage::write_set>();
  for (const auto& e : events)
    storage::project(only_shard, e, *writes);
  require_listed_removals(*writes);
  commit(writes);
  turns_.push_back(std::move(writes));
  for (const auto& e : events)
    if (const auto* c = std::get_if<core::snapshot_taken>(&e))
      note_snapshot(*c);
  compact();
}

void store_history::note_snapshot(const core::snapshot_taken& c) {
  auto state = recover(passing_epoch, {});
  horizons_[turns_.size()] =
    std::make_shared<const storage::shard_horizon>(storage::horizon_of(*state, c));
  for (const auto& fate : c.closed)
    for (std::size_t i = 0; i < fate.entries.size(); ++i)
      closed_[fate.first + i] = c.at;
}

void store_history::compact() {
  auto at = horizons_.upper_bound(turns_.size() - std::min(turns_.size(), turns_cut_max));
  if (at == horizons_.begin())
    return;
  storage::retention_view view{{{only_shard, std::prev(at)->second}}, {}};
  compacted_at_ = view.horizons.at(only_shard)->at;
  horizons_.erase(horizons_.begin(), at);
  drop(storage::outcomes_of(only_shard), view);
  drop(storage::fates_of(only_shard), view);
  drop(storage::copied_fates_of(only_shard), view);
  drop(test::keys_of_kind(storage::key_tag::history, only_shard), view);
}

void store_history::drop(const storage::key_range& range, const storage::retention_view& view) {
  auto is_there = [this](std::string_view key) { return has(key); };
  auto writes = std::make_shared<storage::write_set>();
  auto scanned = store_->scan(range.begin, range.end, [&](auto key, std::string_view value) {
    if (storage::judge(view, key, value, is_there) != storage::verdict::keep) {
      dropped_.emplace_back(key);
      writes->remove(dropped_.back());
    }
    return true;
  });
  if (!scanned)
    throw std::runtime_error(to_string(scanned.error()));
  commit(writes);
}

bool store_history::has(std::string_view key) const {
  auto value = store_->read(key);
  return value && *value;
}

void store_history::commit(const std::shared_ptr<const storage::write_set>& writes) {
  if (auto done = store_->commit({&writes, 1}, storage::durability::os); !done)
    throw std::runtime_error(to_string(done.error()));
}

void store_history::cut(std::size_t turns) {
  if (turns == turns_.size())
    return;
  turns_.resize(turns);
  horizons_.erase(horizons_.upper_bound(turns), horizons_.end());
  store_.reset();
  store_ = make_store_();
  identify();
  for (const auto& writes : turns_)
    commit(writes);
  auto again = std::make_shared<storage::write_set>();
  for (const auto& key : dropped_)
    again->remove(key);
  commit(again);
}

std::unique_ptr<core::shard_state>
store_history::recover(std::uint32_t epoch, monotonic_time steady) {
  auto state = storage::recover(*store_, only_shard, epoch, steady);
  if (!state)
    throw std::runtime_error(to_string(state.error()));
  return std::move(*state);
}

std::string
store_history::find_unreadable(const reference_shard& reference, core::shard_state& state) const {
  auto wrong = check_leftovers(state) + check_soundness();
  for (const auto& [seq, task] : reference.tasks) {
    auto death = store_->read(storage::dead_key{only_shard, seq}.encode());
    if (!death || death->has_value() != (task.state == task_state::dead))
      wrong += short_number(seq) + ": the record of its death does not fit its state\n";
    const auto* s = core::find_segment(state.segments, seq);
    if (!s) {
      wrong += check_fate(task, {state.at, state.purged.get()});
      continue;
    }
    core::task_view view;
    view.seq = seq;
    view.entry = s->view(seq);
    wrong += check_checkpoint(task) + check_body(task, *s) + check_text(task, view, state.at)
             + check_history(task, view, storage::view_source::memory, state.at);
  }
  for (auto seq : reference.purged) {
    auto fate = storage::read_fate(*store_, only_shard, seq, {state.at, state.purged.get()});
    bool is_gone = fate && !*fate && !core::find_known(state.segments, seq);
    wrong += is_gone ? "" : short_number(seq) + " was purged and is known\n";
  }
  return wrong;
}

std::size_t store_history::count(const storage::key_range& range) const {
  std::size_t found = 0;
  auto scanned = store_->scan(range.begin, range.end, [&](std::string_view, std::string_view) {
    ++found;
    return true;
  });
  if (!scanned)
    throw std::runtime_error(to_string(scanned.error()));
  return found;
}

std::string store_history::check_soundness() const {
  if (++checks_ % checks_per_verification != 0)
    return {};
  store_report report;
  std::string wrong;
  if (auto ok = maintenance::verify_records(*store_, findings_max, report); !ok)
    wrong = "the store cannot be verified: " + to_string(ok.error()) + "\n";
  for (const auto& finding : report.findings)
    wrong += "verifying finds: " + finding + "\n";
  return wrong;
}

std::string store_history::check_leftovers(core::shard_state& state) const {
  std::size_t replaced = 0;
  state.segments.for_each([&](const core::segment& s) { replaced += s.replaced ? 1 : 0; });
  std::string wrong;
  if (count(test::keys_of_kind(storage::key_tag::body, only_shard)) != replaced)
    wrong += "there are more or fewer replaced bodies on disk than tasks that have one\n";
  if (count(storage::checkpoints_of(only_shard)) != state.checkpoints.size())
    wrong += "there are more or fewer checkpoints of tasks on disk than in memory\n";
  auto histories = test::keys_of_kind(storage::key_tag::history, only_shard);
  auto scanned = store_->scan(histories.begin, histories.end, [&](auto key, auto value) {
    auto seq = storage::history_key::decode(key)->seq;
    auto note = storage::decode_note(value, seq);
    // Younger than the shortest retention class; some tasks here have a shorter retention.
    bool is_young = note && compacted_at_ - note->event.at < limits::retention_classes.front();
    bool is_known = note
                    && (is_young || has(storage::segment_key{only_shard, note->segment}.encode())
                        || has(storage::aside_key{only_shard, note->segment}.encode())
                        || has(storage::fate_key{only_shard, note->segment}.encode()));
    for (auto each = seq; note && !is_known && each < seq + note->tasks; ++each)
      is_known = has(storage::aside_key{only_shard, each}.encode())
                 || has(storage::copied_fate_key{only_shard, each}.encode());
    wrong += is_known ? "" : short_number(seq) + " is forgotten, but not its history\n";
    return true;
  });
  return scanned ? wrong : wrong + to_string(scanned.error());
}

std::string store_history::check_checkpoint(const reference_task& task) const {
  core::granted_run run;
  run.checkpoints.push_back({task.seq, {}, {}});
  if (auto read = storage::read_checkpoints(*store_, only_shard, run); !read)
    return "the checkpoint of " + short_number(task.seq) + " cannot be read\n";
  bool agrees = task.checkpoint ? !run.checkpoints.empty()
                                    && run.checkpoints.front().data.view() == task.checkpoint->data
                                : run.checkpoints.empty();
  return agrees ? "" : "the checkpoint of " + short_number(task.seq) + " is not what was saved\n";
}

std::string store_history::check_body(const reference_task& task, const core::segment& s) const {
  auto bodies = s.replaced ? storage::read_replaced_body(*store_, only_shard, s.first)
                           : storage::read_bodies(*store_, only_shard, s.first, s.aside);
  bool agrees = bodies && *bodies && (*bodies)->count() == s.count
                && (!s.aside || s.body_bytes == (*bodies)->sizes.front())
                && (*bodies)->part(task.seq - s.first, 1).body.view() == task.body;
  return agrees ? "" : "the body of " + short_number(task.seq) + " is not what was enqueued\n";
}

std::string store_history::check_text(
  const reference_task& task, const core::task_view& view, timestamp now) const {
  auto text = storage::read_text(*store_, only_shard, view, now);
  auto retention = task.settings.retention;
  bool is_live_or_dead = !is_terminal(task.state) || task.state == task_state::dead;
  bool must_stay = is_live_or_dead || now < task.ended_at + retention;
  bool may_stay = is_live_or_dead || now < task.settled_at + retention;
  if (!text)
    return "the text of " + short_number(task.seq) + " cannot be read\n";
  // Texts written by the shard itself may have any words after the reason.
  bool agrees = may_stay && *text && (*text)->view().starts_with(task.text)
                && (!task.reported || (*text)->view() == task.text);
  bool is_completed = task.state == task_state::completed;
  bool is_gone = is_completed ? !*text : *text && (*text)->view().empty();
  return agrees || (!must_stay && is_gone)
           ? ""
           : "the text of " + short_number(task.seq) + " is not what was reported\n";
}

std::string
store_history::check_fate(const reference_task& task, const storage::fate_filter& as_of) const {
  auto fate = storage::read_fate(*store_, only_shard, task.seq, as_of);
  bool is_past = as_of.now >= closed_.at(task.seq) + task.settings.retention;
  if (fate && is_past)
    return *fate ? short_number(task.seq) + " is known beyond its retention\n" : "";
  if (!fate || !*fate)
    return "the fate of " + short_number(task.seq) + " is not on disk\n";
  const auto& view = **fate;
  bool agrees = view.seq == task.seq && view.queue == task.queue && view.priority == task.priority
                && view.max_attempts == task.settings.max_attempts && view.entry.state == task.state
                && view.entry.token == task.token && view.entry.attempt == task.attempt;
  auto wrong = agrees ? "" : "the fate of " + short_number(task.seq) + " is another task's\n";
  return wrong + check_text(task, view, as_of.now)
         + check_history(task, view, storage::view_source::fate, as_of.now);
}

std::string store_history::check_history(
  const reference_task& task,
  const core::task_view& view,
  storage::view_source source,
  timestamp now) const {
  auto timeline = storage::read_timeline(*store_, only_shard, view, source);
  bool may_be_gone = is_terminal(task.state) && now >= task.ended_at + task.settings.retention;
  if (timeline && !*timeline && may_be_gone)
    return "";
  if (!timeline || !*timeline)
    return "what happened to " + short_number(task.seq) + " cannot be read\n";
  std::string told;
  for (const auto& event : (*timeline)->events) {
    bool is_derived =
      event.what == task_event::kind::enqueued || event.what == task_event::kind::granted;
    if (!is_derived)
      told += say_event(event.what, event.state) + say_attempt(event.attempt, event.worker) + '\n';
  }
  auto kept = kept_of(task.history.size());
  auto dropped = task.history.size() - kept;
  std::string expected;
  for (auto i = dropped; i < task.history.size(); ++i)
    expected += task.history[i] + '\n';
  // The record of its end may be dropped before its history.
  bool agrees_without_end = may_be_gone && told == expected;
  if (!task.completion.empty())
    expected += task.completion + '\n';
  bool agrees = (told == expected || agrees_without_end) && (*timeline)->dropped == dropped;
  return agrees ? ""
                : "to " + short_number(task.seq) + " should have happened:\n" + expected
                    + "but it is told:\n" + told;
}

} // namespace codeq::model
