// SPDX-License-Identifier: Apache-2.0
#include "sim/journal_shell.hpp"

#include "codeq/limits.hpp"

#include "protocol/operator_convert.hpp"
#include "protocol/operator_reply.hpp"
#include "protocol/reply.hpp"
#include "sim/session_shell.hpp"
#include "sim/shard_shell.hpp"
#include "storage/task_reader.hpp"

#include <stdexcept>
#include <utility>

namespace codeq::sim {

namespace {

template <class T>
T or_throw(result<T> r) {
  if (!r)
    throw std::runtime_error(to_string(r.error()));
  return std::move(*r);
}

} // namespace

journal_shell::journal_shell(world& all, process& home, sim_disk& disk)
  : world_(all),
    home_(home),
    disk_(disk),
    mode_(all.options.os_durability ? storage::durability::os : storage::durability::sync),
    box_(all, home) {
}

void journal_shell::gather(shard_shell& from, std::uint64_t number, turn_writes turn) {
  box_.send([this, &from, number, turn = std::move(turn)] {
    group_.push_back({&from, number, turn});
    if (group_.size() == 1)
      box_.send([this] { write(); });
  });
}

void journal_shell::write() {
  if (group_.empty() || !writing_.empty())
    return;
  writing_ = std::exchange(group_, {});
  auto& random = world_.random.mailboxes;
  auto wait = random.hits(30) ? random.moment(5'000, 60'000) : random.moment(50, 3'000);
  home_.after(wait, [this] { finish(); });
}

void journal_shell::finish() {
  put_on_disk();
  for (auto& done : std::exchange(writing_, {}))
    done.from->box().send([from = done.from, number = done.number] { from->committed(number); });
  write();
  if (mode_ == storage::durability::sync || std::exchange(sync_armed_, true))
    return;
  home_.after(limits::os_sync_interval, [this] {
    sync_armed_ = false;
    disk_.sync();
  });
}

void journal_shell::put_on_disk() {
  std::vector<turn_writes> turns;
  for (const auto& one : writing_)
    turns.push_back(one.turn);
  disk_.commit(std::move(turns), mode_);
}

void journal_shell::lose_power_over_writing() {
  if (!writing_.empty() && world_.random.faults.hits(500))
    put_on_disk();
  writing_.clear();
}

reader_shell::reader_shell(world& all, process& home, sim_disk& disk)
  : disk_(disk), box_(all, home) {
}

void reader_shell::fetch(
  shard_id shard,
  session_shell& to,
  core::tasks_granted granted,
  std::vector<core::encoded_tasks> bodies) {
  box_.send([this, shard, &to, granted = std::move(granted), bodies = std::move(bodies)]() mutable {
    send_bodies(shard, to, granted, bodies);
  });
}

void reader_shell::send_bodies(
  shard_id shard,
  session_shell& to,
  core::tasks_granted& granted,
  std::vector<core::encoded_tasks>& bodies) {
  auto runs = std::exchange(granted.runs, {});
  std::vector<core::encoded_tasks> found;
  std::uint32_t count = 0;
  std::uint32_t gone = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (bodies[i].sizes.empty()) {
      const auto& run = runs[i];
      auto read = or_throw(
        run.replaced ? storage::read_replaced_body(disk_.store(), shard, run.first)
                     : storage::read_bodies(disk_.store(), shard, run.segment, run.aside));
      if (!read) {
        gone += runs[i].count;
        continue;
      }
      bodies[i] = read->part(runs[i].first - runs[i].segment, runs[i].count);
    }
    if (auto handed_on = storage::read_checkpoints(disk_.store(), shard, runs[i]); !handed_on)
      throw std::runtime_error(to_string(handed_on.error()));
    count += runs[i].count;
    found.push_back(std::move(bodies[i]));
    granted.runs.push_back(std::move(runs[i]));
  }
  to.deliver(
    {shard,
     count,
     granted.redelivered,
     std::nullopt,
     protocol::make_task_batch(shard, granted, found).to_wire()});
  if (gone > 0 && !granted.redelivered)
    to.credits_returned(shard, gone);
}

void reader_shell::answer(shard_id shard, session_shell& to, stored_inquiry asked) {
  box_.send([this, shard, &to, asked = std::move(asked)] {
    if (asked.view)
      return describe(shard, to, asked, *asked.view);
    auto fate =
      storage::read_fate(disk_.store(), shard, asked.seq, {asked.now, asked.purged.get()});
    if (auto view = or_throw(std::move(fate)))
      describe(shard, to, asked, *view);
    else
      answer_unknown(shard, to, asked.why, asked.seq);
  });
}

void reader_shell::describe(
  shard_id shard, session_shell& to, const stored_inquiry& asked, const core::task_view& view) {
  const auto& entry = view.entry;
  const auto& why = asked.why;
  if (why.what == core::inquiry::kind::repeated_report) {
    bool was_accepted = core::is_repeat(entry, why.token, why.reported);
    core::report_answer a{view.seq, why.token, was_accepted ? errc::already : errc::stale_lease};
    return to.send_later(protocol::make_result_reply(shard, {&a, 1}).to_wire());
  }
  if (why.what == core::inquiry::kind::change) {
    core::change_answered unchanged{};
    unchanged.number = why.number;
    unchanged.seq = view.seq;
    unchanged.state = entry.state;
    return to.send_later(protocol::make_change_reply(shard, unchanged).to_wire());
  }
  auto text = or_throw(storage::read_text(disk_.store(), shard, view, asked.now));
  if (!text)
    return answer_unknown(shard, to, why, view.seq);
  protocol::ended_task ended{view.seq, errc::none, entry.state, entry.attempt, *text};
  to.send_later(protocol::make_tasks_ended(shard, {&ended, 1}).to_wire());
}

void reader_shell::answer_unknown(
  shard_id shard, session_shell& to, const core::inquiry& why, sequence seq) {
  if (why.what == core::inquiry::kind::repeated_report) {
    core::report_answer a{seq, why.token, errc::unknown_task};
    return to.send_later(protocol::make_result_reply(shard, {&a, 1}).to_wire());
  }
  if (why.what == core::inquiry::kind::change) {
    error unknown{errc::unknown_task, "no such task"};
    auto reply = protocol::make_refusal<schema::ChangeRequest>(why.number, unknown);
    return to.send_later(reply.to_wire());
  }
  protocol::ended_task ended{seq, errc::unknown_task, {}, 0, {}};
  to.send_later(protocol::make_tasks_ended(shard, {&ended, 1}).to_wire());
}

} // namespace codeq::sim
