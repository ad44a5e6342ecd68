// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/tick_book.hpp"

#include "protocol/frame.hpp"
#include "protocol/schedule_convert.hpp"
#include "task.capnp.h"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view payload_mark = "tick-";

/// A turn is not open for longer.
constexpr duration turn_span_max = 50ms;
/// How far ahead ticks are looked for; longer than the longest pause between two.
constexpr duration ahead = 20s;
/// A tick fires at the latest this long after its time, or after the start of its shard. A full
/// disk holds it up.
constexpr duration late_max = 3s;

std::size_t wish_in(std::string_view payload) {
  return std::stoul(std::string(payload.substr(payload_mark.size())));
}

bool is_fired(const core::occurrence& entry) {
  switch (entry.state) {
  case occurrence_state::running:
  case occurrence_state::completed:
  case occurrence_state::dead:
  case occurrence_state::cancelled:
  case occurrence_state::ended:
    return true;
  case occurrence_state::skipped_overlap:
  case occurrence_state::skipped_misfire:
  case occurrence_state::waiting:
    break;
  }
  return false;
}

/// The name of a schedule that a command may change.
const schedule_address* changed_by(const core::command& c) {
  return std::visit(
    []<class Command>(const Command& x) -> const schedule_address* {
      if constexpr (
        std::is_same_v<Command, core::set_schedule>
        || std::is_same_v<Command, core::change_schedule>)
        return &x.name;
      else
        return nullptr;
    },
    c);
}

} // namespace

void tick_book::breach(
  const std::string& rule, const schedule_address& name, const std::string& what) {
  if (checking_)
    breach_(rule, "schedule " + name.name + " " + what);
}

std::string tick_book::remember(const tick_wish& wish) {
  wishes_.push_back(wish);
  return std::string(payload_mark) + std::to_string(wishes_.size() - 1);
}

bool tick_book::is_tick(std::string_view payload) {
  return payload.starts_with(payload_mark);
}

bool tick_book::cancels(const std::string& payload) const {
  return wishes_.at(wish_in(payload)).overlap == overlap_policy::cancel_previous;
}

std::uint64_t tick_book::change_asked(const schedule_address& name) {
  paused_.erase(name);
  return ++asked_[name];
}

void tick_book::pause_answered(const schedule_address& name, std::uint64_t number) {
  if (asked_[name] == number)
    paused_.insert(name);
}

std::string tick_book::clock_of(std::size_t wish) const {
  const auto& rule = wishes_.at(wish).rule;
  return rule.is_period ? "period" : rule.zone;
}

std::vector<schedule_address> tick_book::names() const {
  std::vector<schedule_address> known;
  for (const auto& [name, of] : views_)
    known.push_back(name);
  return known;
}

void tick_book::asked(shard_id shard, const core::command& c) {
  if (const auto* name = changed_by(c))
    changed_[shard].insert(*name);
}

void tick_book::follow(
  shard_id shard, const std::vector<core::event>& events, timestamp sealed_at) {
  // Most runs have no schedules.
  if (wishes_.empty())
    return;
  shard_ = shard;
  turn_ = {};
  turn_.changed = std::exchange(changed_[shard], {});
  for (const auto& e : events) {
    if (const auto* added = std::get_if<core::segment_appended>(&e))
      note(*added);
    if (const auto* sent = std::get_if<core::follow_ups_sent>(&e))
      note(*sent);
  }
  for (const auto& e : events)
    if (const auto* changed = std::get_if<core::schedule_changed>(&e))
      read(*changed);
  for (const auto& task : turn_.tasks)
    arrive(task);
  if (checking_)
    check_due(shard, sealed_at);
}

void tick_book::rebuild(const std::vector<std::pair<shard_id, core::event>>& durable) {
  checking_ = false;
  views_.clear();
  done_.clear();
  started_.clear();
  arrived_.clear();
  changed_.clear();
  for (const auto& [shard, e] : durable)
    follow(shard, {e}, {});
  checking_ = true;
}

namespace {

/// Schedule, nominal time and payload of a task of a schedule.
struct body_text {
  std::string schedule;
  std::string nominal;
  std::string payload;
};

body_text text_of(const bytes& body) {
  auto parsed = protocol::frame<schema::TaskBody>::parse(body);
  if (!parsed)
    throw std::runtime_error("a broken body");
  auto text = parsed->read([](auto from) -> result<body_text> {
    body_text found;
    auto payload = from.getPayload().asChars();
    found.payload.assign(payload.begin(), payload.size());
    for (auto header : from.getHeaders()) {
      std::string_view name(header.getName().begin(), header.getName().size());
      if (name == protocol::schedule_header)
        found.schedule = header.getValue().cStr();
      if (name == protocol::nominal_time_header)
        found.nominal = header.getValue().cStr();
    }
    return found;
  });
  return *text;
}

} // namespace

void tick_book::note(const core::segment_appended& e) {
  auto seq = e.first;
  for (const auto& piece : e.pieces)
    for (std::size_t i = 0; i < piece.count(); ++i, ++seq) {
      auto text = text_of(piece.part(i, 1).body);
      if (is_tick(text.payload))
        bodies_[{shard_, seq}] = {text.schedule, text.nominal, wish_in(text.payload)};
    }
  for (seq = e.first; seq < e.first + e.count; ++seq)
    if (bodies_.contains({shard_, seq}))
      turn_.tasks.push_back({shard_, seq});
}

void tick_book::note(const core::follow_ups_sent& e) {
  turn_.sent.insert(e.position);
  std::vector<occurrence_name> found;
  for (const auto& task : e.tasks) {
    auto text = text_of(task.run.tasks.body);
    if (is_tick(text.payload))
      found.push_back({text.schedule, text.nominal, wish_in(text.payload)});
  }
  if (!found.empty())
    sent_bodies_[{shard_, e.position}] = std::move(found);
}

void tick_book::arrive(const task_id& task) {
  const auto& who = bodies_.at(task);
  auto count = ++arrived_[who];
  if (count > started_[who])
    breach(
      "schedule task", {"default", who.schedule},
      who.nominal + " has " + std::to_string(count) + " tasks, and fired "
        + std::to_string(started_[who]) + " times");
}

void tick_book::delivered(const task_id& task) {
  auto who = bodies_.find(task);
  if (who == bodies_.end())
    return;
  auto home = homes_.find(who->second.schedule);
  // Other shards add the task once more when a power cut takes it from them.
  bool may_be_another = home == homes_.end() || home->second != task.shard
                        || wishes_[who->second.wish].has_key
                        || by_hand_.contains({who->second.schedule, who->second.nominal});
  if (may_be_another)
    return;
  auto first = delivered_.try_emplace(who->second, task).first;
  if (first->second != task)
    breach(
      "doubled", {"default", who->second.schedule},
      who->second.nominal + " was delivered as two tasks");
  if (!disk_.is_synced(task))
    breach(
      "schedule sync", {"default", who->second.schedule},
      who->second.nominal + " was delivered before its record was synced");
}

void tick_book::check_due(shard_id shard, timestamp now) {
  if (since_[shard] + late_max > now)
    return;
  for (const auto& [name, of] : views_) {
    bool is_awaited = of.shard == shard && !of.progress.paused && of.next;
    if (is_awaited && *of.next + late_max < now)
      breach("missed", name, "does not fire, though it is due");
  }
}

std::string tick_book::missing() const {
  std::string text;
  for (const auto& [who, count] : started_) {
    auto arrived = arrived_.find(who);
    bool is_whole = arrived != arrived_.end() && arrived->second == count;
    if (!is_whole && !wishes_[who.wish].has_key)
      text += "schedule " + who.schedule + ": no task of " + who.nominal + " arrived\n";
  }
  return text;
}

void tick_book::read(const core::schedule_changed& e) {
  homes_[e.name.name] = shard_;
  auto known = views_.find(e.name);
  auto old = known == views_.end() ? view{} : known->second;
  if (known != views_.end()) {
    check_times(e, old);
    check_pause(e, old);
  }
  auto now = old;
  now.shard = shard_;
  now.progress = e.progress;
  if (e.definition) {
    auto spec = protocol::read_spec(*e.definition);
    if (!spec)
      throw std::runtime_error(to_string(spec.error()));
    now.wish = wish_in(std::string(spec->task.payload));
  }
  if (known == views_.end())
    old.wish = now.wish;
  take_entries(e, old, now);
  if (e.is_removed) {
    views_.erase(e.name);
    return;
  }
  auto next = wishes_[now.wish].rule.after(now.progress.mark, e.at + ahead);
  now.next = next.empty() ? std::nullopt : std::optional{next.front().due};
  if (turn_.changed.contains(e.name))
    check_mark(e, now);
  views_.insert_or_assign(e.name, std::move(now));
}

void tick_book::take_entries(const core::schedule_changed& e, const view& old, view& now) {
  for (const auto& entry : e.entries) {
    bool is_new = entry.number >= old.progress.occurrences;
    if (is_fired(entry) && !now.started.contains(entry.number))
      start(e, entry, now);
    bool is_handled = is_fired(entry) || entry.state == occurrence_state::waiting;
    if (!is_new || !is_handled || entry.cause != occurrence_cause::due)
      continue;
    auto body = body_of(e, entry);
    auto clock = clock_of(body ? body->wish : old.wish);
    if (!done_[{e.name, clock}].insert(entry.nominal).second)
      breach("doubled", e.name, "fired " + schedule::to_string(entry.nominal) + " twice");
  }
}

std::optional<tick_book::occurrence_name>
tick_book::body_of(const core::schedule_changed& e, const core::occurrence& entry) const {
  auto nominal = schedule::to_string(entry.nominal);
  auto is_it = [&](const occurrence_name& who) {
    return who.schedule == e.name.name && who.nominal == nominal;
  };
  if (auto own = bodies_.find({entry.shard, entry.task}); own != bodies_.end())
    return is_it(own->second) ? std::optional{own->second} : std::nullopt;
  for (const auto& open : e.progress.open) {
    auto sent = sent_bodies_.find({shard_, open.sent});
    if (open.entry.number != entry.number || sent == sent_bodies_.end())
      continue;
    auto found = std::find_if(sent->second.begin(), sent->second.end(), is_it);
    if (found != sent->second.end())
      return *found;
  }
  return std::nullopt;
}

void tick_book::start(const core::schedule_changed& e, const core::occurrence& entry, view& of) {
  of.started.insert(entry.number);
  ++fired_;
  check_write(e, entry);
  auto nominal = schedule::to_string(entry.nominal);
  ++started_[body_of(e, entry).value_or(occurrence_name{e.name.name, nominal, of.wish})];
  if (entry.cause != occurrence_cause::due)
    by_hand_.emplace(e.name.name, nominal);
}

void tick_book::check_write(const core::schedule_changed& e, const core::occurrence& entry) {
  const auto& open = e.progress.open;
  auto sent = std::find_if(open.begin(), open.end(), [&](const core::open_occurrence& each) {
    return each.entry.number == entry.number && each.sent != 0;
  });
  bool is_sent = sent != open.end();
  bool is_there =
    is_sent ? turn_.sent.contains(sent->sent)
            : std::count(turn_.tasks.begin(), turn_.tasks.end(), task_id{shard_, entry.task}) == 1;
  if (!is_there || !body_of(e, entry))
    breach(
      "one write", e.name,
      "fired " + schedule::to_string(entry.nominal) + " without its task in the same write");
}

void tick_book::check_pause(const core::schedule_changed& e, const view& old) {
  for (const auto& entry : e.entries) {
    bool is_decided = entry.cause == occurrence_cause::due && is_fired(entry)
                      && !old.started.contains(entry.number);
    bool is_paused = old.progress.paused && !turn_.changed.contains(e.name);
    if (is_decided && (is_paused || paused_.contains(e.name)))
      breach("paused", e.name, "fired " + schedule::to_string(entry.nominal) + " while paused");
  }
}

void tick_book::check_times(const core::schedule_changed& e, const view& old) {
  // A history keeps no more entries of a turn.
  bool is_whole = e.progress.occurrences - old.progress.occurrences <= limits::schedule_history_max;
  if (!checking_ || !is_whole)
    return;
  bool is_changed = e.is_removed || turn_.changed.contains(e.name);
  auto all = wishes_[old.wish].rule.after(old.progress.mark, e.at + ahead);
  std::size_t i = 0;
  for (const auto& entry : e.entries) {
    if (entry.cause != occurrence_cause::due || entry.number < old.progress.occurrences)
      continue;
    auto last = i + entry.count - 1;
    bool is_next = last < all.size() && all[last].nominal == entry.nominal;
    // The schedule may have been changed before the occurrence.
    if (!is_next && is_changed)
      return;
    if (!is_next)
      return breach(
        "schedule", e.name, "decided about " + schedule::to_string(entry.nominal)
                              + ", which is not the next time");
    if (all[last].due != entry.at || entry.decided_at < entry.at)
      breach("I5", e.name, "fired " + schedule::to_string(entry.nominal) + " at a wrong time");
    if (!is_changed) {
      check_missed(e, entry, all, i);
      check_overlap(e, entry, old);
    }
    i = last + 1;
  }
  auto mark = i == 0 ? old.progress.mark : all[i - 1].nominal;
  if (!is_changed && e.progress.mark != mark)
    breach("missed", e.name, "moved on without the occurrences that it passed");
  bool is_passed = i < all.size() && all[i].due + turn_span_max < e.at;
  if (is_changed && !old.progress.paused && is_passed && !is_held_)
    breach("missed", e.name, "was changed before it fired what was due");
}

void tick_book::check_missed(
  const core::schedule_changed& e, const core::occurrence& entry, const std::vector<tick>& all,
  std::size_t first) {
  const auto& wish = wishes_[views_.at(e.name).wish];
  auto since = since_[shard_];
  auto newest_missed =
    std::find_if(all.begin(), all.end(), [&](const tick& each) { return each.due >= since; });
  for (auto i = first; i < first + entry.count; ++i) {
    const auto& each = all[i];
    auto what = schedule::to_string(each.nominal);
    bool is_missed = each.due < since;
    bool is_within = each.due >= since - wish.catch_up;
    bool is_newest = is_missed && all.begin() + static_cast<std::ptrdiff_t>(i) + 1 == newest_missed;
    bool is_wanted = wish.misfire == misfire_policy::all
                     || (wish.misfire == misfire_policy::latest && is_newest);
    bool may_fire = !is_missed || (is_within && is_wanted);
    bool is_skipped = entry.state == occurrence_state::skipped_misfire;
    if (is_skipped && may_fire)
      breach("missed", e.name, "skipped " + what + ", which was within its window");
    if (!is_skipped && !may_fire)
      breach("catch-up", e.name, "fired " + what + ", which was missed");
  }
}

void tick_book::check_overlap(
  const core::schedule_changed& e, const core::occurrence& entry, const view& old) {
  if (entry.state == occurrence_state::skipped_misfire)
    return;
  const bool is_allowed = wishes_[old.wish].overlap == overlap_policy::allow;
  bool has_ended = false;
  bool has_begun = old.progress.waiting.has_value();
  for (const auto& other : e.entries) {
    bool is_old = other.number < old.progress.occurrences;
    has_ended = has_ended || (is_old && other.ended_at != timestamp{});
    bool is_before = !is_old && other.number < entry.number;
    bool may_run = is_fired(other) || other.state == occurrence_state::waiting;
    has_begun = has_begun || (is_before && may_run);
  }
  const auto& open = old.progress.open;
  auto running = std::count_if(open.begin(), open.end(), [](const core::open_occurrence& each) {
    return each.entry.cause == occurrence_cause::due;
  });
  if (is_fired(entry) && !is_allowed && running > 0 && !has_ended)
    breach("overlap", e.name, "fired while the occurrence before had not ended");
  if (!is_fired(entry) && (is_allowed || (running == 0 && !has_begun)))
    breach("overlap", e.name, "held an occurrence back without one before it");
}

void tick_book::check_mark(const core::schedule_changed& e, const view& now) {
  if (!checking_ || now.progress.paused)
    return;
  const auto& rule = wishes_[now.wish].rule;
  if (now.next && *now.next + turn_span_max < e.at && !is_held_)
    breach("schedule", e.name, "would fire times from before it was set or resumed");
  for (const auto& each : rule.between(e.at + duration{1}, e.at + ahead))
    if (each.nominal <= now.progress.mark)
      breach("missed", e.name, "passes over " + schedule::to_string(each.nominal));
}

} // namespace codeq::sim
