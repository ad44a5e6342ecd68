// SPDX-License-Identifier: Apache-2.0
#include "fault/client_ledger.hpp"

#include "fault/random_commands.hpp"
#include "storage/recovery/task_reader.hpp"

#include <algorithm>

namespace codeq::test {

namespace {

bool are_same(const std::vector<core::seq_run>& left, const std::vector<core::seq_run>& right) {
  return std::equal(
    left.begin(), left.end(), right.begin(), right.end(), [](const auto& a, const auto& b) {
      return a.first == b.first && a.count == b.count;
    });
}

} // namespace

void client_ledger::decided(const core::command& c) {
  if (const auto* purge = std::get_if<core::purge>(&c))
    may_be_gone_.insert(purge->seq);
}

void client_ledger::told(const core::effect& e, std::uint64_t group) {
  if (const auto* enqueued = std::get_if<core::enqueue_answered>(&e))
    told(*enqueued, group);
  else if (const auto* reported = std::get_if<core::reports_answered>(&e))
    told(*reported, group);
}

void client_ledger::told(const core::enqueue_answered& e, std::uint64_t group) {
  if (!e.allowed)
    return;
  auto [known, is_new] = answers_.emplace(e.number, answer{group, e.tasks});
  if (!is_new) {
    if (!are_same(known->second.tasks, e.tasks))
      wrong_ += "request " + std::to_string(e.number) + " was answered anew\n";
    return;
  }
  // With kinds, some of these tasks existed before, with the same key.
  if (!e.kinds.empty())
    return;
  for (const auto& run : e.tasks)
    for (std::uint32_t i = 0; i < run.count; ++i)
      created_.emplace(run.first + i, group);
}

void client_ledger::may_go(const core::seq_run& tasks) {
  for (std::uint32_t i = 0; i < tasks.count; ++i)
    may_be_gone_.insert(tasks.first + i);
}

void client_ledger::told(const core::reports_answered& e, std::uint64_t group) {
  for (const auto& a : e.answers)
    if (a.code == errc::none && random_commands::completes(a.token))
      completed_.emplace(a.seq, ending{group, a.token});
}

void client_ledger::forget_after(std::uint64_t group) {
  std::erase_if(answers_, [&](const auto& x) { return x.second.group > group; });
  std::erase_if(created_, [&](const auto& x) { return x.second > group; });
  std::erase_if(completed_, [&](const auto& x) { return x.second.group > group; });
}

result<std::optional<core::task_view>>
client_ledger::find(const storage::task_store& store, core::shard_state& state, sequence seq) {
  if (auto* s = core::find_known(state.segments, seq)) {
    core::task_view view;
    view.seq = seq;
    view.entry = s->view(seq);
    return std::optional{view};
  }
  return storage::read_fate(store, state.id, seq, {state.at, state.purged.get()});
}

result<std::string> client_ledger::check(
  const storage::task_store& store, core::shard_state& state, std::uint64_t group) {
  forget_after(group);
  auto wrong = wrong_;
  for (const auto& [seq, told_with] : created_) {
    auto found = find(store, state, seq);
    if (!found)
      return found.error();
    if (!*found && !may_be_gone_.contains(seq))
      wrong += "task " + to_string(state.id_of(seq)) + " was acknowledged and is unknown\n";
  }
  for (const auto& [seq, end] : completed_) {
    auto found = find(store, state, seq);
    if (!found)
      return found.error();
    const auto& view = *found;
    bool is_kept =
      view && view->entry.state == task_state::completed && view->entry.token == end.token;
    bool may_be_unknown = !view && may_be_gone_.contains(seq);
    if (!is_kept && !may_be_unknown)
      wrong += "the completion of task " + to_string(state.id_of(seq)) + " is forgotten\n";
  }
  checked_ += created_.size() + completed_.size();
  return wrong;
}

} // namespace codeq::test
