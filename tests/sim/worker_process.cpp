// SPDX-License-Identifier: Apache-2.0
#include "sim/worker_process.hpp"

#include "sim/workload.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace codeq::sim {

namespace {

using worker::lease_key;
using worker::lease_phase;
using namespace std::chrono_literals;

template <class T>
T or_throw(result<T> r) {
  if (!r)
    throw std::runtime_error("worker: " + to_string(r.error()));
  return std::move(*r);
}

/// The names of follow-ups begin with it.
const std::string follow_up_mark = "f-";

/// How many tasks to hold at a time; often the one that makes every credit count.
std::size_t some_window(chance& random) {
  return random.hits(200) ? 1 : static_cast<std::size_t>(random.between(1, 12));
}

} // namespace

worker_process::worker_process(world& all, network& net, parts made)
  : world_(all),
    parts_(std::move(made)),
    process_(all),
    link_(all, net, process_),
    claims_(some_window(all.random.handlers), 1),
    outbox_(1),
    batch_tasks_(static_cast<std::size_t>(all.random.handlers.between(0, 3))),
    slots_(static_cast<std::size_t>(all.random.handlers.between(1, 6))) {
  auto drift = world_.options.drift_permille;
  clock_permille_ += world_.random.handlers.between(-drift, drift);
  is_zombie_ = world_.random.faults.hits(world_.options.zombies);
  world_.say("worker starts " + parts_.identity.name);
  link_.start(
    worker::make_hello(parts_.identity, "default", parts_.queues),
    {[this](std::size_t shards, std::uint64_t) { link_up(shards); },
     [this] { link_down(); },
     [this](const protocol::wire_frame& frame) { take(frame); },
     [this](errc) { crash(); }});
}

monotonic_time worker_process::now() const {
  auto passed = world_.steady().time_since_epoch().count() * clock_permille_ / 1000;
  return monotonic_time{duration{passed}};
}

void worker_process::after(duration wait, timeline::action what) {
  process_.after(virtual_time{wait.count() * 1'000'000 / clock_permille_}, std::move(what));
}

void worker_process::crash() {
  process_.kill();
  if (auto link = link_.current())
    link->cut(world_.random.faults.hits(300));
  world_.say("worker dies " + parts_.identity.name);
}

void worker_process::link_up(std::size_t shards) {
  resuming_.clear();
  owed_.clear();
  outbox_.resend(only_link);
  for (const auto& batch : outbox_.take(only_link))
    link_.send(worker::make_results(batch));
  auto held = book_.beat_all(only_link, now());
  // Ascending, so that the same run gives the same bytes.
  std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  std::set<fencing_token> tokens;
  cancels_owed_.clear();
  for (const auto& line : held) {
    tokens.insert(line.key.token);
    if (parts_.audit->is_cancel_owed({line.key.shard, line.key.token}))
      cancels_owed_.insert(line.key);
  }
  for (std::size_t i = 0; i < shards; ++i) {
    auto shard = static_cast<shard_id>(i);
    resuming_.insert(shard);
    owed_[shard] = parts_.audit->owed_to(parts_.identity, shard, tokens);
  }
  for (const auto& request : worker::make_resumes(held, shards))
    link_.send(request);
  send_beats(std::move(held));
  for (const auto& [key, line] : saved_)
    if (!told_saved_.contains(key) && book_.find(key) != nullptr)
      send_checkpoint(key, line);
}

void worker_process::link_down() {
  resuming_.clear();
  claims_.close(only_link);
}

void worker_process::take(const protocol::wire_frame& frame) {
  auto handled = protocol::visit_frame(frame, [this]<class S>(const protocol::frame<S>& m) {
    if constexpr (std::is_same_v<S, schema::TaskBatch>)
      take_tasks(m);
    else if constexpr (std::is_same_v<S, schema::ResultReply>)
      take_answers(m);
    else if constexpr (std::is_same_v<S, schema::LeasesLost>)
      take_losses(m);
    else if constexpr (std::is_same_v<S, schema::CancelNotice>)
      take_cancel(m);
    else if constexpr (std::is_same_v<S, schema::ResumeReply>)
      take_resumed(m);
    else if constexpr (std::is_same_v<S, schema::CheckpointsSaved>)
      take_saved(m);
  });
  if (!handled)
    throw std::runtime_error("worker: " + to_string(handled.error()));
}

void worker_process::take_tasks(const protocol::task_batch& batch) {
  auto read = or_throw(worker::read_task_batch(batch));
  if (
    !read.redelivered && !well_behaved_
    && world_.random.faults.hits(world_.options.forgotten_batches)) {
    world_.say("worker forgets a batch " + parts_.identity.name);
    return link_.current()->cut(false);
  }
  claims_.received(only_link, read.tasks.size(), read.redelivered);
  for (auto& attempt : read.tasks)
    accept_task(std::move(attempt), read.redelivered);
  start_waiting();
  arm_look();
  schedule_flush();
}

void worker_process::accept_task(task attempt, bool redelivered) {
  lease_key key{only_link, attempt.id.shard, attempt.token};
  auto name = std::string(attempt.payload.view());
  parts_.audit->delivered(
    parts_.identity,
    {attempt.id,
     attempt.token,
     name,
     attempt.attempt,
     redelivered,
     parts_.shard_now(attempt.id.shard),
     std::string(attempt.checkpoint.view())});
  world_.say(
    parts_.identity.name + " gets " + name + " attempt=" + std::to_string(attempt.attempt)
    + " token=" + std::to_string(value(attempt.token)) + (redelivered ? " again" : ""));
  if (book_.find(key) != nullptr || outbox_.contains(key))
    return claims_.released(only_link);
  if (leaving_) {
    claims_.released(only_link);
    return report_later(worker::make_unstarted(key, attempt.id.seq));
  }
  worker::held_lease lease;
  lease.seq = attempt.id.seq;
  lease.lease = attempt.lease;
  lease.counted_from = now();
  lease.cancel = attempt.cancel;
  book_.add(key, std::move(lease));
  waiting_[static_cast<std::size_t>(attempt.priority)].push_back({key, std::move(attempt)});
}

void worker_process::start_waiting() {
  for (auto tasks = waiting_.rbegin(); tasks != waiting_.rend(); ++tasks)
    while (!tasks->empty() && running_ < slots_) {
      auto next = std::move(tasks->front());
      tasks->pop_front();
      if (book_.find(next.key) != nullptr)
        run(next);
    }
}

void worker_process::run(const waiting_task& waiting) {
  book_.find(waiting.key)->phase = lease_phase::running;
  handlers_.insert(waiting.key);
  ++running_;
  if (world_.random.handlers.hits(300))
    save_sometimes(waiting.key);
  // Most tasks are short, some outlive many beats.
  bool is_long = world_.random.handlers.hits(50);
  auto wait = duration{
    is_long ? world_.random.handlers.between(500, 9'000) : world_.random.handlers.between(1, 150)};
  after(wait, [this, waiting] { end_attempt(waiting.key, some_outcome(waiting)); });
}

outcome worker_process::some_completion(const task& attempt, const std::string& text) {
  auto done = outcome::completed(text);
  // Follow-ups are not followed, else there would be no end; purged ones would be missed.
  bool may_follow =
    !attempt.payload.view().starts_with(follow_up_mark) && attempt.queue != purged_queue;
  if (!may_follow || !world_.random.handlers.hits(300))
    return done;
  for (auto i = world_.random.handlers.between(1, 3); i > 0; --i) {
    task_spec next;
    next.queue = attempt.queue;
    next.payload = follow_up_mark + text + "-" + std::to_string(i);
    // Half of them for a shard of their own.
    if (world_.random.handlers.hits(500))
      next.group = follow_up_mark + std::to_string(world_.random.handlers.below(4));
    done.then(std::move(next));
  }
  return done;
}

outcome worker_process::some_outcome(const waiting_task& waiting) {
  const auto& key = waiting.key;
  auto text = parts_.identity.name + "-" + std::to_string(parts_.identity.incarnation) + "-"
              + std::to_string(value(key.token)) + "-" + std::to_string(++outcomes_);
  auto which = world_.random.handlers.below(100);
  if (which < 75)
    return some_completion(waiting.attempt, text);
  if (which < 85)
    return outcome::failed(text);
  if (which < 92)
    return outcome::nack(duration{world_.random.handlers.between(0, 1'500)}, text);
  if (which < 96)
    return outcome::abandon();
  if (which < 98)
    return outcome::nack(text);
  return outcome::failed_permanently(text);
}

void worker_process::save_sometimes(const lease_key& key) {
  if (!handlers_.contains(key))
    return;
  auto& line = saved_[key];
  auto overtaken = line;
  line.number += 1;
  line.data = bytes::from(
    parts_.identity.name + "-" + std::to_string(parts_.identity.incarnation) + "-"
    + std::to_string(value(key.shard)) + "-" + std::to_string(value(key.token)) + "-"
    + std::to_string(line.number));
  told_saved_.erase(key);
  parts_.audit->saves({key.shard, key.token}, line.number, std::string(line.data.view()));
  send_checkpoint(key, line);
  // Frames of an older connection may come late.
  if (overtaken.number > 0 && world_.random.handlers.hits(300))
    send_checkpoint(key, overtaken);
  after(duration{world_.random.handlers.between(5, 400)}, [this, key] { save_sometimes(key); });
}

void worker_process::send_checkpoint(const lease_key& key, const worker::checkpoint_line& line) {
  // The lease may be gone, and the handler not know it yet.
  auto* lease = book_.find(key);
  if (!link_.is_up() || lease == nullptr)
    return;
  worker::beat beat{key, lease->seq, lease->phase, true, duration{0}};
  for (const auto& request : worker::make_progress({{beat, std::nullopt, line}}))
    link_.send(request);
}

void worker_process::take_saved(const protocol::checkpoints_saved& saved) {
  for (const auto& line : or_throw(worker::read_checkpoints_saved(only_link, saved))) {
    parts_.audit->told_saved({line.key.shard, line.key.token}, line.number);
    auto known = saved_.find(line.key);
    if (known != saved_.end() && known->second.number <= line.number)
      told_saved_.insert(line.key);
  }
}

void worker_process::end_attempt(const lease_key& key, outcome answer) {
  // A handler that was told to stop has ended before its time.
  auto handler = handlers_.find(key);
  if (handler == handlers_.end())
    return;
  handlers_.erase(handler);
  --running_;
  claims_.released(only_link);
  auto saved = saved_.extract(key);
  if (auto* lease = book_.find(key)) {
    auto made = worker::make_report(key, *lease, answer);
    if (!saved.empty() && told_saved_.erase(key) == 0)
      made.checkpoint = saved.mapped();
    if (made.follow_ups)
      parts_.audit->will_follow({key.shard, key.token}, made.text, answer.follow_ups());
    report_later(std::move(made));
    book_.remove(key);
  }
  start_waiting();
  schedule_flush();
  advance_leave();
}

void worker_process::report_later(worker::report made) {
  world_.say(
    parts_.identity.name + " reports token=" + std::to_string(value(made.key.token))
    + " how=" + std::to_string(static_cast<int>(made.what)));
  parts_.audit->reported(made, parts_.shard_now(made.key.shard));
  outbox_.add(std::move(made));
  schedule_flush();
}

void worker_process::take_answers(const protocol::result_reply& reply) {
  for (const auto& answer : or_throw(worker::read_result_reply(only_link, reply))) {
    world_.say(
      parts_.identity.name + " is answered token=" + std::to_string(value(answer.key.token))
      + " code=" + std::string(to_string(answer.code)));
    if (outbox_.answered(answer.key))
      parts_.audit->answered({answer.key.shard, answer.key.token}, answer.code);
  }
  schedule_flush();
  advance_leave();
}

void worker_process::take_losses(const protocol::leases_lost& lost) {
  for (const auto& gone : or_throw(worker::read_leases_lost(only_link, lost))) {
    parts_.audit->told_lost({gone.key.shard, gone.key.token});
    lose(gone);
  }
  schedule_flush();
  advance_leave();
}

void worker_process::lose(const worker::lease_ref& gone) {
  auto* lease = book_.find(gone.key);
  if (lease == nullptr)
    return;
  world_.say(parts_.identity.name + " loses token=" + std::to_string(value(gone.key.token)));
  // A zombie goes on and reports in the end.
  if (is_zombie_ && !well_behaved_ && lease->phase == lease_phase::running)
    return;
  bool was_waiting = lease->phase == lease_phase::queued;
  book_.remove(gone.key);
  if (was_waiting)
    claims_.released(only_link);
}

void worker_process::take_resumed(const protocol::resume_reply& reply) {
  auto shard = or_throw(worker::read_resume_reply(reply));
  check_resume(shard);
  if (resuming_.erase(shard) == 0 || !resuming_.empty())
    return;
  claims_.open(only_link);
  schedule_flush();
}

void worker_process::take_cancel(const protocol::cancel_notice& notice) {
  auto key = or_throw(worker::read_cancel_notice(only_link, notice)).key;
  cancels_owed_.erase(key);
  auto* lease = book_.find(key);
  if (lease == nullptr)
    return;
  world_.say(parts_.identity.name + " is to cancel token=" + std::to_string(value(key.token)));
  if (lease->phase == lease_phase::queued) {
    auto unstarted = worker::make_unstarted(key, lease->seq);
    unstarted.what = disposition::cancelled;
    book_.remove(key);
    claims_.released(only_link);
    return report_later(std::move(unstarted));
  }
  lease->stop = worker::stop_cause::cancelled;
  // Most handlers stop soon, some never look.
  if (world_.random.handlers.hits(700))
    after(duration{world_.random.handlers.between(1, 300)}, [this, key] {
      end_attempt(key, outcome::failed("stopped"));
    });
}

void worker_process::check_resume(shard_id shard) {
  check_later(std::exchange(owed_[shard], {}), link_.current());
}

void worker_process::check_later(std::vector<lease_place> owed, const connection_ptr& link) {
  // What has to be read back comes a little later than the reply; nothing comes during a stall.
  auto again = [this, owed = std::move(owed), weak = std::weak_ptr(link)] {
    auto then = weak.lock();
    // A worker that was paused may not have learned yet that the connection broke.
    if (!link_.is_up() || link_.current() != then || !then->is_open())
      return;
    if (then->was_stalled(side::acceptor, 300ms))
      return check_later(owed, then);
    parts_.audit->check_owed(owed);
    for (const auto& key : cancels_owed_) {
      if (book_.find(key) != nullptr)
        parts_.audit->cancel_missed({key.shard, key.token});
    }
  };
  process_.after(300ms, again);
}

void worker_process::flush() {
  flush_scheduled_ = false;
  if (!link_.is_up())
    return;
  for (const auto& batch : outbox_.take(only_link))
    link_.send(worker::make_results(batch));
  auto credits = outbox_.is_full() ? 0 : claims_.take(only_link);
  if (credits > 0)
    link_.send(worker::make_claim(credits, batch_tasks_));
}

void worker_process::schedule_flush() {
  if (!std::exchange(flush_scheduled_, true))
    process_.after(world_.random.mailboxes.moment(1, 100), [this] { flush(); });
}

void worker_process::send_beats(std::vector<worker::beat> beats) {
  std::sort(beats.begin(), beats.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  for (const auto& request : worker::make_heartbeats(std::move(beats)))
    link_.send(request);
}

void worker_process::look() {
  look_armed_.reset();
  auto seen = book_.look(now(), [this](std::size_t) { return link_.is_up(); });
  send_beats(std::move(seen.beats));
  std::sort(seen.over.begin(), seen.over.end());
  for (const auto& key : seen.over) {
    auto& lease = *book_.find(key);
    if (lease.phase == lease_phase::queued)
      lose({lease.seq, key});
    else
      lease.stop = worker::stop_cause::own;
  }
  arm_look();
}

void worker_process::arm_look() {
  auto due = book_.next_look();
  if (!due || (look_armed_ && *look_armed_ <= *due))
    return;
  look_armed_ = due;
  auto wait = std::max(*due - now(), duration{1});
  after(wait, [this, number = ++look_number_] {
    if (number == look_number_)
      look();
  });
}

void worker_process::leave() {
  if (std::exchange(leaving_, true))
    return;
  world_.say("worker leaves " + parts_.identity.name);
  // Some wait for nothing and leave their leases and credits to the goodbye.
  if (world_.random.faults.hits(300))
    return say_goodbye();
  claims_.stop();
  link_.send(worker::make_claim(0));
  abandon_waiting();
  process_.after(world_.random.faults.moment(1'000'000, 8'000'000), [this] { say_goodbye(); });
  advance_leave();
}

void worker_process::abandon_waiting() {
  for (auto& tasks : waiting_)
    for (auto& waiting : std::exchange(tasks, {}))
      if (book_.find(waiting.key) != nullptr) {
        book_.remove(waiting.key);
        claims_.released(only_link);
        report_later(worker::make_unstarted(waiting.key, waiting.attempt.id.seq));
      }
}

void worker_process::advance_leave() {
  if (leaving_ && book_.size() == 0 && outbox_.size() == 0)
    say_goodbye();
}

void worker_process::say_goodbye() {
  if (!link_.is_up())
    return crash();
  link_.stop();
  link_.send(protocol::goodbye::build([](auto) {}));
  link_.current()->close(side::dialler);
  process_.kill();
  world_.say("worker left " + parts_.identity.name);
}

} // namespace codeq::sim
