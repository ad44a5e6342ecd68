// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_store.hpp"

#include "sim/sim_session.hpp"
#include "sim/sim_shard.hpp"

#include <stdexcept>

namespace codeq::sim {

namespace {

coordinator::journal_options
options_of(const scenario& options, const storage::store_record& identity) {
  return {options.os_durability ? storage::durability::os : storage::durability::sync, identity};
}

coordinator::reader_options reader_of(sim_disk& disk) {
  // No ownership: the disk outlives every process.
  return {std::shared_ptr<const storage::task_store>(std::shared_ptr<void>(), &disk.store())};
}

std::uint32_t count_of(const core::tasks_granted& granted) {
  std::uint32_t count = 0;
  for (const auto& run : granted.runs)
    count += run.count;
  return count;
}

} // namespace

sim_journal::sim_journal(
  world& all, process& home, sim_disk& disk, const storage::store_record& identity)
  : world_(all),
    home_(home),
    disk_(disk),
    box_(all, home),
    journal_(options_of(all.options, identity), *this) {
}

void sim_journal::gather(
  sim_shard& from, coordinator::turn_commit turn, std::vector<core::event> events) {
  box_.send([this, &from, turn = std::move(turn), events = std::move(events)] {
    shards_[turn.shard] = &from;
    events_.emplace(std::pair{turn.shard, turn.number}, events);
    journal_.gather(turn, now());
  });
}

void sim_journal::raise_epoch(sim_shard& from, shard_id shard) {
  box_.send([this, &from, shard] {
    shards_[shard] = &from;
    journal_.raise_epoch(shard, now());
  });
}

virtual_time sim_journal::write_time() {
  bool is_on_the_loop = world_.options.runs_to_completion && world_.options.os_durability;
  return is_on_the_loop && mode_ == storage::durability::os ? virtual_time{0} : some_disk_time();
}

virtual_time sim_journal::some_disk_time() {
  auto& random = world_.random.mailboxes;
  bool is_slow = random.hits(30) && !world_.options.has_quick_disk;
  return is_slow ? random.moment(5'000, 60'000) : random.moment(50, 3'000);
}

void sim_journal::begin_write(const coordinator::commit_group& group) {
  mode_ = group.mode;
  for (const auto& turn : group.turns)
    writing_.push_back(
      {turn.shard,
       std::move(events_.extract({turn.shard, turn.number}).mapped()),
       turn.writes,
       turn.horizon});
  if (group.identity)
    writing_.push_back({group.epoch_for, {}, group.identity});
  home_.after(write_time(), [this] {
    put_on_disk();
    journal_.written({}, now());
  });
}

void sim_journal::put_on_disk() {
  disk_.commit(std::exchange(writing_, {}), mode_);
}

void sim_journal::lose_power_over_writing() {
  if (!writing_.empty() && world_.random.faults.hits(500))
    put_on_disk();
  writing_.clear();
}

void sim_journal::begin_sync() {
  home_.after(some_disk_time(), [this] {
    disk_.sync();
    box_.send([this] { journal_.synced({}, now()); });
  });
}

void sim_journal::committed(shard_id shard, std::uint64_t number) {
  auto* to = shards_.at(shard);
  to->box().send([to, number] { to->committed(number); });
}

void sim_journal::epoch_raised(shard_id shard, std::uint32_t epoch) {
  auto* to = shards_.at(shard);
  to->box().send([to, epoch] { to->begin_epoch(epoch); });
}

void sim_journal::publish_horizon(std::shared_ptr<const storage::shard_horizon> horizon) {
  disk_.publish(std::move(horizon));
}

void sim_journal::write_soon() {
  box_.send([this] { journal_.write(now()); });
}

void sim_journal::sync_after(time_point::duration wait) {
  home_.after(std::chrono::duration_cast<virtual_time>(wait), [this] {
    box_.send([this] { journal_.sync(); });
  });
}

void sim_journal::fail(const error& reason) {
  throw std::runtime_error("journal: " + to_string(reason));
}

sim_reader::sim_reader(world& all, process& home, sim_disk& disk)
  : disk_(disk), box_(all, home, 50), reader_(reader_of(disk), *this) {
}

void sim_reader::fetch(sim_session& to, coordinator::bodies_wanted wanted) {
  box_.send([this, &to, wanted = std::move(wanted)] {
    peer_ = &to;
    tasks_told_ = 0;
    reader_.fetch(wanted);
    if (!wanted.granted.redelivered && tasks_told_ != count_of(wanted.granted))
      throw std::runtime_error("reader: a peer was not told of all its credits");
  });
}

void sim_reader::answer(sim_session& to, coordinator::stored_inquiry asked) {
  box_.send([this, &to, asked = std::move(asked)] {
    peer_ = &to;
    reader_.answer(asked);
  });
}

void sim_reader::list(sim_session& to, coordinator::stored_list asked) {
  auto list = coordinator::begin_list(std::move(asked));
  go_on(to, std::make_shared<coordinator::open_list>(std::move(list)));
}

void sim_reader::go_on(sim_session& to, const std::shared_ptr<coordinator::open_list>& list) {
  box_.send([this, &to, list] {
    peer_ = &to;
    if (!reader_.go_on(*list))
      go_on(to, list);
  });
}

void sim_reader::find(sim_shard& from, coordinator::keys_wanted wanted) {
  box_.send([this, &from, wanted = std::move(wanted)] {
    shards_[wanted.shard] = &from;
    reader_.find(wanted);
  });
}

void sim_reader::read(sim_shard& from, coordinator::survivors_wanted wanted) {
  box_.send([this, &from, wanted = std::move(wanted)] {
    shards_[wanted.shard] = &from;
    reader_.read(wanted);
  });
}

void sim_reader::survivors_read(shard_id shard, core::copy_survivors found) {
  auto* to = shards_.at(shard);
  to->box().send([to, c = core::command(std::move(found))] { to->decide(c); });
}

void sim_reader::keys_found(
  shard_id shard, std::uint64_t number, std::vector<core::recalled_key> found) {
  auto* to = shards_.at(shard);
  to->box().send([to, number, found = std::move(found)] { to->keys_found(number, found); });
}

void sim_reader::reply(core::peer_id, coordinator::shard_reply reply) {
  peer_->tell(std::move(reply));
}

void sim_reader::deliver(core::peer_id, coordinator::task_delivery tasks) {
  tasks_told_ += count_of(tasks.granted);
  peer_->tell(std::move(tasks));
}

void sim_reader::tell_credits(core::peer_id, const coordinator::credit_news& news) {
  tasks_told_ += news.credits;
  peer_->tell(news);
}

void sim_reader::fail(const error& reason) {
  throw std::runtime_error("reader: " + to_string(reason));
}

} // namespace codeq::sim
