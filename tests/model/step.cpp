// SPDX-License-Identifier: Apache-2.0
#include "model/step.hpp"

#include "model/dice.hpp"
#include "support/task_builder.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace codeq::model {

namespace {

using namespace std::chrono_literals;

using weight_list = std::vector<std::pair<step_kind, std::size_t>>;

/// A step is chosen as often as its weight says.
const weight_list mixture{{step_kind::enqueue, 14},    {step_kind::repeat_request, 3},
                          {step_kind::claim, 14},      {step_kind::revoke, 2},
                          {step_kind::beat, 6},        {step_kind::report, 16},
                          {step_kind::abandon, 1},     {step_kind::expire, 9},
                          {step_kind::cancel, 3},      {step_kind::attach, 2},
                          {step_kind::detach, 1},      {step_kind::resume, 2},
                          {step_kind::goodbye, 1},     {step_kind::replace, 1},
                          {step_kind::await, 3},       {step_kind::describe, 3},
                          {step_kind::snapshot, 3},    {step_kind::tick, 2},
                          {step_kind::advance, 12},    {step_kind::end_turn, 22},
                          {step_kind::restart, 2},     {step_kind::promote, 3},
                          {step_kind::redrive, 2},     {step_kind::explain, 4},
                          {step_kind::list, 2},        {step_kind::configure, 2},
                          {step_kind::pause, 2},       {step_kind::show, 1},
                          {step_kind::purge, 2},       {step_kind::force, 3},
                          {step_kind::change_many, 2}, {step_kind::enqueue_keyed, 4},
                          {step_kind::by_key, 2},      {step_kind::confirm, 2},
                          {step_kind::take, 2}};

/// Workers are asked to stop tasks and react in any way, before and after a disconnect.
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
  {step_kind::snapshot, 5},
  {step_kind::advance, 12},
  {step_kind::end_turn, 26},
  {step_kind::restart, 4}};

/// Operators change everything.
const weight_list operating{
  {step_kind::enqueue, 14},
  {step_kind::claim, 12},
  {step_kind::beat, 4},
  {step_kind::report, 10},
  {step_kind::expire, 6},
  {step_kind::cancel, 3},
  {step_kind::redrive, 4},
  {step_kind::purge, 6},
  {step_kind::force, 12},
  {step_kind::change_many, 8},
  {step_kind::attach, 1},
  {step_kind::resume, 2},
  {step_kind::await, 6},
  {step_kind::describe, 4},
  {step_kind::snapshot, 4},
  {step_kind::advance, 6},
  {step_kind::end_turn, 20},
  {step_kind::restart, 2}};

/// Tasks are abandoned again and again until their refunds are used up.
const weight_list to_and_fro{
  {step_kind::enqueue, 1},
  {step_kind::claim, 24},
  {step_kind::abandon, 24},
  {step_kind::report, 1},
  {step_kind::goodbye, 1},
  {step_kind::attach, 1},
  {step_kind::end_turn, 40},
  {step_kind::snapshot, 1},
  {step_kind::restart, 1}};

/// Queues are configured, paused and full, and operators query the effects.
const weight_list limiting{
  {step_kind::enqueue, 16},  {step_kind::repeat_request, 2}, {step_kind::claim, 16},
  {step_kind::revoke, 1},    {step_kind::report, 14},        {step_kind::expire, 4},
  {step_kind::attach, 2},    {step_kind::detach, 1},         {step_kind::goodbye, 1},
  {step_kind::cancel, 2},    {step_kind::redrive, 2},        {step_kind::explain, 10},
  {step_kind::list, 6},      {step_kind::configure, 6},      {step_kind::pause, 8},
  {step_kind::show, 3},      {step_kind::snapshot, 3},       {step_kind::advance, 6},
  {step_kind::end_turn, 24}, {step_kind::restart, 2}};

/// A few keys are used again and again.
const weight_list keyed{
  {step_kind::enqueue_keyed, 26},
  {step_kind::by_key, 8},
  {step_kind::repeat_request, 4},
  {step_kind::claim, 12},
  {step_kind::report, 14},
  {step_kind::expire, 3},
  {step_kind::cancel, 3},
  {step_kind::promote, 2},
  {step_kind::redrive, 6},
  {step_kind::attach, 1},
  {step_kind::snapshot, 8},
  {step_kind::advance, 8},
  {step_kind::leap, 4},
  {step_kind::end_turn, 22},
  {step_kind::restart, 3}};

/// Follow-ups are sent between shards that restart.
const weight_list handing_over{
  {step_kind::enqueue, 6},
  {step_kind::enqueue_keyed, 3},
  {step_kind::claim, 12},
  {step_kind::report, 16},
  {step_kind::confirm, 10},
  {step_kind::take, 8},
  {step_kind::attach, 1},
  {step_kind::snapshot, 6},
  {step_kind::advance, 3},
  {step_kind::end_turn, 26},
  {step_kind::restart, 6}};

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
  case 5:
  case 10:
    return limiting;
  case 9:
  case 12:
    return operating;
  case 1:
  case 8:
  case 11:
    return keyed;
  case 13:
  case 14:
    return handing_over;
  default:
    return mixture;
  }
}

core::claim random_claim(core::peer_id peer, dice& d) {
  return {peer, 1 + d.below(4), d.one_in(3) ? duration{d.below(30'000)} : 0ms, d.below(3)};
}

} // namespace

std::string_view to_string(step_kind kind) noexcept {
  constexpr std::array<std::string_view, 36> names{
    "enqueue", "repeat_request", "claim",   "revoke",        "beat",     "report",
    "abandon", "confirm",        "take",    "expire",        "cancel",   "promote",
    "redrive", "purge",          "force",   "change_many",   "attach",   "detach",
    "resume",  "goodbye",        "replace", "await",         "describe", "explain",
    "list",    "configure",      "pause",   "show",          "snapshot", "tick",
    "advance", "end_turn",       "restart", "enqueue_keyed", "by_key",   "leap"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<step> random_steps(std::uint64_t seed, std::size_t count, bool restarts) {
  std::mt19937_64 random(seed);
  std::vector<step_kind> choices;
  for (const auto& [kind, weight] : weights_of(seed))
    if (restarts || kind != step_kind::restart)
      choices.insert(choices.end(), weight, kind);
  // Without workers most steps have no effect.
  std::vector<step> steps;
  for (std::size_t i = 0; i < workers_at_first; ++i)
    steps.push_back({step_kind::attach, static_cast<std::uint32_t>(random())});
  while (steps.size() < count)
    steps.push_back({choices[random() % choices.size()], static_cast<std::uint32_t>(random())});
  return steps;
}

duration step_maker::advance_of(const step& s) {
  dice d(s.randomness);
  // Long enough for a key to be free again.
  if (s.kind == step_kind::leap)
    return 20min + duration{d.below(3'600'000)};
  // Long enough for producer sessions, which last a day, to expire.
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

std::vector<core::command> step_maker::change_queues(const named_worker& w, dice& d) {
  return {
    core::change_queues{w.peer, random_queues(d), random_prefixes(d), random_queues(d)}};
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
    return {random_claim(w.peer, d)};
  case step_kind::revoke:
    return {core::revoke_credits{w.peer, 1 + d.below(3)}};
  case step_kind::beat:
    return {random_beats(d, reference)};
  case step_kind::report:
    return {random_reports(d, reference, now)};
  case step_kind::abandon:
    return {abandon_all(d, reference)};
  case step_kind::confirm:
    return {random_confirmation(d, reference)};
  case step_kind::take:
    return {follow_ups_of_others(d, reference, now)};
  case step_kind::expire: {
    auto lease = random_lease(d, reference);
    return {core::expire_lease{lease.seq, lease.token}};
  }
  case step_kind::attach:
    return d.one_in(2) ? change_queues(w, d) : connect(w, d);
  case step_kind::detach:
    return {core::detach_peer{d.one_in(2) ? w.peer : producers_first_peer + d.below(3)}};
  case step_kind::resume:
    return resume(w, d, reference);
  case step_kind::goodbye:
    return {core::release_worker{identity}, core::detach_peer{w.peer}};
  case step_kind::replace:
    return replace(w, d);
  case step_kind::await:
    return {random_await(d, reference)};
  case step_kind::snapshot:
    return {core::take_snapshot{}};
  case step_kind::tick:
    return {tick_or_finish(d)};
  case step_kind::enqueue_keyed:
    return {keyed_request(d, now)};
  case step_kind::advance:
  case step_kind::leap:
  case step_kind::end_turn:
  case step_kind::restart:
    return {};
  case step_kind::cancel:
  case step_kind::promote:
  case step_kind::redrive:
  case step_kind::purge:
  case step_kind::force:
  case step_kind::change_many:
  case step_kind::describe:
  case step_kind::explain:
  case step_kind::list:
  case step_kind::configure:
  case step_kind::pause:
  case step_kind::show:
  case step_kind::by_key:
    break;
  }
  return {operator_command_of(s.kind, d, reference)};
}

core::command
step_maker::operator_command_of(step_kind kind, dice& d, const reference_shard& reference) {
  if (kind == step_kind::cancel)
    return random_cancel(d, reference);
  if (kind == step_kind::promote)
    return core::promote{producers_first_peer, d.below(100), random_task(d, reference)};
  if (kind == step_kind::redrive)
    return core::redrive{producers_first_peer, d.below(100), random_dead_task(d, reference)};
  if (kind == step_kind::purge)
    return core::purge{producers_first_peer, d.below(100), random_dead_task(d, reference)};
  if (kind == step_kind::force)
    return random_force(d, reference);
  if (kind == step_kind::change_many)
    return random_change_many(d, reference);
  if (kind == step_kind::describe)
    return core::describe_task{producers_first_peer, d.below(100), random_task(d, reference)};
  if (kind == step_kind::explain && d.one_in(3))
    return core::tell_history{producers_first_peer, d.below(100), random_task(d, reference)};
  if (kind == step_kind::explain)
    return core::explain_task{producers_first_peer, d.below(100), random_task(d, reference)};
  if (kind == step_kind::list)
    return random_list(d, reference);
  if (kind == step_kind::configure && d.one_in(3))
    return random_weighing(d);
  if (kind == step_kind::configure)
    return random_settings(d);
  // Queues are resumed more often than paused, so that most of them are active.
  if (kind == step_kind::pause)
    return core::pause_queue{producers_first_peer, d.below(100), random_queue(d), d.one_in(3)};
  if (kind == step_kind::show)
    return core::show_queue{producers_first_peer, d.below(100), random_queue(d)};
  return random_by_key(d);
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

core::command step_maker::random_await(dice& d, const reference_shard& reference) {
  core::await_tasks c{producers_first_peer + d.below(3), {}};
  for (auto n = 1 + d.below(3); n > 0; --n)
    c.tasks.push_back(random_task(d, reference));
  if (d.one_in(4))
    return core::stop_awaiting{c.peer, std::move(c.tasks)};
  c.with_progress = d.one_in(2);
  return c;
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

core::list_tasks step_maker::random_list(dice& d, const reference_shard& reference) {
  core::list_tasks c{producers_first_peer, next_list_++, {}};
  c.part.filter.tenant = d.one_in(8) ? "nobody" : "default";
  c.part.filter.queue = d.one_in(2) ? "" : random_queue(d).queue;
  if (d.one_in(2))
    c.part.filter.state = static_cast<task_state>(d.below(7));
  if (d.one_in(4))
    c.part.filter.group = d.one_in(2) ? "g" : "h";
  if (d.one_in(3))
    c.part.after = random_task(d, reference);
  if (d.one_in(3))
    c.part.below = random_task(d, reference);
  c.part.limit = 1 + d.below(d.one_in(2) ? 5 : 1'000);
  return c;
}

void step_maker::leave_to_queue(dice& d, core::enqueue_run& r) {
  if (d.one_in(3))
    r.left_to_queue = static_cast<std::uint16_t>(d.below(256));
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
  if (d.one_in(3))
    r.settings.dead_retention = d.pick(retentions);
  r.settings.run_timeout = d.one_in(4) ? duration{500 + d.below(20'000)} : 0ms;
  r.settings.progress_timeout = d.one_in(4) ? duration{500 + d.below(20'000)} : 0ms;
  if (d.one_in(4))
    r.not_before = now.shard + d.pick(delays);
  r.allow_promotion = d.one_in(2);
  if (d.one_in(5)) {
    r.group = d.one_in(2) ? "g" : "h";
    r.settings.when_dead = d.one_in(3) ? on_dead::block : on_dead::skip;
  }
  leave_to_queue(d, r);
  r.fairness = random_fairness(d, r.queue.queue);
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
  auto c = next_request(d, now);
  for (auto n = 1 + d.below(3); n > 0; --n)
    c.runs.push_back(random_run(d, now));
  sent_.push_back(c);
  return c;
}

core::enqueue step_maker::next_request(dice& d, const instant& now) {
  auto producer = 1 + d.below(3);
  auto number = next_request_[producer]++;
  auto& below = answered_below_[producer];
  if (d.one_in(3))
    below += d.below(number - below + 1);
  return {producers_first_peer + producer, {session_of(producer, d, now), number, below}, {}};
}

core::command step_maker::repeated_request(dice& d, const instant& now) {
  if (sent_.empty())
    return new_request(d, now);
  auto repeated = d.pick(sent_);
  // The producer may have reconnected; the shard must not look at the tasks again.
  repeated.peer = producers_first_peer + d.below(3);
  return repeated;
}

core::command step_maker::tick_or_finish(dice& d) {
  if (sent_.empty() || d.one_in(2))
    return core::tick{};
  // Some of the session's requests may be repeated all the same.
  return core::end_session{d.pick(sent_).request.producer};
}

core::task_lease step_maker::random_lease(dice& d, const reference_shard& reference) {
  auto live = reference.live_leases();
  if (!live.empty() && !d.one_in(5))
    return d.pick(live);
  if (reference.given.empty() || d.one_in(8))
    return {random_task(d, reference), static_cast<fencing_token>(1 + d.below(100))};
  auto lease = d.pick(reference.given);
  // The token of another task.
  if (d.one_in(4))
    lease.seq = random_task(d, reference);
  return lease;
}

core::lease_checkpoint step_maker::random_checkpoint(dice& d, const core::task_lease& lease) {
  auto number = static_cast<std::uint32_t>(1 + d.below(4));
  return {lease.seq, {lease.token, number}, bytes("state " + std::to_string(d.below(1000)))};
}

core::heartbeat step_maker::random_beats(dice& d, const reference_shard& reference) {
  core::heartbeat c{random_worker(d).peer, {}, {}};
  for (auto n = 1 + d.below(4); n > 0; --n) {
    auto lease = random_lease(d, reference);
    auto extend = d.one_in(4) ? duration{d.below(60'000)} : duration{0};
    c.beats.push_back({lease.seq, lease.token, d.one_in(3), d.one_in(3), extend});
    if (d.one_in(3))
      c.progress.push_back(
        {lease.seq, lease.token, static_cast<std::uint8_t>(d.below(101)), "at work"});
    if (d.one_in(2))
      c.checkpoints.push_back(random_checkpoint(d, lease));
  }
  return c;
}

core::report
step_maker::random_reports(dice& d, const reference_shard& reference, const instant& now) {
  core::report c{random_worker(d).peer, {}};
  for (auto n = 1 + d.below(3); n > 0; --n) {
    auto lease = random_lease(d, reference);
    core::lease_report r;
    r.seq = lease.seq;
    r.token = lease.token;
    r.how = d.one_in(2) ? disposition::completed : static_cast<disposition>(d.below(7));
    if (r.how == disposition::nack || r.how == disposition::limited)
      r.delay = duration{d.one_in(2) ? 0 : d.below(5'000)};
    r.started = !d.one_in(6);
    r.text = bytes("text " + std::to_string(d.below(1000)));
    if (d.one_in(3))
      r.follow_ups = random_follow_ups(d, now);
    if (d.one_in(4))
      r.checkpoint = random_checkpoint(d, lease);
    if (d.one_in(12))
      r.allowed = error{errc::invalid_argument, "a follow-up is out of bounds"};
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
    r.how = disposition::abandon;
    c.reports.push_back(std::move(r));
  }
  return c;
}

std::vector<queue_address> step_maker::random_queues(dice& d) {
  std::vector<queue_address> queues;
  for (int queue = 0; queue < 3; ++queue)
    if (!d.one_in(3))
      queues.push_back({"default", "q" + std::to_string(queue)});
  return queues;
}

std::vector<queue_address> step_maker::random_prefixes(dice& d) {
  std::vector<queue_address> prefixes;
  for (const char* prefix : {"", "q", "q1"})
    if (d.one_in(4))
      prefixes.push_back({"default", prefix});
  return prefixes;
}

std::vector<core::command> step_maker::connect(named_worker& w, dice& d) {
  std::vector<core::command> commands;
  if (w.peer != no_session)
    commands.emplace_back(core::detach_peer{w.peer});
  w.peer = next_peer_++;
  core::attach_worker attach{
    w.peer,
    std::make_shared<const worker_identity>(worker_identity{w.name, w.incarnation}),
    random_queues(d),
    random_prefixes(d)};
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
  // Replacing a process by itself must not change its own leases.
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
