// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_shard.hpp"

#include "base/tuning.hpp"
#include "core/state/epoch.hpp"
#include "core/state/task_index.hpp"
#include "sim/sim_session.hpp"
#include "sim/sim_store.hpp"
#include "storage/keys/keyspace.hpp"

#include <algorithm>
#include <utility>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

/// A shard that asks for a new epoch must get it within this time, even when the disk is slow.
constexpr virtual_time epoch_wait_max = 5s;

coordinator::shard_options options_of(const sim_shard::parts& made) {
  coordinator::shard_options options;
  options.state = made.state;
  options.shard_count = made.shard_count;
  options.board = made.board;
  // So small that bodies are often read back, and that turns are often full.
  options.cache_bytes = 600;
  options.turns.commands_max = 6;
  options.turns.bytes_max = 600;
  options.zones = sim_zones();
  options.may_have_lost = made.may_have_lost;
  return options;
}

bool is_skipped(const core::occurrence& entry) {
  return entry.state == occurrence_state::skipped_overlap
         || entry.state == occurrence_state::skipped_misfire;
}

} // namespace

sim_shard::sim_shard(world& all, process& home, parts made)
  : world_(all),
    home_(home),
    parts_(std::move(made)),
    box_(all, home),
    state_(*parts_.state),
    shard_time_(state_.at, all.steady(), all.wall()),
    shard_(options_of(parts_), *this, clock()) {
  // The segments of a simulation are small, and its retries come soon.
  core::paging_limits paging;
  paging.sparse_part = 2;
  paging.copied_wait_min = duration{0};
  state_.segments.set_limits(paging);
  parts_.audit->ticks().serves_since(state_.id, clock().shard);
  box_.send([this] { call([this] { shard_.start(clock()); }); });
}

instant sim_shard::clock() {
  return {world_.steady(), shard_time_.at(world_.steady(), world_.wall())};
}

void sim_shard::call(const std::function<void()>& what) {
  bool had_turn = shard_.has_turn();
  is_shown_ = false;
  what();
  show_decided();
  if (had_turn && !shard_.has_turn() && !is_shown_)
    parts_.audit->turn_sealed(state_, {});
  check_settled();
}

void sim_shard::show_decided() {
  if (deciding_ && shard_.waiting_commands() > waiting_.size())
    waiting_.add(*deciding_, core::named_keys_of(*deciding_).names);
  else if (deciding_)
    parts_.audit->asked(state_.id, *deciding_);
  deciding_ = nullptr;
  while (waiting_.size() > shard_.waiting_commands())
    parts_.audit->asked(state_.id, waiting_.take()->command);
}

void sim_shard::check_settled() {
  if (!core::is_epoch_spent(state_))
    epoch_spent_at_.reset();
  else if (!epoch_spent_at_)
    epoch_spent_at_ = world_.time.now();
  else if (world_.time.now() - *epoch_spent_at_ > epoch_wait_max)
    parts_.audit->breach("epoch", "a shard whose numbers run out gets no other epoch");
  if (!shard_.is_settled())
    return;
  for (const auto& [token, seq] : timers_)
    if (state_.leases.find(token) == nullptr)
      parts_.audit->breach("timers", "a lease that ended has a timer");
  for (const auto& [peer, told] : told_queues_)
    if (
      told.size() != state_.queue_index.size()
      || !std::all_of(told.begin(), told.end(), [this](const queue_address& queue) {
           return state_.queue_index.contains(queue);
         }))
      parts_.audit->breach("queues", "a watcher was told of other queues than there are");
  if (owed_.expired_leases != 0)
    parts_.audit->breach("notes", "a lease that expired was noted twice or not at all");
  if (owed_.skipped_occurrences != 0)
    parts_.audit->breach("notes", "a skipped occurrence was noted twice or not at all");
}

void sim_shard::stop() {
  call([this] { shard_.stop(clock()); });
}

void sim_shard::tell_queues(core::peer_id peer, coordinator::queues_added news) {
  for (const auto& queue : news.removed)
    told_queues_[peer].erase(queue);
  told_queues_[peer].insert(news.queues.begin(), news.queues.end());
}

void sim_shard::decide(const core::command& c) {
  if (const auto* left = std::get_if<core::release_worker>(&c))
    parts_.audit->worker_left(state_.id, *left->worker);
  if (const auto* by = std::get_if<core::replace_worker>(&c))
    parts_.audit->worker_replaced(state_.id, *by->worker);
  deciding_ = &c;
  call([&] { shard_.decide(c, clock()); });
  if (const auto* beats = std::get_if<core::heartbeat>(&c))
    for (const auto& beat : beats->beats)
      if (state_.leases.find(beat.token) != nullptr)
        parts_.audit->beat_taken(state_.id, beat.token, beat.queued);
}

void sim_shard::take(core::peer_id from, protocol::shard_request request) {
  auto command = shard_.read({from, std::move(request)}, clock());
  if (!command)
    return;
  auto* enqueue = std::get_if<core::enqueue>(&*command);
  if (enqueue && world_.is_disk_full && enqueue->allowed)
    parts_.audit->breach("disk", "tasks are taken though the disk is full");
  if (enqueue && world_.options.retention > duration{0}) {
    for (auto& run : enqueue->runs) {
      run.left_to_queue &= ~static_cast<std::uint16_t>(core::setting_bit::retention);
      run.settings.retention = world_.options.retention;
    }
  }
  decide(*command);
}

void sim_shard::attach(const coordinator::peer_attached& who, sim_session& session) {
  peers_.insert_or_assign(who.peer, &session);
  if (who.watches_queues)
    told_queues_[who.peer].clear();
  if (who.worker)
    check_replaced(*who.worker);
  call([&] { shard_.attach(who, clock()); });
}

void sim_shard::check_replaced(const worker_identity& by) {
  state_.leases.for_each_grant([&](const core::live_grant& grant) {
    if (grant.worker->name == by.name && grant.worker->incarnation != by.incarnation)
      parts_.audit->breach("lease", "a process that " + by.name + " replaced still has leases");
  });
}

void sim_shard::detach(core::peer_id peer) {
  peers_.erase(peer);
  told_queues_.erase(peer);
  call([&] { shard_.detach(peer, clock()); });
}

void sim_shard::close_turn() {
  // A snapshot needs many records; a few are enough by chance.
  if (shard_.has_turn() && state_.records_since_snapshot > 0 && world_.random.faults.hits(20))
    call([this] { shard_.decide(core::take_snapshot{}, clock()); });
  call([this] { shard_.close_turn(clock()); });
}

void sim_shard::keys_found(std::uint64_t number, std::vector<core::recalled_key> found) {
  waiting_.answer(number, found);
  call([&] { shard_.keys_found(number, std::move(found), clock()); });
}

void sim_shard::committed(std::uint64_t number) {
  call([&] { shard_.committed(number, clock()); });
}

void sim_shard::begin_epoch(std::uint32_t epoch) {
  shard_.begin_epoch(epoch);
}

void sim_shard::wake(std::uint64_t number) {
  call([&] { shard_.wake(number, clock()); });
}

void sim_shard::commit(coordinator::turn_commit turn, const std::vector<core::event>& events) {
  is_shown_ = true;
  show_decided();
  parts_.audit->turn_sealed(state_, events);
  count_owed_notes(events);
  parts_.journal->gather(*this, std::move(turn), events);
}

void sim_shard::raise_epoch() {
  parts_.journal->raise_epoch(*this, state_.id);
}

void sim_shard::count_owed_notes(const std::vector<core::event>& events) {
  for (const auto& e : events) {
    if (const auto* ended = std::get_if<core::leases_ended>(&e))
      owed_.expired_leases +=
        std::count_if(ended->ends.begin(), ended->ends.end(), [](const core::lease_end& end) {
          // A lease whose task was not started is not counted as a loss.
          return end.kind == core::lease_end_kind::timed_out
                 || (end.kind == core::lease_end_kind::expired && end.charged);
        });
    if (const auto* changed = std::get_if<core::schedule_changed>(&e))
      owed_.skipped_occurrences +=
        std::count_if(changed->entries.begin(), changed->entries.end(), is_skipped);
  }
}

void sim_shard::note_expired(const core::leases_expired& expired) {
  owed_.expired_leases -= static_cast<std::int64_t>(expired.count);
}

void sim_shard::note_occurrence(const core::occurrence_noted& noted, timestamp) {
  const auto& entry = noted.entry;
  if (is_skipped(entry))
    --owed_.skipped_occurrences;
  else if (entry.decided_at - entry.at < tuning::schedule_late_after)
    parts_.audit->breach("notes", "an occurrence that fired in time was noted");
}

void sim_shard::check_limit_noted(const core::enqueue_answered& answered) {
  auto code = answered.allowed ? errc::none : answered.allowed.error().code;
  auto noted = std::exchange(noted_limit_, {});
  if (code == errc::queue_full && noted != "max_depth")
    parts_.audit->breach("notes", "a task was refused, and the depth of its queue was not noted");
  if (code == errc::disk_full && noted != "free_bytes")
    parts_.audit->breach("notes", "a task was refused, and the full disk was not noted");
}

void sim_shard::reply(core::peer_id peer, protocol::peer_reply reply) {
  if (const auto* answered = std::get_if<core::enqueue_answered>(&reply))
    check_limit_noted(*answered);
  peers_.at(peer)->tell(coordinator::shard_reply{state_.id, std::move(reply)});
}

void sim_shard::show_grants(const core::tasks_granted& granted) {
  for (const auto& run : granted.runs)
    for (std::uint32_t i = 0; i < run.count; ++i)
      parts_.audit->grant_left(state_.id, static_cast<fencing_token>(value(run.first_token) + i));
}

void sim_shard::deliver(core::peer_id peer, coordinator::task_delivery tasks) {
  show_grants(tasks.granted);
  peers_.at(peer)->tell(std::move(tasks));
}

void sim_shard::fetch_bodies(core::peer_id peer, coordinator::bodies_wanted wanted) {
  show_grants(wanted.granted);
  parts_.reader->fetch(*peers_.at(peer), std::move(wanted));
}

void sim_shard::tell_credits(core::peer_id peer, const coordinator::credit_news& news) {
  peers_.at(peer)->tell(news);
}

void sim_shard::end_peer(core::peer_id peer, const error& reason) {
  if (auto at = peers_.find(peer); at != peers_.end())
    at->second->end_later(reason);
}

void sim_shard::answer_inquiry(core::peer_id peer, coordinator::stored_inquiry inquiry) {
  parts_.reader->answer(*peers_.at(peer), std::move(inquiry));
}

void sim_shard::list_stored(core::peer_id peer, coordinator::stored_list list) {
  parts_.reader->list(*peers_.at(peer), std::move(list));
}

void sim_shard::find_keys(coordinator::keys_wanted wanted) {
  parts_.reader->find(*this, std::move(wanted));
}

void sim_shard::read_survivors(coordinator::survivors_wanted wanted) {
  parts_.reader->read(*this, std::move(wanted));
}

bool sim_shard::may_hold_key(const task_key& name) {
  // A Bloom filter may err by claiming that a key exists.
  bool errs = world_.random.mailboxes.hits(100);
  return errs || parts_.reader->may_have(storage::key_key{state_.id, name}.encode());
}

void sim_shard::to_shard(shard_id to, core::command command) {
  auto& other = parts_.neighbour(to);
  other.box().send([&other, c = std::move(command)] { other.decide(c); });
}

bool sim_shard::make_timer(sequence seq, fencing_token token) {
  return timers_.emplace(token, seq).second;
}

void sim_shard::fire_timer(fencing_token token) {
  // Through the mailbox, as a message from the lease timer actor.
  if (auto timer = timers_.find(token); timer != timers_.end())
    box_.send([this, c = core::expire_lease{timer->second, token}] { decide(c); });
}

bool sim_shard::drop_timer(fencing_token token) {
  return timers_.erase(token) > 0;
}

void sim_shard::close_turn_soon() {
  box_.send([this] { close_turn(); });
}

void sim_shard::wake_after(duration wait, std::uint64_t number) {
  home_.after(wait, [this, number] { box_.send([this, number] { wake(number); }); });
}

const result<void>& sim_shard::check_disk(monotonic_time) {
  static const result<void> ok;
  static const result<void> full = error{errc::disk_full, "the simulated disk is full"};
  return world_.is_disk_full ? full : ok;
}

core::shard_state* sim_shard::settled_state() {
  return shard_.is_settled() ? &state_ : nullptr;
}

std::vector<task_id> sim_shard::blockers() const {
  std::map<std::pair<std::uint32_t, std::string>, task_id> found;
  state_.segments.for_each([&](const core::segment& s) {
    bool may_block = !s.group.empty() && s.view(s.first).state == task_state::dead;
    if (may_block && core::open_member(state_, s) == s.first)
      found.emplace(std::pair(s.queue, s.group), state_.id_of(s.first));
  });
  std::vector<task_id> tasks;
  for (const auto& [group, task] : found)
    tasks.push_back(task);
  return tasks;
}

} // namespace codeq::sim
