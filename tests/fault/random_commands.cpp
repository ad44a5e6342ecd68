// SPDX-License-Identifier: Apache-2.0
#include "fault/random_commands.hpp"

#include <algorithm>
#include <memory>

namespace codeq::test {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t queue_count = 3;
constexpr core::peer_id producer_peer = 1;
constexpr core::peer_id operator_peer = 2;
constexpr core::peer_id first_worker = 10;
constexpr core::peer_id worker_count = 2;

/// Number of sent requests that are remembered for repeats.
constexpr std::size_t repeatable_max = 32;

/// With this many segments in memory, the shard completes tasks rather than adding more.
constexpr std::size_t segments_enough = 200;

/// So large that a few hundred commits fill tables and cause compactions.
constexpr std::size_t body_bytes_max = 1500;
constexpr std::size_t text_bytes_max = 300;

queue_address queue_named(std::uint64_t number) {
  return {"default", "q" + std::to_string(number)};
}

/// The tasks of each segment.
std::vector<core::seq_run> runs_of(const core::shard_state& state) {
  std::vector<core::seq_run> runs;
  state.segments.for_each([&](const core::segment& s) { runs.push_back({s.first, s.count}); });
  return runs;
}

} // namespace

random_commands::random_commands(std::uint64_t seed, producer_id session, std::uint16_t shards)
  : random_(seed), session_(session), shards_(shards) {
}

bool random_commands::completes(fencing_token token) {
  return value(token) % 3 != 0;
}

std::vector<core::command> random_commands::connect() const {
  std::vector<queue_address> all;
  for (std::uint64_t i = 0; i < queue_count; ++i)
    all.push_back(queue_named(i));
  std::vector<core::command> commands;
  for (core::peer_id peer = first_worker; peer < first_worker + worker_count; ++peer) {
    auto name =
      std::make_shared<const worker_identity>(worker_identity{"worker" + std::to_string(peer), 1});
    commands.emplace_back(core::attach_worker{peer, name, all});
  }
  return commands;
}

core::command random_commands::next(const core::shard_state& state, const instant& now) {
  auto what = below(20);
  if (what < 8 && runs_of(state).size() > segments_enough)
    what = 8 + below(10);
  if (what < 8)
    return enqueue(now);
  if (what < 11)
    return claim();
  if (what < 17)
    return report(state);
  if (what < 19)
    return change(state);
  return configure();
}

core::command random_commands::enqueue(const instant& now) {
  if (!sent_.empty() && one_in(10))
    return sent_[below(sent_.size())];
  core::enqueue c;
  c.peer = producer_peer;
  c.request.producer = session_;
  c.request.number = ++requests_;
  c.request.answered_below = sent_.empty() ? 0 : sent_.front().request.number;
  for (auto runs = 1 + below(3); runs > 0; --runs)
    c.runs.push_back(one_in(3) ? named_run(now) : plain_run());
  sent_.push_back(c);
  if (sent_.size() > repeatable_max)
    sent_.pop_front();
  return c;
}

core::enqueue_run random_commands::plain_run() {
  core::enqueue_run r;
  r.queue = random_queue();
  r.priority = static_cast<std::uint8_t>(below(2));
  r.settings.max_attempts = static_cast<std::uint16_t>(1 + below(3));
  r.settings.retry = {retry_kind::fixed, duration{static_cast<std::int64_t>(below(5000))}, 10s};
  if (one_in(4))
    r.settings.retention = brief_retention;
  std::string body;
  for (auto tasks = 1 + below(4); tasks > 0; --tasks) {
    auto one = random_text(body_bytes_max);
    r.tasks.sizes.push_back(static_cast<std::uint32_t>(one.size()));
    body += one;
  }
  r.tasks.body = bytes(std::move(body));
  return r;
}

/// A task that is deferred, has a group or has a key.
core::enqueue_run random_commands::named_run(const instant& now) {
  auto r = plain_run();
  r.tasks = r.tasks.part(0, 1);
  if (one_in(2))
    r.not_before = now.shard + duration{static_cast<std::int64_t>(1 + below(3000))};
  if (one_in(2))
    r.group = "g" + std::to_string(below(4));
  if (r.not_before == timestamp{} || one_in(2)) {
    r.key = "k" + std::to_string(below(20));
    r.duplicate = static_cast<on_duplicate>(below(5));
    r.replace_payload = one_in(2);
    r.allow_promotion = one_in(2);
  }
  return r;
}

core::command random_commands::claim() {
  auto peer = static_cast<core::peer_id>(first_worker + below(worker_count));
  return core::claim{peer, static_cast<std::uint32_t>(1 + below(16)), duration{0}};
}

core::command random_commands::report(const core::shard_state& state) {
  auto tokens = state.leases.tokens_of([](const core::live_grant&) { return true; });
  if (tokens.empty())
    return claim();
  core::report c{first_worker, {}};
  for (auto left = 1 + below(10); left > 0; --left)
    c.reports.push_back(report_of(random_lease(state)));
  return c;
}

core::lease_report random_commands::report_of(const core::task_lease& lease) {
  core::lease_report r;
  r.seq = lease.seq;
  r.token = lease.token;
  // Always the same for one lease: a worker repeats its report unchanged.
  r.how = completes(lease.token) ? disposition::completed
                                 : static_cast<disposition>(value(lease.token) % 5);
  r.started = !one_in(6);
  r.text = bytes(random_text(text_bytes_max));
  if (r.how == disposition::completed && one_in(5)) {
    auto to = static_cast<shard_id>(static_cast<std::uint16_t>(below(shards_)));
    r.follow_ups.push_back({to, plain_run()});
    r.follow_ups.back().run.tasks = r.follow_ups.back().run.tasks.part(0, 1);
  }
  return r;
}

core::command random_commands::change(const core::shard_state& state) {
  auto seq = random_task(state);
  switch (below(8)) {
  case 0:
    return core::cancel{operator_peer, 1, seq};
  case 1:
    return core::promote{operator_peer, 1, seq};
  case 2:
    return core::redrive{operator_peer, 1, seq};
  case 3:
    return core::purge{operator_peer, 1, seq};
  case 4:
    return core::force{operator_peer, 1, seq, static_cast<force_kind>(below(3)), bytes("by hand")};
  case 5: {
    core::task_part part;
    part.filter.tenant = "default";
    part.limit = 10;
    return core::change_many{operator_peer, 1, core::bulk_kind::redrive, std::move(part)};
  }
  default: {
    auto lease = random_lease(state);
    return core::expire_lease{lease.seq, lease.token};
  }
  }
}

core::command random_commands::configure() {
  auto queue = random_queue();
  if (one_in(2))
    return core::tick{};
  queue_config settings;
  settings.max_leased = one_in(2) ? 0 : 20 + below(50);
  settings.keep_payload = one_in(2);
  settings.defaults.max_attempts = static_cast<std::uint16_t>(1 + below(9));
  return core::configure_queue{operator_peer, 1, queue, settings};
}

core::task_lease random_commands::random_lease(const core::shard_state& state) {
  auto tokens = state.leases.tokens_of([](const core::live_grant&) { return true; });
  if (tokens.empty())
    return {};
  auto token = tokens[below(tokens.size())];
  auto seq = random_task(state);
  if (const auto* found = state.leases.find(token))
    seq = found->seq;
  return {seq, token};
}

sequence random_commands::random_task(const core::shard_state& state) {
  auto runs = runs_of(state);
  if (runs.empty())
    return 0;
  const auto& run = runs[below(runs.size())];
  return run.first + below(run.count);
}

queue_address random_commands::random_queue() {
  return queue_named(below(queue_count));
}

std::string random_commands::random_text(std::size_t bytes_max) {
  std::string text(below(bytes_max + 1), '\0');
  std::generate(text.begin(), text.end(), [this] { return static_cast<char>(random_()); });
  return text;
}

} // namespace codeq::test
