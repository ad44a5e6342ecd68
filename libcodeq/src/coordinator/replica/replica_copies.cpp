// SPDX-License-Identifier: Apache-2.0
// The part of `replica_driver` that sends and takes copies of a shard's data.
#include "coordinator/replica/replica_driver.hpp"

#include "replication/bounds.hpp"
#include "replication/timing.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::coordinator {

namespace bounds = replication::bounds;
namespace timing = replication::timing;
using replication::copy_id;
using replication::copy_offer;
using replication::epoch_index;
using replication::epoch_number;
using replication::replica_id;

void replica_driver::receive(replica_id from, const copy_message& what, monotonic_time now) {
  now_ = now;
  if (const auto* part = std::get_if<copy_part>(&what))
    on_part(*part);
  else if (const auto* question = std::get_if<copy_question>(&what))
    on_question(from, *question);
  else
    on_answer(from, std::get<copy_answer>(what));
}

void replica_driver::begin_copy(replica_id to, epoch_number epoch) {
  if (const auto old = outgoing_.find(to); old != outgoing_.end())
    host_.close_copy(old->second.id);
  const copy_id id{record_.id, incarnation_, ++copies_};
  outgoing_.insert_or_assign(to, outgoing_copy{.id = id, .epoch = epoch, .heard = now_});
  host_.open_copy(id);
}

std::map<replica_id, replica_driver::outgoing_copy>::iterator
replica_driver::find_copy(const copy_id& id) {
  return std::find_if(outgoing_.begin(), outgoing_.end(), [&id](const auto& copy) {
    return copy.second.id == id;
  });
}

void replica_driver::copy_opened(const copy_id& id, result<epoch_index> log) {
  const auto copy = find_copy(id);
  if (copy == outgoing_.end())
    return host_.close_copy(id);
  if (!log)
    return end_copy(copy->first);
  copy->second.is_offered = true;
  copy->second.heard = now_;
  kept_tails_.insert_or_assign(copy->first, kept_tail{log->last(), now_});
  keep_tails();
  host_.send(copy->first, copy_offer{copy->second.epoch, id, std::move(*log)});
}

void replica_driver::on_answer(replica_id from, const copy_answer& what) {
  const auto copy = outgoing_.find(from);
  if (copy == outgoing_.end() || copy->second.id != what.id)
    return;
  note_heard(from);
  // A taker whose disk hangs answers, too, and gets on with nothing.
  const auto progress = std::pair(what.state != copy_state::clearing, what.parts);
  if (std::exchange(copy->second.progress, progress) != progress)
    copy->second.heard = now_;
  switch (what.state) {
  case copy_state::written:
  case copy_state::arrived:
    return note_arrived(from, copy->second, what);
  case copy_state::clearing:
    return;
  case copy_state::whole:
  case copy_state::unknown:
    return end_copy(from);
  }
}

void replica_driver::note_arrived(
  replica_id at, outgoing_copy& copy, const copy_answer& what) {
  copy.parts_written = std::max(copy.parts_written, what.parts);
  const auto arrived = std::max(what.parts, what.arrived);
  while (!copy.missing.empty() && copy.missing.front().number <= arrived)
    copy.missing.pop_front();
  // The answer says nothing of parts that were sent after the question.
  for (const auto& part : copy.missing)
    if (part.number <= what.asked)
      host_.send(at, part);
  read_parts(copy);
}

void replica_driver::read_parts(outgoing_copy& copy) {
  while (!copy.has_ended && copy.parts_read < copy.parts_written + bounds::copy_parts_ahead) {
    ++copy.parts_read;
    host_.read_part(copy.id);
  }
}

void replica_driver::part_read(const copy_id& id, result<std::string> packed) {
  const auto copy = find_copy(id);
  if (copy == outgoing_.end() || copy->second.has_ended)
    return;
  if (!packed)
    return end_copy(copy->first);
  auto& sent = copy->second;
  sent.has_ended = packed->empty();
  copy_part part{
    id,
    ++sent.parts_sent,
    std::make_shared<const std::string>(std::move(*packed)),
    sent.has_ended};
  sent.missing.push_back(part);
  host_.send(copy->first, part);
}

void replica_driver::tend_copies() {
  std::vector<replica_id> silent;
  for (auto& [to, copy] : outgoing_) {
    const auto is_due = std::max(copy.heard, copy.asked) + timing::copy_unanswered < now_;
    if (copy.heard + timing::copy_silence < now_) {
      silent.push_back(to);
    } else if (copy.is_offered && is_due) {
      copy.asked = now_;
      host_.send(to, copy_question{copy.id, copy.parts_sent});
    }
  }
  for (auto to : silent)
    end_copy(to);
}

void replica_driver::end_copy(replica_id to) {
  host_.close_copy(outgoing_.at(to).id);
  outgoing_.erase(to);
  replica_.copy_ended(to);
}

void replica_driver::note_heard(replica_id from) {
  if (const auto kept = kept_tails_.find(from); kept != kept_tails_.end())
    kept->second.heard = now_;
}

void replica_driver::drop_silent_tails() {
  std::erase_if(kept_tails_, [this](const auto& kept) {
    return kept.second.heard + timing::copy_silence < now_;
  });
  keep_tails();
}

void replica_driver::keep_tails() {
  std::optional<std::uint64_t> from;
  for (const auto& [to, kept] : kept_tails_)
    from = std::min(from.value_or(kept.after.number + 1), kept.after.number + 1);
  if (std::exchange(kept_from_, from) != from)
    host_.keep_spool(from);
}

void replica_driver::take_copy(replica_id from, const copy_offer& what) {
  incoming_ = incoming_copy{what.id, from, what.log};
  record_.is_incomplete = true;
  ring_.clear();
  auto writes = std::make_shared<storage::write_set>();
  storage::put_replica(shard_, record_, *writes);
  storage::remove_history(shard_, std::exchange(log_, {}), *writes);
  turn_commit clear{.writes = std::move(writes)};
  clear.forgets_horizon = true;
  clear.is_synced = true;
  submit({.what = submitted::kind::copy_clear, .copy = what.id}, std::move(clear));
}

void replica_driver::removals_read(const copy_id& id, result<storage::write_set> removals) {
  if (!incoming_ || incoming_->id != id)
    return;
  // The sender asks, and begins another one.
  if (!removals)
    return incoming_.reset();
  ++incoming_->clearing_steps;
  if (removals->empty()) {
    incoming_->is_cleared = true;
    return host_.send(incoming_->from, copy_answer{.id = id});
  }
  auto writes = std::make_shared<const storage::write_set>(std::move(*removals));
  submit({.what = submitted::kind::copy_clear, .copy = id}, {.writes = std::move(writes)});
}

void replica_driver::on_question(replica_id from, const copy_question& what) {
  copy_answer answer{.id = what.id, .asked = what.parts};
  if (whole_copy_ == what.id) {
    answer.state = copy_state::whole;
  } else if (!incoming_ || incoming_->id != what.id) {
    answer.state = copy_state::unknown;
  } else if (!incoming_->is_cleared) {
    answer.state = copy_state::clearing;
    answer.parts = incoming_->clearing_steps;
  } else {
    answer.state = copy_state::arrived;
    answer.parts = incoming_->parts_written;
    answer.arrived = incoming_->next_part - 1;
  }
  host_.send(from, answer);
}

void replica_driver::on_part(const copy_part& what) {
  if (!incoming_ || incoming_->id != what.id || incoming_->next_part != what.number)
    return;
  ++incoming_->next_part;
  if (what.is_last) {
    record_.is_incomplete = false;
    auto writes = std::make_shared<storage::write_set>();
    storage::put_history(shard_, incoming_->log, *writes);
    storage::put_replica(shard_, record_, *writes);
    submit(
      {.what = submitted::kind::copy_end, .copy = what.id, .part = what.number},
      {.writes = std::move(writes), .is_synced = true});
    return;
  }
  auto writes = storage::unpack(*what.packed, shard_);
  if (!writes)
    return incoming_.reset();
  submit(
    {.what = submitted::kind::copy_part, .copy = what.id, .part = what.number},
    {.writes = std::make_shared<const storage::write_set>(std::move(*writes))});
}

} // namespace codeq::coordinator
