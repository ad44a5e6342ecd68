// SPDX-License-Identifier: Apache-2.0
#include "model/step.hpp"

#include "support/task_builder.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace codeq::model {

namespace {

using namespace std::chrono_literals;

using weight_list = std::vector<std::pair<step_kind, std::size_t>>;

/// A step is chosen as often as its weight says.
const weight_list mixture{
  {step_kind::enqueue, 14}, {step_kind::repeat_request, 3}, {step_kind::claim, 14},
  {step_kind::revoke, 2},   {step_kind::beat, 6},           {step_kind::report, 16},
  {step_kind::abandon, 1},  {step_kind::expire, 9},         {step_kind::cancel, 3},
  {step_kind::attach, 2},   {step_kind::detach, 1},         {step_kind::resume, 2},
  {step_kind::goodbye, 1},  {step_kind::replace, 1},        {step_kind::await, 3},
  {step_kind::describe, 3}, {step_kind::checkpoint, 3},     {step_kind::tick, 1},
  {step_kind::advance, 12}, {step_kind::end_turn, 22},      {step_kind::restart, 2},
  {step_kind::promote, 3},  {step_kind::redrive, 2}};

/// Workers are told to stop and do what they like about it, before and after they were away.
const weight_list stopping{
  {step_kind::enqueue, 8},
  {step_kind::claim, 14},
  {step_kind::cancel, 16},
  {step_kind::beat, 10},
  {step_kind::report, 6},
  {step_kind::expire, 12},
  {step_kind::attach, 2},
  {step_kind::detach, 2},
  {step_kind::resume, 8},
  {step_kind::goodbye, 1},
  {step_kind::replace, 1},
  {step_kind::await, 3},
  {step_kind::checkpoint, 5},
  {step_kind::advance, 12},
  {step_kind::end_turn, 26},
  {step_kind::restart, 4}};

/// Tasks go back and forth until their refunds are used up.
const weight_list to_and_fro{
  {step_kind::enqueue, 1},
  {step_kind::claim, 24},
  {step_kind::abandon, 24},
  {step_kind::report, 1},
  {step_kind::goodbye, 1},
  {step_kind::attach, 1},
  {step_kind::end_turn, 40},
  {step_kind::checkpoint, 1},
  {step_kind::restart, 1}};

constexpr std::uint64_t seeds_per_special = 16;

constexpr std::uint64_t no_session = 0;
constexpr core::peer_id producers_first_peer = 1;
constexpr std::size_t workers_at_first = 5;

const weight_list& weights_of(std::uint64_t seed) {
  switch (seed % seeds_per_special) {
  case 0:
    return to_and_fro;
  case 3:
  case 6:
    return stopping;
  default:
    return mixture;
  }
}

} // namespace

std::string_view to_string(step_kind kind) noexcept {
  constexpr std::array<std::string_view, 23> names{
    "enqueue",    "repeat_request", "claim",   "revoke",   "beat",    "report",
    "abandon",    "expire",         "cancel",  "promote",  "redrive", "attach",
    "detach",     "resume",         "goodbye", "replace",  "await",   "describe",
    "checkpoint", "tick",           "advance", "end_turn", "restart"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<step> random_steps(std::uint64_t seed, std::size_t count, bool restarts) {
  std::mt19937_64 random(seed);
  std::vector<step_kind> choices;
  for (const auto& [kind, weight] : weights_of(seed))
    if (restarts || kind != step_kind::restart)
      choices.insert(choices.end(), weight, kind);
  // Without workers there is little to see.
  std::vector<step> steps;
  for (std::size_t i = 0; i < workers_at_first; ++i)
    steps.push_back({step_kind::attach, static_cast<std::uint32_t>(random())});
  while (steps.size() < count)
    steps.push_back({choices[random() % choices.size()], static_cast<std::uint32_t>(random())});
  return steps;
}

/// Small random choices of one step.
class step_maker::dice {
public:
  explicit dice(std::uint32_t randomness) : random_(randomness) {}

  std::uint32_t below(std::size_t n) {
    return static_cast<std::uint32_t>(random_() % static_cast<std::uint32_t>(n));
  }

  bool one_in(std::size_t n) { return below(n) == 0; }

  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

private:
  std::minstd_rand random_;
};

duration step_maker::advance_of(const step& s) {
  dice d(s.randomness);
  // Producers' sessions last a day.
  if (d.one_in(50))
    return duration{d.below(30 * 3'600'000)};
  switch (d.below(5)) {
  case 0:
    return duration{d.below(20)};
  case 1:
    return duration{d.below(1'000)};
  case 2:
    return duration{d.below(15'000)};
  case 3:
    return duration{1'000 * d.below(20)};
  default:
    return duration{d.below(600'000)};
  }
}

std::vector<core::command>
step_maker::commands_of(const step& s, const reference_shard& reference, const instant& now) {
  dice d(s.randomness);
  auto& w = random_worker(d);
  auto identity = std::make_shared<const worker_identity>(worker_identity{w.name, w.incarnation});
  switch (s.kind) {
  case step_kind::enqueue:
    return {new_request(d, now)};
  case step_kind::repeat_request:
    return {repeated_request(d, now)};
  case step_kind::claim:
    return {core::claim{w.peer, 1 + d.below(4), d.one_in(3) ? duration{d.below(30'000)} : 0ms}};
  case step_kind::revoke:
    return {core::revoke_credits{w.peer, 1 + d.below(3)}};
  case step_kind::beat:
    return {random_beats(d, reference)};
  case step_kind::report:
    return {random_reports(d, reference)};
  case step_kind::abandon:
    return {abandon_all(d, reference)};
  case step_kind::expire: {
    auto lease = random_lease(d, reference);
    return {core::expire_lease{lease.seq, lease.token}};
  }
  case step_kind::cancel:
    return {random_cancel(d, reference)};
  case step_kind::promote:
    return {core::promote{producers_first_peer, d.below(100), random_task(d, reference)}};
  case step_kind::redrive:
    return {core::redrive{producers_first_peer, d.below(100), random_dead_task(d, reference)}};
  case step_kind::attach:
    return connect(w, d);
  case step_kind::detach:
    return {core::detach_peer{d.one_in(2) ? w.peer : producers_first_peer + d.below(3)}};
  case step_kind::resume:
    return resume(w, d, reference);
  case step_kind::goodbye:
    return {core::release_worker{identity}, core::detach_peer{w.peer}};
  case step_kind::replace:
    return replace(w, d);
  case step_kind::await: {
    core::await_tasks c{producers_first_peer + d.below(3), {}};
    for (auto n = 1 + d.below(3); n > 0; --n)
      c.tasks.push_back(random_task(d, reference));
    return {c};
  }
  case step_kind::describe:
    return {core::describe_task{producers_first_peer, d.below(100), random_task(d, reference)}};
  case step_kind::checkpoint:
    return {core::take_checkpoint{}};
  case step_kind::tick:
    return {core::tick{}};
  case step_kind::advance:
  case step_kind::end_turn:
  case step_kind::restart:
    return {};
  }
  return {};
}

step_maker::named_worker& step_maker::random_worker(dice& d) {
  return workers_[d.below(workers_.size())];
}

sequence step_maker::random_task(dice& d, const reference_shard& reference) {
  if (reference.tasks.empty() || d.one_in(10))
    return 1 + d.below(1000);
  auto at = reference.tasks.begin();
  std::advance(at, d.below(reference.tasks.size()));
  return at->first;
}

core::cancel step_maker::random_cancel(dice& d, const reference_shard& reference) {
  auto leases = reference.live_leases();
  bool any = leases.empty() || d.one_in(2);
  auto seq = any ? random_task(d, reference) : d.pick(leases).seq;
  return {producers_first_peer, d.below(100), seq};
}

sequence step_maker::random_dead_task(dice& d, const reference_shard& reference) {
  std::vector<sequence> dead;
  for (const auto& [seq, task] : reference.tasks)
    if (task.state == task_state::dead)
      dead.push_back(seq);
  return dead.empty() || d.one_in(5) ? random_task(d, reference) : d.pick(dead);
}

core::enqueue_run step_maker::random_run(dice& d, const instant& now) {
  static const std::vector<duration> delays{0ms, 1ms, 500ms, 2s, 10s, 5min};
  static const std::vector<duration> leases{1s, 2s, 10s, 1min};
  static const std::vector<duration> retentions{24h, 1s, 1min, 1h};
  core::enqueue_run r;
  r.queue = {"default", std::string("q") + std::to_string(d.below(3))};
  r.priority = static_cast<std::uint8_t>(d.one_in(2) ? 0 : d.below(3) * 4);
  r.settings.max_attempts = static_cast<std::uint16_t>(1 + d.below(4));
  r.settings.retry.kind = static_cast<retry_kind>(d.below(4));
  r.settings.retry.base = d.pick(delays);
  r.settings.retry.cap = 20s;
  r.settings.lease = d.pick(leases);
  r.settings.retention = d.pick(retentions);
  r.settings.run_timeout = d.one_in(4) ? duration{500 + d.below(20'000)} : 0ms;
  if (d.one_in(4))
    r.not_before = now.shard + d.pick(delays);
  r.allow_promotion = d.one_in(2);
  if (d.one_in(5)) {
    r.group = d.one_in(2) ? "g" : "h";
    r.settings.when_dead = d.one_in(3) ? on_dead::block : on_dead::skip;
  }
  r.tasks = test::encode_bodies(1 + d.below(d.one_in(5) ? 12 : 3), 8 * (1 + d.below(4)));
  return r;
}

producer_id step_maker::session_of(std::uint64_t producer, dice& d, const instant& now) {
  static const std::vector<duration> ahead{0ms, 0ms, 0ms, 0ms, 30min, 1h, 61min};
  auto [at, is_new] = sessions_.try_emplace(producer);
  if (is_new || d.one_in(8))
    at->second = make_producer_id(
      now.shard + d.pick(ahead), static_cast<std::uint16_t>(d.below(1000)), producer);
  return at->second;
}

core::command step_maker::new_request(dice& d, const instant& now) {
  auto producer = 1 + d.below(3);
  auto number = next_request_[producer]++;
  auto& below = answered_below_[producer];
  if (d.one_in(3))
    below += d.below(number - below + 1);
  core::enqueue c{
    producers_first_peer + producer, {session_of(producer, d, now), number, below}, {}};
  for (auto n = 1 + d.below(3); n > 0; --n)
    c.runs.push_back(random_run(d, now));
  sent_.push_back(c);
  return c;
}

core::command step_maker::repeated_request(dice& d, const instant& now) {
  if (sent_.empty())
    return new_request(d, now);
  auto repeated = d.pick(sent_);
  // A reconnected producer, maybe; and the shard must not look at the tasks again.
  repeated.peer = producers_first_peer + d.below(3);
  return repeated;
}

core::task_lease step_maker::random_lease(dice& d, const reference_shard& reference) {
  auto live = reference.live_leases();
  if (!live.empty() && !d.one_in(5))
    return d.pick(live);
  if (reference.given.empty() || d.one_in(8))
    return {random_task(d, reference), static_cast<fencing_token>(1 + d.below(100))};
  auto lease = d.pick(reference.given);
  // The token of one task shown for another.
  if (d.one_in(4))
    lease.seq = random_task(d, reference);
  return lease;
}

core::heartbeat step_maker::random_beats(dice& d, const reference_shard& reference) {
  core::heartbeat c{random_worker(d).peer, {}};
  for (auto n = 1 + d.below(4); n > 0; --n) {
    auto lease = random_lease(d, reference);
    c.beats.push_back({lease.seq, lease.token, d.one_in(3)});
  }
  return c;
}

core::report step_maker::random_reports(dice& d, const reference_shard& reference) {
  core::report c{random_worker(d).peer, {}};
  for (auto n = 1 + d.below(3); n > 0; --n) {
    auto lease = random_lease(d, reference);
    core::lease_report r;
    r.seq = lease.seq;
    r.token = lease.token;
    r.how = d.one_in(2) ? core::disposition::completed : static_cast<core::disposition>(d.below(6));
    if (r.how == core::disposition::nack)
      r.delay = duration{d.one_in(2) ? 0 : d.below(5'000)};
    r.started = !d.one_in(6);
    r.text = bytes::from("text " + std::to_string(d.below(1000)));
    c.reports.push_back(std::move(r));
  }
  return c;
}

core::report step_maker::abandon_all(dice& d, const reference_shard& reference) {
  core::report c{random_worker(d).peer, {}};
  for (const auto& lease : reference.live_leases()) {
    core::lease_report r;
    r.seq = lease.seq;
    r.token = lease.token;
    r.how = core::disposition::abandon;
    c.reports.push_back(std::move(r));
  }
  return c;
}

std::vector<core::command> step_maker::connect(named_worker& w, dice& d) {
  std::vector<core::command> commands;
  if (w.peer != no_session)
    commands.emplace_back(core::detach_peer{w.peer});
  w.peer = next_peer_++;
  core::attach_worker attach{
    w.peer, std::make_shared<const worker_identity>(worker_identity{w.name, w.incarnation}), {}};
  for (int queue = 0; queue < 3; ++queue)
    if (!d.one_in(3))
      attach.queues.push_back({"default", "q" + std::to_string(queue)});
  commands.emplace_back(std::move(attach));
  return commands;
}

std::vector<core::command>
step_maker::resume(named_worker& w, dice& d, const reference_shard& reference) {
  auto commands = connect(w, d);
  core::resume c{
    w.peer, std::make_shared<const worker_identity>(worker_identity{w.name, w.incarnation}), {}};
  for (const auto& lease : reference.live_leases())
    if (!d.one_in(3))
      c.leases.push_back(lease);
  if (!reference.given.empty() && d.one_in(2))
    c.leases.push_back(d.pick(reference.given));
  commands.emplace_back(std::move(c));
  return commands;
}

std::vector<core::command> step_maker::replace(named_worker& w, dice& d) {
  // The same process again changes nothing of its own.
  if (!d.one_in(3))
    ++w.incarnation;
  std::vector<core::command> commands;
  commands.emplace_back(core::replace_worker{
    std::make_shared<const worker_identity>(worker_identity{w.name, w.incarnation})});
  auto connected = connect(w, d);
  commands.insert(commands.end(), connected.begin(), connected.end());
  return commands;
}

} // namespace codeq::model
