// SPDX-License-Identifier: Apache-2.0
#include "client/inquiry/open_question.hpp"

#include "protocol/operator_convert.hpp"

#include <chrono>
#include <utility>

namespace codeq::client {

namespace {

/// How long a question to all coordinators waits for those that are not connected.
constexpr duration links_wait = std::chrono::seconds(1);

/// The shard that an operator's request names, or that of its task; none: any coordinator answers.
std::optional<shard_id> shard_of_question(const protocol::wire_frame& question) {
  std::optional<shard_id> shard;
  auto note = [&](const auto& message) {
    if (auto to = protocol::address_of(message))
      shard = static_cast<shard_id>(to->shard);
  };
  static_cast<void>(protocol::visit_one_of(protocol::operator_shard_requests{}, question, note));
  return shard;
}

} // namespace

void open_question::ask(actors::ask_coordinator question) {
  open_ = std::move(question);
  ++number_;
  said_to_ = 0;
  asked_.clear();
  missing_ = 0;
  waits_for_members_ = false;
  send_open();
}

void open_question::ask_members(std::uint64_t number) {
  if (number == number_ && open_ && open_->completed && asked_.empty())
    send_to_all(false);
}

void open_question::send_to_all(bool waits) {
  if (!asked_.empty())
    return;
  auto all = port_.all_members();
  if (all.missing > 0 && waits) {
    if (!std::exchange(waits_for_members_, true))
      port_.ask_members_after(links_wait, number_);
    return;
  }
  missing_ = all.missing;
  for (auto connection : all.connections) {
    asked_.emplace(++number_, connection);
    port_.send(connection, open_->question(number_));
  }
  if (asked_.empty())
    note_end(0);
}

void open_question::note_end(std::uint64_t number) {
  asked_.erase(number);
  if (!asked_.empty())
    return;
  auto asked = std::move(*open_);
  open_.reset();
  if (asked.completed)
    asked.completed(missing_);
}

connection_number open_question::way_of(const protocol::wire_frame& request) const {
  const auto shard = port_.is_cluster() ? shard_of_question(request) : std::nullopt;
  return shard ? port_.connection_of(*shard) : in_use_;
}

void open_question::send_open() {
  if (!open_ || !is_connected())
    return;
  if (open_->completed && port_.is_cluster())
    return send_to_all(true);
  auto request = open_->question(number_);
  const auto to = way_of(request);
  if (to == 0)
    return;
  said_to_ = to;
  port_.send(to, std::move(request));
}

void open_question::take(const reply_head& head, const protocol::wire_frame& reply) {
  if (!open_ || (head.number != number_ && !asked_.contains(head.number)))
    return;
  // The places that came before it lead to another attempt.
  if (head.code == errc::not_owner) {
    said_to_ = 0;
    return;
  }
  if (auto taken = open_->answered(reply); !taken)
    return port_.drop(taken.error());
  note_end(head.number);
}

void open_question::use(connection_number connection) {
  in_use_ = connection;
  send_open();
}

void open_question::replace(connection_number ended, connection_number by) {
  for (auto& [number, asked] : asked_) {
    if (asked != ended)
      continue;
    // The number stays, so that a late answer on the ended connection counts instead.
    asked = by;
    port_.send(by, open_->question(number));
  }
  note_lost(ended, {errc::going_away, "there is another connection to the coordinator"});
}

void open_question::lose(connection_number lost, const error& reason) {
  if (lost == 0)
    return;
  if (in_use_ == lost)
    in_use_ = 0;
  const auto is_lost = [lost](const auto& one) { return one.second == lost; };
  if (const auto gone = std::erase_if(asked_, is_lost); gone > 0) {
    missing_ += gone;
    note_end(0);
  }
  note_lost(lost, reason);
}

void open_question::note_lost(connection_number lost, const error& reason) {
  if (said_to_ != lost)
    return;
  said_to_ = 0;
  if (!open_ || open_->repeatable)
    return;
  open_->failed(reason);
  open_.reset();
}

void open_question::send_moved() {
  // A request that may have been executed is sent again only if it may be.
  if (open_ && (said_to_ == 0 || open_->repeatable))
    send_open();
}

} // namespace codeq::client
