// SPDX-License-Identifier: Apache-2.0
#include "core/flow/permit_desk.hpp"

#include "base/assert.hpp"
#include "core/commands/routing.hpp"

#include <algorithm>
#include <limits>

namespace codeq::core {

void permit_desk::open(shard_id own, std::uint16_t shard_count, std::uint32_t session) {
  own_ = own;
  shard_count_ = shard_count;
  session_ = session;
}

std::optional<shard_id>
permit_desk::owner_elsewhere(std::string_view tenant, const task_limit& use) const {
  if (!is_open())
    return std::nullopt;
  auto owner = shard_of_limit_key(tenant, use, shard_count_);
  return owner == own_ ? std::nullopt : std::optional(owner);
}

permit_desk::line_name permit_desk::line_of(const permit& what) {
  const auto& first = what.uses.front();
  return {{what.tenant, first.name}, first.key};
}

permit_desk::place permit_desk::place_of(const permit& what, sequence seq) {
  return {
    static_cast<std::uint8_t>(std::numeric_limits<std::uint8_t>::max() - what.priority), seq};
}

bool permit_desk::line::may_ask() const {
  if (queued.empty())
    return false;
  return asked.size() < asked_per_key_max || queued.begin()->first < asked.rbegin()->first;
}

permit_number permit_desk::take_number(sequence seq) {
  auto number = std::uint64_t{session_} << 32 | ++counter_;
  numbers_.emplace(number, seq);
  return number;
}

void permit_desk::adopt(const permit_task& task) {
  entry adopted{{take_number(task.seq), task.tenant, task.uses, task.priority}, task.owner};
  adopted.is = stage::spent;
  ++owners_[task.owner].out;
  tasks_.emplace(task.seq, std::move(adopted));
}

void permit_desk::queue(owner_state& owner, entry& task, sequence seq) {
  task.is = stage::queued;
  auto name = line_of(task.what);
  auto& line = owner.lines[name];
  line.queued.insert(place_of(task.what, seq));
  if (line.may_ask())
    owner.open_lines.insert(std::move(name));
}

void permit_desk::wait(const permit_task& task) {
  auto [at, is_new] =
    tasks_.emplace(task.seq, entry{{0, task.tenant, task.uses, task.priority}, task.owner});
  CODEQ_ASSERT(is_new);
  queue(owners_[task.owner], at->second, task.seq);
}

bool permit_desk::is_waiting(sequence seq) const {
  auto at = tasks_.find(seq);
  return at != tasks_.end() && at->second.is <= stage::asked;
}

bool permit_desk::has_permit(sequence seq) const {
  auto at = tasks_.find(seq);
  return at != tasks_.end() && at->second.is == stage::held;
}

std::size_t permit_desk::waiting_before(sequence seq) const {
  auto at = tasks_.find(seq);
  if (at == tasks_.end() || at->second.is != stage::queued)
    return 0;
  const auto& line = owners_.at(at->second.owner).lines.at(line_of(at->second.what));
  auto place = line.queued.find(place_of(at->second.what, seq));
  return line.asked.size() + static_cast<std::size_t>(std::distance(line.queued.begin(), place));
}

void permit_desk::give_back(owner_state& owner, permit_return what) {
  auto number = what.number;
  owner.returns.insert_or_assign(number, std::move(what));
}

void permit_desk::leave_line(owner_state& owner, const entry& task, sequence seq) {
  auto name = line_of(task.what);
  auto at = owner.lines.find(name);
  auto& line = at->second;
  if (task.is == stage::asked) {
    owner.asked.erase(task.what.number);
    line.asked.erase(place_of(task.what, seq));
  } else {
    line.queued.erase(place_of(task.what, seq));
  }
  if (line.may_ask())
    owner.open_lines.insert(name);
  else
    owner.open_lines.erase(name);
  if (line.queued.empty() && line.asked.empty())
    owner.lines.erase(at);
}

bool permit_desk::leave(sequence seq) {
  auto at = tasks_.find(seq);
  if (at == tasks_.end() || at->second.is > stage::asked)
    return false;
  auto& owner = owners_.at(at->second.owner);
  leave_line(owner, at->second, seq);
  if (at->second.is == stage::asked) {
    // It may have been booked already.
    give_back(owner, {at->second.what.number, {}, true});
    numbers_.erase(at->second.what.number);
    --owner.out;
  }
  tasks_.erase(at);
  return true;
}

void permit_desk::spend(sequence seq) {
  auto at = tasks_.find(seq);
  CODEQ_ASSERT(at != tasks_.end() && at->second.is == stage::held);
  unspent_.erase({at->second.until, seq});
  at->second.is = stage::spent;
}

void permit_desk::end(sequence seq) {
  auto at = tasks_.find(seq);
  CODEQ_ASSERT(at != tasks_.end() && at->second.is == stage::spent);
  auto& owner = owners_.at(at->second.owner);
  give_back(owner, {at->second.what.number, std::move(at->second.costs)});
  numbers_.erase(at->second.what.number);
  --owner.out;
  tasks_.erase(at);
  must_sync_ = true;
}

void permit_desk::settle(sequence seq, const task_limit& cost) {
  if (auto at = tasks_.find(seq); at != tasks_.end())
    at->second.costs.push_back(cost);
}

void permit_desk::close(shard_id owner, permit_closure closure) {
  owners_[owner].closures.push_back(std::move(closure));
}

void permit_desk::return_unspent(monotonic_time now) {
  while (!unspent_.empty() && unspent_.begin()->first <= now) {
    auto at = tasks_.find(unspent_.begin()->second);
    auto& owner = owners_.at(at->second.owner);
    give_back(owner, {at->second.what.number, {}, true});
    numbers_.erase(at->second.what.number);
    --owner.out;
    tasks_.erase(at);
    unspent_.erase(unspent_.begin());
  }
}

void permit_desk::note_heard(owner_state& owner, std::uint64_t heard, monotonic_time now) {
  if (!owner.is_awaiting || heard < owner.said)
    return;
  owner.is_awaiting = false;
  owner.look = now + ask_again;
  owner.is_listed = owner.is_listed || owner.was_list;
  for (auto number : std::exchange(owner.returns_said, {}))
    owner.returns.erase(number);
  auto& closures = owner.closures;
  closures.erase(
    closures.begin(),
    closures.begin() + static_cast<std::ptrdiff_t>(std::exchange(owner.closures_said, 0)));
}

std::vector<sequence> permit_desk::hear(const give_permits& said, monotonic_time now) {
  if (!is_open())
    return {};
  auto& owner = owners_[said.by];
  if (said.session != session_ || said.wants_list) {
    // An owner that asks an earlier process does not know what this one has.
    moved(said.by);
    return {};
  }
  note_heard(owner, said.heard, now);
  std::vector<sequence> admitted;
  for (auto number : said.given) {
    auto at = numbers_.find(number);
    if (at == numbers_.end()) {
      give_back(owner, {number, {}, true});
      continue;
    }
    auto seq = at->second;
    auto& task = tasks_.at(seq);
    if (task.is != stage::asked)
      continue;
    leave_line(owner, task, seq);
    task.is = stage::held;
    task.until = now + unspent_max;
    unspent_.emplace(task.until, seq);
    admitted.push_back(seq);
  }
  return admitted;
}

void permit_desk::moved(shard_id owner) {
  auto at = owners_.find(owner);
  if (at == owners_.end())
    return;
  at->second.is_listed = false;
  at->second.is_awaiting = false;
}

void permit_desk::recall(owner_state& owner, sequence seq) {
  auto& task = tasks_.at(seq);
  leave_line(owner, task, seq);
  --owner.out;
  numbers_.erase(task.what.number);
  queue(owner, task, seq);
}

void permit_desk::forget_asked(owner_state& owner) {
  for (auto number : std::set<permit_number>(owner.asked))
    recall(owner, numbers_.at(number));
}

bool permit_desk::has_news(const owner_state& owner) {
  bool may_ask = !owner.open_lines.empty() && owner.out < permits_per_owner_max;
  return !owner.is_listed || !owner.returns.empty() || !owner.closures.empty() || may_ask;
}

std::vector<permit_number> permit_desk::ask_further(owner_state& owner) {
  std::vector<permit_number> fresh;
  while (!owner.open_lines.empty() && owner.out < permits_per_owner_max
         && fresh.size() < message_permits_max) {
    auto name = *owner.open_lines.begin();
    auto& line = owner.lines.at(name);
    if (line.asked.size() >= asked_per_key_max) {
      auto last = line.asked.rbegin()->second;
      give_back(owner, {tasks_.at(last).what.number, {}, true});
      recall(owner, last);
    }
    auto first = line.queued.extract(line.queued.begin()).value();
    auto seq = first.second;
    auto& task = tasks_.at(seq);
    task.is = stage::asked;
    task.what.number = take_number(seq);
    owner.asked.insert(task.what.number);
    fresh.push_back(task.what.number);
    ++owner.out;
    line.asked.insert(first);
    if (!line.may_ask())
      owner.open_lines.erase(name);
  }
  return fresh;
}

ask_permits permit_desk::list_for(shard_id to) {
  ask_permits list;
  list.is_list = true;
  for (const auto& [seq, task] : tasks_)
    if (task.owner == to && task.is >= stage::held)
      list.held.push_back(task.what);
  return list;
}

ask_permits permit_desk::ask_for(owner_state& owner, bool again) {
  ask_permits asked;
  auto fresh = ask_further(owner);
  if (again)
    fresh.assign(owner.asked.begin(), owner.asked.end());
  for (auto number : fresh)
    asked.wanted.push_back(tasks_.at(numbers_.at(number)).what);
  return asked;
}

std::vector<permit_desk::letter> permit_desk::say(monotonic_time now) {
  std::vector<letter> letters;
  for (auto& [to, owner] : owners_) {
    bool is_late = owner.look <= now;
    if (owner.is_awaiting && !is_late)
      continue;
    bool again = is_late && !owner.asked.empty();
    if (!owner.is_awaiting && !again && !has_news(owner))
      continue;
    if (!owner.is_listed)
      forget_asked(owner);
    auto what = owner.is_listed ? ask_for(owner, again) : list_for(to);
    owner.returns_said.clear();
    for (const auto& [number, returned] : owner.returns) {
      if (what.returned.size() == message_permits_max)
        break;
      owner.returns_said.push_back(number);
      what.returned.push_back(returned);
    }
    what.closed = owner.closures;
    owner.closures_said = owner.closures.size();
    what.from = own_;
    what.session = session_;
    what.number = ++owner.said;
    owner.was_list = what.is_list;
    owner.is_awaiting = true;
    owner.look = now + answer_wait;
    letters.push_back({to, std::move(what)});
  }
  return letters;
}

std::optional<monotonic_time> permit_desk::next_look() const {
  std::optional<monotonic_time> next;
  if (!unspent_.empty())
    next = unspent_.begin()->first;
  for (const auto& [to, owner] : owners_)
    if (owner.is_awaiting || !owner.asked.empty())
      next = next ? std::min(*next, owner.look) : owner.look;
  return next;
}

} // namespace codeq::core
