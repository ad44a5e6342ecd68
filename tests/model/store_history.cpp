// SPDX-License-Identifier: Apache-2.0
#include "model/store_history.hpp"

#include "model/words.hpp"
#include "storage/projection.hpp"
#include "storage/recovery.hpp"
#include "storage/task_reader.hpp"
#include "storage/write_set.hpp"

#include <stdexcept>
#include <utility>

namespace codeq::model {

namespace {

constexpr shard_id only_shard{};

} // namespace

store_history::store_history(store_maker make_store)
  : make_store_(std::move(make_store)), store_(make_store_()) {
}

void store_history::append(const std::vector<core::event>& events) {
  auto writes = std::make_shared<storage::write_set>();
  for (const auto& e : events)
    storage::project(only_shard, e, *writes);
  commit(writes);
  turns_.push_back(std::move(writes));
}

void store_history::commit(const std::shared_ptr<const storage::write_set>& writes) {
  if (auto done = store_->commit({&writes, 1}, storage::durability::os); !done)
    throw std::runtime_error(to_string(done.error()));
}

void store_history::cut(std::size_t turns) {
  if (turns == turns_.size())
    return;
  turns_.resize(turns);
  store_.reset();
  store_ = make_store_();
  for (const auto& writes : turns_)
    commit(writes);
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
  auto wrong = check_leftovers(reference, state);
  for (const auto& [seq, task] : reference.tasks) {
    const auto* s = core::find_segment(state.segments, seq);
    if (!s) {
      wrong += check_fate(task, state.purged.get());
      continue;
    }
    core::task_view view;
    view.seq = seq;
    view.entry = s->view(seq);
    wrong += check_body(task, *s) + check_text(task, view.entry)
             + check_history(task, view, storage::view_source::memory);
  }
  for (auto seq : reference.purged) {
    auto fate = storage::read_fate(*store_, only_shard, seq, state.purged.get());
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

std::string
store_history::check_leftovers(const reference_shard& reference, core::shard_state& state) const {
  auto noted = reference.filed_history;
  for (const auto& [seq, task] : reference.tasks)
    noted += kept_of(task.history.size());
  std::size_t replaced = 0;
  for (const auto& [first, s] : state.segments)
    replaced += s.replaced ? 1 : 0;
  std::string wrong;
  if (count(storage::bodies_of(only_shard)) != replaced)
    wrong += "there are more or fewer replaced bodies on disk than tasks that have one\n";
  if (count(storage::keys_of(only_shard)) != state.keys.retained_count())
    wrong += "there are more or fewer records of keys on disk than in memory\n";
  if (count(storage::histories_of(only_shard)) != noted)
    wrong +=
      "there are more or fewer entries of histories on disk than tasks that are known have\n";
  return wrong;
}

std::string store_history::check_body(const reference_task& task, const core::segment& s) const {
  auto bodies = s.replaced ? storage::read_replaced_body(*store_, only_shard, s.first)
                           : storage::read_bodies(*store_, only_shard, s.first, s.aside);
  bool agrees = bodies && *bodies && (*bodies)->count() == s.count
                && (!s.aside || s.body_bytes == (*bodies)->sizes.front())
                && (*bodies)->part(task.seq - s.first, 1).body.view() == task.body;
  return agrees ? "" : "the body of " + short_number(task.seq) + " is not what was enqueued\n";
}

std::string
store_history::check_text(const reference_task& task, const core::task_entry& entry) const {
  auto text = storage::read_text(*store_, only_shard, entry);
  // The words of the shard's own texts are free behind the reason.
  bool agrees =
    text && text->view().starts_with(task.text) && (!task.reported || text->view() == task.text);
  return agrees ? "" : "the text of " + short_number(task.seq) + " is not what was reported\n";
}

std::string
store_history::check_fate(const reference_task& task, const core::purge_marks* purged) const {
  auto fate = storage::read_fate(*store_, only_shard, task.seq, purged);
  if (!fate || !*fate)
    return "the fate of " + short_number(task.seq) + " is not on disk\n";
  const auto& view = **fate;
  bool agrees = view.seq == task.seq && view.queue == task.queue && view.priority == task.priority
                && view.max_attempts == task.settings.max_attempts && view.entry.state == task.state
                && view.entry.token == task.token && view.entry.attempt == task.attempt;
  auto wrong = agrees ? "" : "the fate of " + short_number(task.seq) + " is another task's\n";
  return wrong + check_text(task, view.entry)
         + check_history(task, view, storage::view_source::fate);
}

std::string store_history::check_history(
  const reference_task& task, const core::task_view& view, storage::view_source source) const {
  auto timeline = storage::read_timeline(*store_, only_shard, view, source);
  if (!timeline || !*timeline)
    return "what happened to " + short_number(task.seq) + " cannot be read\n";
  std::string told;
  for (const auto& event : (*timeline)->events) {
    bool is_derived = event.what == task_event::kind::enqueued
                      || event.what == task_event::kind::granted
                      || (event.what == task_event::kind::completed && task.history.empty());
    if (!is_derived)
      told += say_event(event.what, event.state) + say_attempt(event.attempt, event.worker) + '\n';
  }
  auto kept = kept_of(task.history.size());
  auto dropped = task.history.size() - kept;
  std::string expected;
  for (auto i = dropped; i < task.history.size(); ++i)
    expected += task.history[i] + '\n';
  bool has_end = (*timeline)->events.size() > 1;
  bool agrees = told == expected && (*timeline)->dropped == dropped
                && (task.state != task_state::completed || has_end);
  return agrees ? ""
                : "to " + short_number(task.seq) + " should have happened:\n" + expected
                    + "but it is told:\n" + told;
}

} // namespace codeq::model
