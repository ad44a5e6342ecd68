// SPDX-License-Identifier: Apache-2.0
// The part of `replica_driver` that takes copies of a shard's data; `copy_sender` sends them.
#include "coordinator/replica/replica_driver.hpp"

#include <memory>
#include <utility>
#include <variant>

namespace codeq::coordinator {

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
    copies_.answered(from, std::get<copy_answer>(what), now);
}

void replica_driver::begin_copy(replica_id to, epoch_number epoch) {
  copies_.begin(to, epoch, now_);
}

void replica_driver::copy_opened(const copy_id& id, result<epoch_index> log) {
  copies_.opened(id, std::move(log), now_);
}

void replica_driver::part_read(const copy_id& id, result<std::string> packed) {
  copies_.part_read(id, std::move(packed));
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
  // The sender asks what has arrived, hears of no copy, and begins another one.
  if (!what.is_last && !takes_copies())
    return incoming_.reset();
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
