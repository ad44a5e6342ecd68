// SPDX-License-Identifier: Apache-2.0
#include "storage/recovery/task_list.hpp"

#include "base/tuning.hpp"
#include "core/tables/history.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/records/headers_codec.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/records/retention_codec.hpp"
#include "storage/recovery/note_reader.hpp"
#include "storage/recovery/task_reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace codeq::storage {

namespace {

/// Only tasks that were completed or cancelled are in fates.
bool may_be_closed(const task_filter& filter) {
  if (filter.is_blocking)
    return false;
  return !filter.state || *filter.state == task_state::completed
         || *filter.state == task_state::cancelled;
}

/// The sequences that memory has passed, and that the store is read for.
fate_walk::range range_of(shard_id shard, const core::tasks_listed& memory) {
  const auto& part = memory.part;
  fate_walk::range range{shard, part.after + 1, 0, part.newest_first};
  range.last = (part.below == 0 ? std::numeric_limits<sequence>::max() : part.below) - 1;
  if (!may_be_closed(part.filter))
    return {shard, 1, 0, part.newest_first};
  if (memory.more && part.newest_first)
    range.first = memory.after;
  if (memory.more && !part.newest_first)
    range.last = memory.after;
  return range;
}

/// The end of a task that an outcome record contains. @pre the index is within the record
const core::lease_end& end_of(const core::leases_ended& record, const core::task_entry& entry) {
  return record.ends[entry.outcome_index];
}

} // namespace

task_list::task_list(shard_id shard, core::tasks_listed in_memory, timestamp now)
  : shard_(shard),
    memory_(std::move(in_memory)),
    now_(now),
    segments_(fate_walk::kind::segments, range_of(shard, memory_)),
    copied_(fate_walk::kind::copied_tasks, range_of(shard, memory_)) {
  found_.peer = memory_.peer;
  found_.number = memory_.number;
}

bool task_list::is_before(sequence a, sequence b) const {
  return memory_.part.newest_first ? a > b : a < b;
}

bool task_list::is_over() const {
  return !open_ && known_ == memory_.tasks.size() && segments_.is_over() && copied_.is_over();
}

sequence task_list::place() const {
  if (open_)
    return open_->view.seq;
  std::optional<sequence> first;
  auto take = [&](sequence seq) {
    if (!first || is_before(seq, *first))
      first = seq;
  };
  if (known_ < memory_.tasks.size())
    take(memory_.tasks[known_].seq);
  for (const auto* walk : {&segments_, &copied_})
    if (!walk->is_over())
      take(walk->at());
  return *first;
}

result<bool> task_list::advance(const task_store& store, read_budget& budget) {
  while (true) {
    // The walk that is behind the other, so that the place of both goes on.
    fate_walk* behind = nullptr;
    for (auto* walk : {&segments_, &copied_}) {
      bool is_missing = !walk->is_over() && !walk->is_ready();
      if (is_missing && (!behind || is_before(walk->at(), behind->at())))
        behind = walk;
    }
    if (!behind || !budget.is_left())
      return behind == nullptr;
    if (auto ok = behind->advance(store, memory_.part.filter, now_, budget); !ok)
      return ok.error();
  }
}

result<std::optional<task_list::candidate>>
task_list::next(const task_store& store, read_budget& budget) {
  const auto& filter = memory_.part.filter;
  fate_filter as_of{now_, memory_.purged.get()};
  while (true) {
    auto is_ready = advance(store, budget);
    if (!is_ready)
      return is_ready.error();
    if (!*is_ready || is_over())
      return std::optional<candidate>{};
    auto seq = place();
    std::optional<candidate> found;
    for (auto* walk : {&segments_, &copied_}) {
      if (!walk->is_ready() || walk->at() != seq)
        continue;
      const auto& entry = walk->fate().entries[seq - walk->fate().first];
      bool fits = !filter.state || entry.state == *filter.state;
      if (fits && is_known(walk->fate(), seq, as_of))
        found = candidate{view_of(walk->fate(), seq), walk->fate().first};
      walk->next();
    }
    if (known_ < memory_.tasks.size() && memory_.tasks[known_].seq == seq) {
      auto& view = memory_.tasks[known_++];
      auto headers = view.segment;
      found = candidate{std::move(view), headers};
    }
    if (found)
      return found;
  }
}

result<bool> task_list::match_headers(
  const task_store& store, const candidate& task, read_budget& budget) {
  const auto& wanted = memory_.part.filter.headers;
  if (wanted.empty())
    return true;
  auto key = headers_key{shard_, task.headers}.encode();
  if (!store.may_have(key))
    return false;
  ++budget.used;
  auto value = store.read(key);
  if (!value)
    return value.error();
  if (!*value)
    return false;
  return has_headers(**value, static_cast<std::uint32_t>(task.view.seq - task.headers), wanted);
}

result<bool>
task_list::read_end(const task_store& store, core::task_view& view, read_budget& budget) {
  const auto& entry = view.entry;
  if (outcome_ != entry.outcome || !ended_) {
    ++budget.used;
    auto value = store.read(outcome_key{shard_, entry.outcome}.encode());
    if (!value)
      return value.error();
    // A completed task without its result is unknown.
    if (!*value)
      return false;
    auto record = decode_outcome(**value);
    if (!record)
      return record.error();
    outcome_ = entry.outcome;
    ended_ = std::move(*record);
  }
  if (record_lifetime{0, ended_->at, ended_->retention}.is_past(now_))
    return false;
  view.ended_at = ended_->at;
  if (entry.outcome_index < ended_->ends.size() && end_of(*ended_, entry).grant > 0)
    view.worker = ended_->grants[end_of(*ended_, entry).grant - 1].worker;
  return true;
}

result<void>
task_list::read_error(const task_store& store, core::task_view& view, read_budget& budget) {
  if (view.entry.state == task_state::dead) {
    ++budget.used;
    auto value = store.read(dead_key{shard_, view.seq}.encode());
    if (!value)
      return value.error();
    // The task was redriven after the view was taken.
    if (!*value)
      return {};
    auto record = decode_death(**value);
    if (!record)
      return record.error();
    view.ended_at = record->at;
    view.error_text = std::string(record->text.view());
    return {};
  }
  bool is_wanted = !memory_.part.filter.error.empty() && view.entry.outcome != 0
                   && view.entry.state != task_state::completed;
  if (!is_wanted)
    return {};
  ++budget.used;
  auto text = read_text(store, shard_, view, now_);
  if (!text)
    return text.error();
  view.error_text = *text ? std::string((*text)->view()) : std::string();
  return {};
}

result<void>
task_list::read_worker(const task_store& store, core::task_view& view, read_budget& budget) {
  bool is_cancelled = view.entry.state == task_state::cancelled;
  bool is_wanted = !memory_.part.filter.workers.empty() && view.worker.empty();
  if (!is_cancelled && !is_wanted)
    return {};
  ++budget.used;
  auto notes = read_notes(store, shard_, view.seq);
  if (!notes)
    return notes.error();
  for (auto& note : *notes) {
    if (is_cancelled)
      view.ended_at = note.event.at;
    if (!note.event.worker.empty())
      view.worker = std::move(note.event.worker);
  }
  return {};
}

bool task_list::matches(const core::task_view& view) const {
  const auto& filter = memory_.part.filter;
  const auto& workers = filter.workers;
  if (!workers.empty() && std::find(workers.begin(), workers.end(), view.worker) == workers.end())
    return false;
  if (view.error_text.find(filter.error) == std::string::npos)
    return false;
  return !filter.ended.is_bounded()
         || (view.ended_at != timestamp{} && filter.ended.contains(view.ended_at));
}

result<bool>
task_list::consider(const task_store& store, candidate& task, read_budget& budget) {
  auto has_headers = match_headers(store, task, budget);
  if (!has_headers || !*has_headers)
    return has_headers;
  auto& view = task.view;
  if (view.entry.state == task_state::completed) {
    auto is_known = read_end(store, view, budget);
    if (!is_known || !*is_known)
      return is_known;
  }
  if (auto ok = read_error(store, view, budget); !ok)
    return ok.error();
  if (auto ok = read_worker(store, view, budget); !ok)
    return ok.error();
  bool is_picked = matches(view);
  view.error_text = core::cut_for_history(view.error_text);
  return is_picked;
}

void task_list::finish(bool more) {
  found_.more = more;
  found_.after = memory_.after;
  if (!memory_.part.newest_first && !found_.tasks.empty())
    found_.after = std::max(found_.after, found_.tasks.back().seq);
  if (!is_over())
    found_.after = memory_.part.newest_first ? place() + 1 : place() - 1;
}

result<bool> task_list::read_on(const task_store& store, std::size_t reads) {
  auto limit = std::clamp<std::size_t>(memory_.part.limit, 1, tuning::bulk_tasks_max);
  read_budget budget{0, reads};
  while (budget.is_left()) {
    auto task = next(store, budget);
    if (!task)
      return task.error();
    if (!*task && is_over()) {
      finish(memory_.more);
      return true;
    }
    if (!*task)
      break;
    open_ = std::move(*task);
    auto is_picked = consider(store, *open_, budget);
    if (!is_picked)
      return is_picked;
    if (*is_picked && found_.tasks.size() == limit) {
      finish(true);
      return true;
    }
    if (*is_picked)
      found_.tasks.push_back(std::move(open_->view));
    open_.reset();
  }
  reads_ += budget.used;
  if (reads_ < tuning::list_reads_max)
    return false;
  finish(!is_over() || memory_.more);
  return true;
}

} // namespace codeq::storage
