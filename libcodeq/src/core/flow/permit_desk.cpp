// SPDX-License-Identifier: Apache-2.0
#include "core/flow/permit_desk.hpp"

#include "base/assert.hpp"
#include "base/queue_maximum.hpp"
#include "core/commands/routing.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

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
  line_name name{what.tenant, {}};
  for (const auto& use : what.uses)
    name.second.emplace_back(use.name, use.key);
  return name;
}

permit_desk::place permit_desk::place_of(std::uint8_t priority, sequence seq) {
  return {
    static_cast<std::uint8_t>(std::numeric_limits<std::uint8_t>::max() - priority), seq};
}

held_task permit_desk::as_waiting(const entry& task, sequence seq) {
  return {task.awaited().what.priority, seq, task.turn.fairness_key};
}

bool permit_desk::line::may_ask() const {
  if (!queued.has_next())
    return false;
  return asked.size() < asked_max
         || place_of(queued.next_priority(), 0).first < asked.rbegin()->first;
}

permit_number permit_desk::next_number() {
  // Epochs, which are the sessions, have 24 bits.
  constexpr int counter_bits = 40;
  CODEQ_ASSERT(counter_ < (std::uint64_t{1} << counter_bits) - 1);
  return std::uint64_t{session_} << counter_bits | ++counter_;
}

void permit_desk::open_depth(
  std::uint32_t queue, const queue_address& name, std::uint64_t maximum, std::uint64_t depth) {
  auto owner = owner_elsewhere(name.tenant, {std::string(depth_limit), name.queue, 1});
  CODEQ_ASSERT(owner);
  const auto part = base::part_of_maximum(maximum, shard_count_);
  depths_.open(queue, {name, *owner, next_number(), maximum, part, depth});
}

permit_number permit_desk::take_number(sequence seq) {
  auto number = next_number();
  numbers_.emplace(number, seq);
  return number;
}

permit_desk::entry permit_desk::entry_of(const permit_task& task) {
  entry made;
  made.queue = task.queue;
  made.turn = task.turn;
  made.parts.reserve(task.shares.size());
  for (const auto& one : task.shares)
    made.parts.push_back({one.owner, {0, task.tenant, one.uses, task.priority}});
  return made;
}

void permit_desk::adopt(const permit_task& task) {
  auto adopted = entry_of(task);
  for (auto& one : adopted.parts) {
    one.what.number = take_number(task.seq);
    owners_[one.owner].count_out(one.what);
  }
  adopted.had = adopted.parts.size();
  adopted.is = stage::spent;
  having_.insert(task.seq);
  tasks_.emplace(task.seq, std::move(adopted));
}

std::set<permit_desk::line_name>& permit_desk::owner_state::open_of(const line_name& name) {
  return name.second.front().first == slot_limit ? open_slots : open_lines;
}

void permit_desk::owner_state::count_out(const permit& what) {
  if (is_slot(what))
    return;
  ++out;
  ++out_of_tenants[what.tenant];
}

void permit_desk::owner_state::discount_out(const permit& what) {
  if (is_slot(what))
    return;
  --out;
  if (auto at = out_of_tenants.find(what.tenant); --at->second == 0)
    out_of_tenants.erase(at);
}

bool permit_desk::owner_state::may_ask(const std::string& tenant) const {
  auto at = out_of_tenants.find(tenant);
  return at == out_of_tenants.end()
         || at->second < permits_per_owner_max - std::min(out, permits_per_owner_max);
}

std::set<permit_desk::line_name>::const_iterator
permit_desk::owner_state::next_tenant(const std::string& tenant) const {
  return open_lines.lower_bound({tenant + '\0', {}});
}

std::optional<permit_desk::line_name> permit_desk::owner_state::next_line() const {
  auto first_from = [&](auto at) -> std::optional<line_name> {
    while (at != open_lines.end() && !may_ask(at->first))
      at = next_tenant(at->first);
    return at == open_lines.end() ? std::nullopt : std::optional(*at);
  };
  auto next = first_from(open_lines.upper_bound(last_line));
  return next ? next : first_from(open_lines.begin());
}

std::set<std::string> permit_desk::owner_state::tenants_without_room() const {
  std::set<std::string> found;
  for (auto at = open_lines.begin(); at != open_lines.end(); at = next_tenant(at->first))
    if (!may_ask(at->first))
      found.insert(at->first);
  return found;
}

void permit_desk::note_line(owner_state& owner, const line_name& name, const line& of) {
  if (of.may_ask())
    owner.open_of(name).insert(name);
  else
    owner.open_of(name).erase(name);
  if (of.has_full_turns())
    owner.full_turns.insert(name);
  else
    owner.full_turns.erase(name);
}

void permit_desk::queue(entry& task, sequence seq) {
  task.is = stage::queued;
  const auto& what = task.awaited().what;
  auto& owner = owners_[task.awaited().owner];
  auto name = line_of(what);
  auto& line = owner.lines[name];
  line.asked_max = is_slot(what) ? slots_asked_max : asked_per_key_max;
  line.queued.insert(task.queue, as_waiting(task, seq));
  // An explanation names the queue's maximum by itself.
  if (!is_slot(what)) {
    if (idle_.contains(task.queue))
      line.queued.set_idle(task.queue, true);
    awaited_[task.queue].add(what.uses.front().name, what.uses.front().key);
  }
  note_line(owner, name, line);
}

void permit_desk::wait(const permit_task& task) {
  auto [at, is_new] = tasks_.emplace(task.seq, entry_of(task));
  CODEQ_ASSERT(is_new);
  queue(at->second, task.seq);
}

bool permit_desk::is_waiting(sequence seq) const {
  auto at = tasks_.find(seq);
  return at != tasks_.end() && at->second.is <= stage::asked;
}

bool permit_desk::has_permit(sequence seq) const {
  auto at = tasks_.find(seq);
  return at != tasks_.end() && at->second.is == stage::held;
}

const task_limit& permit_desk::awaited_use(sequence seq) const {
  return tasks_.at(seq).awaited().what.uses.front();
}

const awaited_keys& permit_desk::awaited_of(std::uint32_t queue) const {
  static const awaited_keys none;
  auto at = awaited_.find(queue);
  return at == awaited_.end() ? none : at->second;
}

std::vector<std::pair<shard_id, permit_desk::lines_of_owner::iterator>>
permit_desk::lines_of(std::uint32_t queue, const std::string& tenant) {
  std::vector<std::pair<shard_id, lines_of_owner::iterator>> found;
  for (const auto& [limit, of] : awaited_of(queue).limits())
    for (const auto& [key, tasks] : of.keys) {
      const auto owner = owner_elsewhere(tenant, {limit, key, 1});
      CODEQ_ASSERT(owner);
      line_name first{tenant, {}};
      first.second.emplace_back(limit, key);
      auto& lines = owners_.at(*owner).lines;
      // Tasks that need further keys of this owner have lines of their own behind it.
      for (auto at = lines.lower_bound(first); at != lines.end(); ++at) {
        const auto& [of_tenant, uses] = at->first;
        if (of_tenant != tenant || uses.front() != first.second.front())
          break;
        found.emplace_back(*owner, at);
      }
    }
  return found;
}

void permit_desk::recall_asked(std::uint32_t queue, const std::string& tenant) {
  std::vector<sequence> asked;
  for (const auto& [owner, at] : lines_of(queue, tenant))
    for (const auto& [priority, seq] : at->second.asked)
      if (tasks_.at(seq).queue == queue)
        asked.push_back(seq);
  for (auto seq : asked) {
    const auto& awaited = tasks_.at(seq).awaited();
    give_back(awaited.owner, {awaited.what.number, {}, true});
    recall(seq);
  }
}

void permit_desk::set_idle(
  std::uint32_t queue, const std::string& tenant, bool is_idle, monotonic_time now) {
  if (!awaited_.contains(queue) || idle_.contains(queue) == is_idle)
    return;
  if (is_idle) {
    recall_asked(queue, tenant);
    keep_none_of(queue, now);
    idle_.insert(queue);
  } else {
    idle_.erase(queue);
  }
  for (const auto& [owner, at] : lines_of(queue, tenant)) {
    at->second.queued.set_idle(queue, is_idle);
    note_line(owners_.at(owner), at->first, at->second);
  }
}

std::size_t permit_desk::waiting_before(sequence seq, const fair_terms_of& terms_of) const {
  if (!is_waiting(seq))
    return 0;
  const auto& task = tasks_.at(seq);
  const auto& awaited = task.awaited();
  const auto& line = owners_.at(awaited.owner).lines.at(line_of(awaited.what));
  if (task.is == stage::queued)
    return line.asked.size() + line.queued.before(task.queue, as_waiting(task, seq), terms_of);
  auto place = line.asked.find(place_of(awaited.what.priority, seq));
  return static_cast<std::size_t>(std::distance(line.asked.begin(), place));
}

void permit_desk::give_back(shard_id owner, permit_return what) {
  auto number = what.number;
  owners_[owner].returns.insert_or_assign(number, std::move(what));
}

void permit_desk::give_back_had(entry& task, sequence seq, bool is_unspent) {
  having_.erase(seq);
  for (std::size_t i = 0; i < task.had; ++i) {
    auto& one = task.parts[i];
    give_back(one.owner, {one.what.number, std::exchange(one.costs, {}), is_unspent});
    numbers_.erase(one.what.number);
    owners_.at(one.owner).discount_out(one.what);
  }
}

void permit_desk::leave_line(const entry& task, sequence seq) {
  const auto& what = task.awaited().what;
  auto& owner = owners_.at(task.awaited().owner);
  auto name = line_of(what);
  auto at = owner.lines.find(name);
  auto& line = at->second;
  if (task.is == stage::asked) {
    owner.asked.erase(what.number);
    line.asked.erase(place_of(what.priority, seq));
  } else {
    line.queued.erase(task.queue, as_waiting(task, seq));
  }
  note_line(owner, name, line);
  if (line.queued.empty() && line.asked.empty())
    owner.lines.erase(at);
  if (is_slot(what))
    return;
  auto awaited = awaited_.find(task.queue);
  awaited->second.remove(what.uses.front().name, what.uses.front().key);
  if (!awaited->second.limits().empty())
    return;
  idle_.erase(task.queue);
  awaited_.erase(awaited);
}

bool permit_desk::leave(sequence seq) {
  auto at = tasks_.find(seq);
  if (at == tasks_.end() || at->second.is > stage::asked)
    return false;
  auto& task = at->second;
  leave_line(task, seq);
  // A permit that is asked for may have been booked already.
  task.had += task.is == stage::asked ? 1 : 0;
  unspent_.erase({task.until, seq});
  give_back_had(task, seq, true);
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
  give_back_had(at->second, seq, false);
  tasks_.erase(at);
  must_sync_ = true;
}

void permit_desk::settle(sequence seq, const task_limit& cost) {
  auto at = tasks_.find(seq);
  if (at == tasks_.end())
    return;
  for (auto& one : at->second.parts)
    if (std::any_of(one.what.uses.begin(), one.what.uses.end(), [&](const task_limit& use) {
          return use.name == cost.name;
        }))
      one.costs.push_back(cost);
}

void permit_desk::close(shard_id owner, permit_closure closure, monotonic_time now) {
  if (closure.lasting > duration{0})
    closed_.insert(permit_recall{closure.tenant, closure.use.name, closure.use.key});
  const auto until = now + closure.lasting;
  owners_[owner].closures.push_back({std::move(closure), until});
}

void permit_desk::follow(const give_permits& said) {
  closed_.insert(said.recalled.begin(), said.recalled.end());
  auto& latest = owners_.at(said.by).recall;
  latest = std::max(latest, said.recall);
}

void permit_desk::drop_closed(monotonic_time now) {
  if (closed_.empty())
    return;
  const auto closed = std::exchange(closed_, {});
  closed_keys keys;
  std::set<std::pair<shard_id, std::string>> tenants;
  for (const auto& key : closed) {
    keys.emplace(key.tenant, key.limit, key.key);
    if (const auto owner = owner_elsewhere(key.tenant, {key.limit, key.key, 1}))
      tenants.emplace(*owner, key.tenant);
  }
  const auto is_closed = [&](const part& of) {
    return std::any_of(of.what.uses.begin(), of.what.uses.end(), [&](const task_limit& use) {
      return keys.contains({of.what.tenant, use.name, use.key});
    });
  };
  std::vector<sequence> unspent;
  for (const auto& [until, seq] : unspent_) {
    const auto& task = tasks_.at(seq);
    const auto had = task.parts.begin() + static_cast<std::ptrdiff_t>(task.had);
    if (std::any_of(task.parts.begin(), had, is_closed))
      unspent.push_back(seq);
  }
  for (auto seq : unspent)
    shorten(tasks_.at(seq), seq, now);
  for (const auto& [owner, tenant] : tenants)
    recall_closed(owner, tenant, keys);
}

void permit_desk::recall_closed(
  shard_id owner, const std::string& tenant, const closed_keys& keys) {
  const auto at = owners_.find(owner);
  if (at == owners_.end())
    return;
  const auto& lines = at->second.lines;
  std::vector<sequence> asked;
  for (auto line = lines.lower_bound({tenant, {}});
       line != lines.end() && line->first.first == tenant; ++line) {
    const auto& uses = line->first.second;
    const auto is_closed = std::any_of(uses.begin(), uses.end(), [&](const auto& use) {
      return keys.contains({tenant, use.first, use.second});
    });
    if (is_closed)
      for (const auto& [priority, seq] : line->second.asked)
        asked.push_back(seq);
  }
  for (auto seq : asked) {
    give_back(owner, {tasks_.at(seq).awaited().what.number, {}, true});
    recall(seq);
  }
}

void permit_desk::return_unspent(monotonic_time now) {
  drop_closed(now);
  while (!unspent_.empty() && unspent_.begin()->first <= now) {
    auto at = tasks_.find(unspent_.begin()->second);
    auto& task = at->second;
    unspent_.erase(unspent_.begin());
    give_back_had(task, at->first, true);
    if (task.is == stage::held) {
      if (is_slot_place(at->first))
        note_slot(task.queue, at->first, false);
      tasks_.erase(at);
      continue;
    }
    std::rotate(
      task.parts.begin(), task.parts.begin() + static_cast<std::ptrdiff_t>(task.had),
      task.parts.end());
    task.had = 0;
  }
}

std::set<sequence>
permit_desk::note_heard(shard_id by, std::uint64_t heard, monotonic_time now) {
  auto& owner = owners_.at(by);
  if (!owner.is_awaiting || heard < owner.said)
    return {};
  if (owner.is_silent(now))
    note_answering(by);
  const auto took = std::min(now - owner.unanswered_since, kept_max);
  owner.pace = std::max(took, owner.pace - owner.pace / 8);
  owner.is_awaiting = false;
  depths_.heard(by);
  for (auto queue : std::exchange(owner.slots_said, {})) {
    auto pool = pools_.find(queue);
    if (pool == pools_.end())
      continue;
    pool->second.is_unheard = false;
    changed_slots_.insert(queue);
  }
  owner.is_listed = owner.is_listed || owner.was_list;
  for (auto number : std::exchange(owner.returns_said, {}))
    owner.returns.erase(number);
  auto& closures = owner.closures;
  closures.erase(
    closures.begin(),
    closures.begin() + static_cast<std::ptrdiff_t>(std::exchange(owner.closures_said, 0)));
  return std::exchange(owner.keeping_said, {});
}

std::vector<sequence> permit_desk::hear(
  const give_permits& said, monotonic_time now, const rate_question& has_rate) {
  if (!is_open())
    return {};
  owners_.try_emplace(said.by);
  follow(said);
  if (said.session != session_ || said.wants_list) {
    // An owner that asks an earlier process does not know what this one has.
    moved(said.by);
    return {};
  }
  if (said.counts_slots != std::exchange(owners_.at(said.by).counts_slots, said.counts_slots))
    note_answering(said.by);
  const auto keeping = note_heard(said.by, said.heard, now);
  std::vector<sequence> admitted;
  for (auto number : said.given) {
    auto at = numbers_.find(number);
    if (at == numbers_.end()) {
      // The return of one that was spent, and is told again, stays as it is.
      owners_.at(said.by).returns.try_emplace(number, permit_return{number, {}, true});
      continue;
    }
    auto seq = at->second;
    auto& task = tasks_.at(seq);
    bool is_asked = task.is == stage::asked && task.awaited().what.number == number;
    bool has_all = is_asked && take(task, seq, now + time_to_keep(task, has_rate));
    if (has_all && is_slot_place(seq))
      note_slot(task.queue, seq, true);
    else if (has_all)
      admitted.push_back(seq);
  }
  note_not_given(said.by, keeping, now);
  return admitted;
}

duration permit_desk::time_to_keep(const entry& task, const rate_question& has_rate) const {
  const auto& come = task.awaited().what;
  for (const auto& use : come.uses)
    if (has_rate(come.tenant, use))
      return rate_unspent_max;
  duration needed{0};
  for (auto i = task.had + 1; i < task.parts.size(); ++i)
    needed += 2 * pace_of(task.parts[i].owner);
  // A queue's slot and the permit of its task wait for each other.
  if (is_slot(come) && awaited_.contains(task.queue))
    for (const auto& [shard, owner] : owners_)
      needed = std::max(needed, 2 * owner.pace);
  if (auto pool = pools_.find(task.queue); !is_slot(come) && pool != pools_.end())
    needed += 2 * pace_of(pool->second.owner);
  return std::clamp(needed, unspent_max, kept_max);
}

duration permit_desk::pace_of(shard_id owner) const {
  const auto at = owners_.find(owner);
  return at == owners_.end() ? duration{0} : at->second.pace;
}

void permit_desk::shorten(entry& task, sequence seq, monotonic_time until) {
  if (task.until <= until)
    return;
  unspent_.erase({task.until, seq});
  task.until = until;
  unspent_.emplace(until, seq);
}

void permit_desk::keep_none_longer(monotonic_time now) {
  const auto until = now + unspent_max;
  std::vector<sequence> late;
  for (auto at = unspent_.upper_bound({until, first_slot}); at != unspent_.end(); ++at)
    late.push_back(at->second);
  for (auto seq : late)
    shorten(tasks_.at(seq), seq, until);
}

void permit_desk::keep_none_of(std::uint32_t queue, monotonic_time now) {
  std::vector<sequence> unspent;
  for (const auto& [until, seq] : unspent_)
    if (!is_slot_place(seq) && tasks_.at(seq).queue == queue)
      unspent.push_back(seq);
  for (auto seq : unspent)
    shorten(tasks_.at(seq), seq, now);
}

void permit_desk::note_not_given(
  shard_id by, const std::set<sequence>& tasks, monotonic_time now) {
  for (auto seq : tasks) {
    auto at = tasks_.find(seq);
    if (at == tasks_.end() || at->second.is != stage::asked || at->second.had == 0)
      continue;
    // Its key is busy: what waits for one limit holds no slot of another.
    if (at->second.awaited().owner == by)
      shorten(at->second, seq, now);
  }
}

bool permit_desk::take(entry& task, sequence seq, monotonic_time until) {
  leave_line(task, seq);
  if (task.had++ == 0) {
    having_.insert(seq);
    task.until = until;
    unspent_.emplace(until, seq);
  }
  shorten(task, seq, until);
  if (task.had < task.parts.size()) {
    queue(task, seq);
    return false;
  }
  task.is = stage::held;
  return true;
}

void permit_desk::moved(shard_id owner) {
  depths_.moved(owner);
  auto at = owners_.find(owner);
  if (at == owners_.end())
    return;
  at->second.is_listed = false;
  at->second.is_awaiting = false;
  // It may be another version now.
  at->second.counts_slots = false;
  note_answering(owner);
}

void permit_desk::recall(sequence seq) {
  auto& task = tasks_.at(seq);
  leave_line(task, seq);
  auto& owner = owners_.at(task.awaited().owner);
  owner.discount_out(task.awaited().what);
  numbers_.erase(task.awaited().what.number);
  queue(task, seq);
  owner.lines.at(line_of(task.awaited().what))
    .queued.give_turn_back(task.queue, as_waiting(task, seq), std::exchange(task.charged, 0));
}

void permit_desk::forget_asked(const owner_state& owner) {
  for (auto number : std::set<permit_number>(owner.asked))
    recall(numbers_.at(number));
}

} // namespace codeq::core
