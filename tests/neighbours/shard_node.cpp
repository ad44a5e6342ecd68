// SPDX-License-Identifier: Apache-2.0
#include "neighbours/shard_node.hpp"

#include "storage/recovery/recovery.hpp"
#include "support/task_builder.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace codeq::neighbours {

namespace {

using namespace std::chrono_literals;

constexpr core::peer_id worker = 1;
constexpr core::peer_id producer = 2;
/// How often a store in `os` mode syncs its log.
constexpr duration sync_interval = 500ms;
constexpr std::size_t follow_ups_max = 3;
/// So many writes at most are missing in a copy that an operator continues with.
constexpr std::uint64_t missing_writes_max = 6;

core::enqueue_run run_of(const std::string& queue, const std::string& group) {
  core::enqueue_run run;
  run.queue = {"default", queue};
  run.settings.lease = 1h;
  run.group = group;
  run.tasks = test::encode_bodies(1, 20);
  return run;
}

} // namespace

shard_node::shard_node(surroundings& around, shard_id shard, storage::durability mode)
  : around_(around), shard_id_(shard), mode_(mode) {
  if (mode_ == storage::durability::os)
    around_.after(sync_interval, [this] { sync_log(); });
}

void shard_node::sync_log() {
  (void)disk_->sync_log();
  around_.after(sync_interval, [this] { sync_log(); });
}

instant shard_node::at() const {
  return {around_.now(), timestamp{around_.now().time_since_epoch()}};
}

void shard_node::later(duration wait, std::function<void()> what) {
  around_.after(wait, [this, process = process_, what = std::move(what)] {
    if (process == process_)
      what();
  });
}

std::string shard_node::serve() {
  ++epoch_;
  // A replica syncs its promise of the epoch.
  (void)disk_->sync_log();
  auto found = storage::recover(*disk_, shard_id_, epoch_, around_.now());
  if (!found)
    return "shard cannot be recovered: " + to_string(found.error());
  state_ = std::move(*found);
  coordinator::shard_options options;
  options.state = state_;
  options.shard_count = shard_count;
  options.turns.commands_max = 4;
  options.turns.snapshot_records = 20;
  options.turns.snapshot_interval = 1s;
  options.carries_settings = carries_settings_;
  options.hold = hold_;
  options.hand_overs.emplace();
  options.hand_overs->records = 4;
  if (mode_ == storage::durability::os)
    options.hand_overs->sync_pace = coordinator::os_hand_over_pace;
  (void)routes_.set(shard_id_, "node", epoch_);
  shard_.emplace(options, *this, at());
  shard_->start(at());
  auto identity = std::make_shared<const worker_identity>(
    worker_identity{"w" + std::to_string(epoch_), 1});
  coordinator::peer_attached attached;
  attached.peer = worker;
  attached.worker = std::move(identity);
  attached.queues = {{"default", "work"}};
  shard_->attach(attached, at());
  attached = {};
  attached.peer = producer;
  shard_->attach(attached, at());
  return {};
}

void shard_node::kill() {
  ++process_;
  shard_.reset();
  state_.reset();
  completions_.clear();
}

void shard_node::cut_power() {
  kill();
  const auto unsynced = disk_->unsynced_batches();
  const auto kept = around_.below(unsynced + 1);
  disk_->cut_power(kept);
  log_.resize(log_.size() - (unsynced - kept));
  for (auto& [name, entry] : around_.book().entries())
    if (name.from == shard_id_ && entry.written > log_.size())
      entry.may_be_lost = true;
}

void shard_node::go_back() {
  kill();
  const auto missing = around_.below(std::min<std::uint64_t>(log_.size(), missing_writes_max) + 1);
  log_.resize(log_.size() - missing);
  disk_ = std::make_shared<storage::memory_store>();
  for (const auto& writes : log_)
    (void)disk_->commit(std::array{writes}, storage::durability::sync);
  for (auto& [name, entry] : around_.book().entries())
    if (name.from == shard_id_ && entry.written > log_.size())
      entry.may_be_lost = true;
}

void shard_node::work() {
  if (!shard_)
    return;
  const auto session = make_producer_id(at().shard, 0, epoch_);
  shard_->decide(
    core::enqueue{producer, {session, ++requests_, 0}, {run_of("work", "")}}, at());
  shard_->decide(core::claim{worker, 1}, at());
}

void shard_node::complete(const core::tasks_granted& granted) {
  core::report report{worker, {}};
  for (const auto& run : granted.runs) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      core::lease_report done;
      done.seq = run.first + i;
      done.token = fencing_token{value(run.first_token) + i};
      const auto count = around_.below(follow_ups_max + 1);
      for (std::size_t n = 0; n < count; ++n) {
        const shard_id to{static_cast<std::uint16_t>(around_.below(shard_count))};
        follow_up_name name{
          shard_id_, to,
          "g" + std::to_string(value(shard_id_)) + "." + std::to_string(value(done.token)) + "."
            + std::to_string(n)};
        done.follow_ups.push_back({to, run_of("next", name.group)});
        completions_[done.token].push_back(std::move(name));
      }
      report.reports.push_back(std::move(done));
    }
  }
  later(duration{around_.below(20)}, [this, report] { shard_->decide(report, at()); });
}

void shard_node::deliver(core::peer_id, coordinator::task_delivery tasks) {
  complete(tasks.granted);
}

void shard_node::fetch_bodies(core::peer_id, coordinator::bodies_wanted wanted) {
  complete(wanted.granted);
}

void shard_node::reply(core::peer_id, protocol::peer_reply reply) {
  const auto* answered = std::get_if<core::reports_answered>(&reply);
  if (!answered)
    return;
  for (const auto& answer : answered->answers) {
    auto names = completions_.extract(answer.token);
    if (names.empty() || answer.code != errc::none)
      continue;
    for (const auto& name : names.mapped())
      around_.book().acknowledged(name, log_.size());
  }
}

void shard_node::commit(coordinator::turn_commit turn, const std::vector<core::event>&) {
  written_until_ =
    std::max(written_until_, around_.now() + duration{around_.below(20)});
  later(written_until_ - around_.now(), [this, turn = std::move(turn)] { write(turn); });
}

void shard_node::write(const coordinator::turn_commit& turn) {
  (void)disk_->commit(
    std::array{turn.writes}, turn.is_synced ? storage::durability::sync : mode_);
  log_.push_back(turn.writes);
  shard_->committed(turn.number, at());
}

void shard_node::close_turn_soon() {
  later(duration{around_.below(3)}, [this] { shard_->close_turn(at()); });
}

void shard_node::wake_after(duration wait, std::uint64_t number) {
  later(wait, [this, number] { shard_->wake(number, at()); });
}

void shard_node::to_shard(shard_id to, core::command command) {
  around_.send(to, {shard_id_, epoch_, std::move(command)});
}

void shard_node::note_epoch(shard_id other, std::uint32_t epoch) {
  if (routes_.set(other, "node", epoch) && shard_)
    shard_->neighbours_moved({other}, at());
}

void shard_node::reconnect(shard_id other) {
  if (shard_)
    shard_->neighbours_moved({other}, at());
}

void shard_node::receive(const coordinator::neighbour_message& said) {
  if (shard_ && routes_.hear(said.from, said.epoch))
    shard_->decide(said.what, at());
}

void shard_node::configure(const std::string& name, std::uint64_t depth) {
  if (!shard_)
    return;
  queue_config config;
  config.max_depth = depth;
  shard_->decide(core::configure_queue{producer, 0, {"default", name}, config}, at());
  std::optional<limit_definition> limit;
  if (depth > 0)
    limit = limit_definition{.concurrency = static_cast<std::uint32_t>(depth)};
  shard_->decide(core::set_limit{producer, 0, {"default", name}, limit}, at());
}

std::map<std::string, std::uint64_t> shard_node::settings() const {
  std::map<std::string, std::uint64_t> found;
  for (const auto& [arrival, index] : state_->queues_by_arrival)
    if (const auto& queue = *state_->queues[index]; queue.settings.config.max_depth > 0)
      found["queue " + queue.address.queue] = queue.settings.config.max_depth;
  state_->limits.for_each([&](const limit_address& limit, const limit_definition& definition) {
    found["limit " + limit.name] = definition.concurrency.value_or(0);
  });
  return found;
}

std::map<std::string, std::size_t> shard_node::groups() const {
  std::map<std::string, std::size_t> found;
  if (state_)
    state_->segments.for_each([&](const core::segment& s) {
      if (!s.group.empty())
        ++found[s.group];
    });
  return found;
}

bool shard_node::has_open(shard_id to, const std::string& group) const {
  if (!state_)
    return false;
  const auto records = state_->outgoing.find(to);
  if (records == state_->outgoing.end())
    return false;
  return std::any_of(records->second.begin(), records->second.end(), [&](const auto& record) {
    return std::any_of(record.second.begin(), record.second.end(), [&](const auto& run) {
      return run.group == group;
    });
  });
}

} // namespace codeq::neighbours
