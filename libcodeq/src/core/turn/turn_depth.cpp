// SPDX-License-Identifier: Apache-2.0
#include "core/state/queue_depths.hpp"
#include "core/state/task_keys.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

/// Enqueues that wait for room in queues with a maximum depth, and the room that this shard gives
/// to others.
///
/// The shard that counts a queue's depth serves those that wait in the order in which they came.
/// When there is too little room for the first one, it recalls the unused room of all shards. What
/// does not fit after that is refused.
namespace codeq::core {

namespace {

/// Number of words about depths to other shards, after which a turn leaves the rest to the turns
/// that follow, apart from answers to what they said in it.
constexpr std::size_t depth_words_max = 4096;

/// It is too early for another recall.
bool is_recall_paused(const depth_book::count& count, monotonic_time now) {
  return count.recalled_at != monotonic_time{}
         && now < count.recalled_at + depth_book::recall_pause;
}

error too_late(const queue_state& queue) {
  return not_answered(
    errc::unavailable,
    queue,
    "the shard that counts its tasks did not answer within "
      + std::to_string(parked_enqueues::wait_max.count()) + " ms");
}

} // namespace

bool turn::is_depth_full(const depth_need& need) const {
  if (state_.permits.shard_count() == 1)
    return true;
  const auto& queue = *state_.queues[need.queue];
  if (has_quota(state_, need.queue)) {
    const auto& depths = state_.permits.depths();
    return depths.is_full(need.queue, lacking_room(need), now_.steady);
  }
  const auto* count = state_.depths.find(queue.address);
  return count && !count->is_recalling && is_recall_paused(*count, now_.steady);
}

std::uint64_t turn::lacking_room(const depth_need& need) const {
  if (has_quota(state_, need.queue))
    return state_.permits.depths().lacking(
      {need.queue, state_.queues[need.queue]->depth(), need.tasks}, now_.steady);
  const auto room = depth_room(state_, need.queue);
  return need.tasks - std::min(need.tasks, room);
}

result<std::optional<depth_need>>
turn::find_wait(const std::vector<depth_need>& needs, std::optional<std::uint32_t> first_of) const {
  for (const auto& need : needs) {
    const auto lacks_room = lacking_room(need) > 0;
    if (lacks_room && is_depth_full(need))
      return depth_full(need);
    const auto is_behind = first_of != need.queue && state_.parked.is_waiting(need.queue);
    if (lacks_room || is_behind)
      return std::optional(need);
  }
  return std::optional<depth_need>();
}

bool turn::is_short_of_room(const depth_need& need) const {
  return state_.queues[need.queue]->settings.config.max_depth != 0 && lacking_room(need) > 0;
}

error turn::depth_full(const depth_need& need) const {
  const auto& queue = *state_.queues[need.queue];
  auto is_any_silent = false;
  if (has_quota(state_, need.queue))
    is_any_silent = state_.permits.depths().is_any_silent(need.queue);
  else if (const auto* count = state_.depths.find(queue.address))
    is_any_silent = !count->silent.empty();
  return queue_full(queue, need.tasks, is_any_silent);
}

void turn::park(parked_enqueues::parked what, const depth_need& need) {
  // A request that finds no place here is sent again. It may find room then.
  if (!state_.parked.is_waiting(need.queue))
    want_room(need);
  const auto& queue = *state_.queues[need.queue];
  auto refused = not_answered(
    errc::overloaded, queue, "as many requests wait for that as the shard has room for");
  what.tasks = need.tasks;
  auto request = what.request;
  if (!state_.parked.park(need.queue, std::move(what)))
    refuse(request, refused);
}

void turn::want_room(const depth_need& need) {
  if (has_quota(state_, need.queue))
    return state_.permits.depths().want(need.queue, lacking_room(need));
  const auto& name = state_.queues[need.queue]->address;
  if (need.tasks > 0)
    state_.depths.ask(name, {state_.id, need.tasks, 0});
  else
    state_.depths.leave(name, state_.id);
}

bool turn::try_parked(std::uint32_t queue) {
  const auto& first = *state_.parked.first(queue);
  recall_again(state_, first.recalled);
  auto needs = check(first.request);
  auto wait = needs ? find_wait(*needs, queue) : result<std::optional<depth_need>>(needs.error());
  if (wait && *wait && (*wait)->queue == queue) {
    want_room(**wait);
    return false;
  }
  auto taken = state_.parked.take_first(queue);
  if (taken.is_stale)
    refuse(
      taken.request,
      not_answered(
        errc::overloaded, *state_.queues[queue], "its keys have to be read again"));
  else if (!wait)
    refuse(taken.request, wait.error());
  else if (*wait)
    park(std::move(taken), **wait);
  else
    add_and_answer(taken.request);
  return true;
}

void turn::admit_parked(std::uint32_t queue) {
  while (const auto* first = state_.parked.first(queue)) {
    if (body_bytes_ >= tuning::turn_bytes_max)
      return state_.parked.put_off();
    const depth_need need{queue, first->tasks};
    if (is_short_of_room(need) && !is_depth_full(need))
      return want_room(need);
    if (!try_parked(queue))
      return;
  }
  if (state_.queues[queue]->settings.config.max_depth != 0)
    want_room({queue, 0});
}

void turn::refuse_late() {
  for (auto queue : state_.parked.queues()) {
    auto late = state_.parked.take_if(
      queue, [&](const auto& one) { return one.until <= now_.steady; });
    for (const auto& one : late)
      refuse(one.request, too_late(*state_.queues[queue]));
    if (!late.empty())
      admit_parked(queue);
  }
}

void turn::settle_depths() {
  if (auto end = state_.parked.next_end(); end && *end <= now_.steady)
    refuse_late();
  state_.parked.begin_look();
  for (auto queue : state_.parked.queues())
    admit_parked(queue);
  for (const auto& name : state_.depths.take_abandoned())
    if (!state_.queue_index.contains(name))
      free_depths(name);
  for (const auto& name : state_.depths.waiting())
    if (depth_words_ < depth_words_max)
      settle_line(name);
}

void turn::settle_line(const queue_address& name) {
  auto at = state_.queue_index.find(name);
  bool is_counted = at != state_.queue_index.end()
                    && state_.queues[at->second]->settings.config.max_depth != 0
                    && !has_quota(state_, at->second);
  if (!is_counted)
    return state_.depths.drop(name);
  const auto queue = at->second;
  serve_line(queue);
  auto* count = state_.depths.find(name);
  if (!count || count->line.empty())
    return;
  if (!count->is_recalling && is_recall_paused(*count, now_.steady))
    return close_line(queue);
  if (!count->is_recalling)
    begin_recall(queue, *count);
  if (count->is_recall_over(now_.steady))
    end_recall(queue, *count);
  else if (count->recall_again <= now_.steady)
    recall_room(queue, *count);
}

void turn::serve_line(std::uint32_t queue) {
  const auto name = state_.queues[queue]->address;
  while (const auto* count = state_.depths.find(name)) {
    if (count->line.empty() || count->line.front().wants > depth_room(state_, queue))
      return;
    serve(queue, count->line.front());
  }
}

void turn::serve(std::uint32_t queue, depth_book::asking first) {
  const auto& name = state_.queues[queue]->address;
  // The next request of the same shard waits behind those of others.
  state_.depths.leave(name, first.asker);
  if (first.asker == state_.id)
    return admit_parked(queue);
  if (first.wants <= depth_room(state_, queue))
    return give_room(queue, first);
  auto& said = depth_grant_for(name, first.asker);
  said.answer = depth_answer::full;
  said.ask = first.ask;
  said.left = depth_room(state_, queue);
  const auto* count = state_.depths.find(name);
  said.is_any_silent = count && !count->silent.empty();
}

void turn::close_line(std::uint32_t queue) {
  const auto* count = state_.depths.find(state_.queues[queue]->address);
  for (const auto& one : std::vector<depth_book::asking>(count->line))
    serve(queue, one);
}

void turn::give_room(std::uint32_t queue, const depth_book::asking& to) {
  const auto& name = state_.queues[queue]->address;
  auto known = *state_.depths.find(name, to.asker);
  const auto room = depth_room(state_, queue);
  const auto share = room / (2 * std::uint64_t{state_.permits.shard_count()});
  const auto given = std::max(to.wants, std::min(share, depth_book::grant_max));
  known.booked += given;
  known.granted += given;
  book_depth(name, to.asker, known);
  has_given_room_ = true;
  auto& said = depth_grant_for(name, to.asker);
  said.answer = depth_answer::none;
  said.ask = to.ask;
}

void turn::book_depth(
  const queue_address& name, shard_id asker, const depth_book::booking& what) {
  permits_changed change;
  permit booked{what.life, name.tenant, {{std::string(depth_limit), name.queue, 1}}};
  booked.booked = what.booked;
  booked.granted = what.granted;
  change.booked.push_back(std::move(booked));
  if (const auto* known = state_.depths.find(name, asker); known && known->life != what.life)
    change.freed.push_back(known->life);
  change_permit(asker, std::move(change));
}

depth_grant& turn::depth_grant_for(const queue_address& name, shard_id asker) {
  auto [at, is_new] = depths_given_[asker].try_emplace(name);
  auto& said = at->second;
  said.queue = name;
  depth_words_ += is_new ? 1 : 0;
  if (const auto* known = state_.depths.find(name, asker)) {
    said.life = known->life;
    said.granted = known->granted;
  }
  return said;
}

void turn::begin_recall(std::uint32_t queue, depth_book::count& count) {
  count.is_recalling = true;
  count.recall = state_.depths.next_recall(state_.epoch);
  count.recall_until = now_.steady + depth_book::recall_wait;
  count.silent_until = now_.steady + depth_book::silent_wait;
  count.unanswered.clear();
  for (std::uint16_t i = 0; i < state_.permits.shard_count(); ++i) {
    auto known = count.booked.find(shard_id{i});
    bool may_have_room =
      known == count.booked.end() || known->second.booked > 0 || count.is_doubtful;
    if (may_have_room && shard_id{i} != state_.id)
      count.unanswered.insert(shard_id{i});
  }
  recall_room(queue, count);
}

void turn::recall_room(std::uint32_t queue, depth_book::count& count) {
  count.recall_again = now_.steady + depth_book::recall_again;
  for (auto asker : count.unanswered)
    depth_grant_for(state_.queues[queue]->address, asker).recall = count.recall;
}

void turn::end_recall(std::uint32_t queue, depth_book::count& count) {
  count.is_recalling = false;
  count.recalled_at = now_.steady;
  count.are_all_asked = true;
  count.is_doubtful = false;
  count.silent.merge(std::exchange(count.unanswered, {}));
  close_line(queue);
}

void turn::take_level(shard_id from, const depth_level& level) {
  auto at = state_.queue_index.find(level.queue);
  const auto maximum =
    at == state_.queue_index.end() ? 0 : state_.queues[at->second]->settings.config.max_depth;
  if (maximum != 0) {
    note_level(from, level);
    state_.depths.note_answer(level.queue, from, level.recall);
  }
  // One of the shards has not heard of the latest maximum.
  if (maximum == 0 || maximum != level.maximum)
    return say_uncounted(from, level);
  const auto under_way = state_.depths.find(level.queue, from)->granted - level.granted;
  if (level.wants == 0)
    return state_.depths.leave(level.queue, from);
  if (under_way < level.wants || !is_within_maximum(state_, at->second))
    return state_.depths.ask(level.queue, {from, level.wants, level.ask});
  // The grant for it was not heard.
  state_.depths.leave(level.queue, from);
  depth_grant_for(level.queue, from).ask = level.ask;
}

void turn::say_uncounted(shard_id from, const depth_level& level) {
  state_.depths.leave(level.queue, from);
  if (level.wants == 0)
    return;
  auto& said = depth_grant_for(level.queue, from);
  said.life = level.life;
  said.answer = depth_answer::uncounted;
  said.ask = level.ask;
}

void turn::note_level(shard_id from, const depth_level& level) {
  const auto* known = state_.depths.find(level.queue, from);
  depth_book::booking now{level.life, level.level, level.granted};
  if (known && known->life == level.life) {
    now.granted = std::max(known->granted, level.granted);
    now.booked += now.granted - level.granted;
    if (now.booked == known->booked && now.granted == known->granted)
      return;
  }
  // A lower booking that gets lost is safe; a higher one is not.
  has_given_room_ = has_given_room_ || !known || now.booked > known->booked;
  book_depth(level.queue, from, now);
}

void turn::hear_depths(const give_permits& said) {
  auto& desk = state_.permits.depths();
  for (const auto& one : said.depths) {
    auto at = state_.queue_index.find(one.queue);
    if (at == state_.queue_index.end() || !desk.has_quota(at->second))
      continue;
    if (desk.hear(at->second, one, now_.steady))
      return_room(at->second);
  }
  if (!said.counts_depths)
    desk.note_uncounted(said.by, now_.steady);
}

void turn::return_room(std::uint32_t queue) {
  if (!state_.permits.depths().lower(queue, state_.queues[queue]->depth()))
    return;
  state_.permits.sync_turn();
  synced_queue_ = queue;
}

void turn::free_depths(const queue_address& name) {
  const auto* count = state_.depths.find(name);
  if (!count)
    return;
  for (const auto& [asker, booked] : std::map<shard_id, depth_book::booking>(count->booked)) {
    permits_changed change;
    change.freed.push_back(booked.life);
    change_permit(asker, std::move(change));
  }
  state_.depths.drop(name);
}

} // namespace codeq::core
