// SPDX-License-Identifier: Apache-2.0
#include "client/inquiry/open_question.hpp"

#include "client/shard_walk.hpp"
#include "protocol/operator_convert.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace codeq::client {

namespace {

/// How long a question to all coordinators waits for those that are not connected.
constexpr duration links_wait = std::chrono::seconds(1);

/// A shard that a request waited for so long is away; one that was waited for less may be on its
/// way to another coordinator.
constexpr duration away_after = std::chrono::seconds(1);

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
  unrefused_ = 0;
  asked_.clear();
  missing_ = 0;
  missing_shards_.clear();
  waits_for_members_ = false;
  const auto shard = open_shard();
  if (shard && away_.contains(*shard) && port_.connection_of(*shard) == 0)
    return fail(port_.unreached(*shard));
  send_open();
}

std::optional<error> open_question::give_up(duration waited) {
  if (!open_)
    return std::nullopt;
  const auto shard = open_shard();
  open_.reset();
  asked_.clear();
  if (!shard)
    return std::nullopt;
  if (port_.connection_of(*shard) != 0)
    return unanswered(*shard, waited);
  if (waited >= away_after) {
    const auto unreached = port_.all_members().unreached;
    away_.insert(unreached.begin(), unreached.end());
  }
  auto why = port_.unreached(*shard);
  if (unrefused_ > 0)
    why.context += std::string(sent_unanswered) + std::string(unknown_outcome);
  return why;
}

std::optional<error> open_question::obstacle() const {
  const auto shard = open_ ? open_shard() : std::nullopt;
  if (!shard)
    return std::nullopt;
  if (port_.connection_of(*shard) == 0)
    return port_.unreached(*shard);
  return unrefused_ == 0 ? std::optional(unanswered(*shard, duration{0})) : std::nullopt;
}

error open_question::unanswered(shard_id shard, duration waited) const {
  const auto place = port_.place_of(shard);
  if (unrefused_ == 0)
    return {errc::disconnected, place + ", which answers that it does not serve it at present"};
  return {
    errc::timeout,
    place + ", which did not answer within " + std::to_string(waited.count()) + " ms"};
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
  missing_shards_.insert(all.unreached.begin(), all.unreached.end());
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
    asked.completed({missing_, {missing_shards_.begin(), missing_shards_.end()}});
}

std::optional<shard_id> open_question::open_shard() const {
  if (open_->completed || !port_.is_cluster())
    return std::nullopt;
  return shard_of_question(open_->question(number_));
}

void open_question::note_reached() {
  std::erase_if(away_, [this](shard_id shard) { return port_.connection_of(shard) != 0; });
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
  ++unrefused_;
  port_.send(to, std::move(request));
}

void open_question::take(const reply_head& head, const protocol::wire_frame& reply) {
  if (!open_ || (head.number != number_ && !asked_.contains(head.number)))
    return;
  // The places that came before it lead to another attempt.
  if (head.code == errc::not_owner) {
    said_to_ = 0;
    unrefused_ -= std::min<std::size_t>(unrefused_, 1);
    return;
  }
  if (auto taken = open_->answered(reply); !taken)
    return port_.drop(taken.error());
  note_end(head.number);
}

void open_question::use(connection_number connection) {
  in_use_ = connection;
  send_moved();
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
    const auto unreached = port_.all_members().unreached;
    missing_shards_.insert(unreached.begin(), unreached.end());
    note_end(0);
  }
  note_lost(lost, reason);
}

void open_question::note_lost(connection_number lost, const error& reason) {
  // A request that may be sent again waits for another connection.
  if (!open_ || open_->repeatable || said_to_ != lost)
    return;
  fail(
    {errc::disconnected,
     "lost before the answer; whether it " + std::string(unknown_outcome) + ": "
       + reason.context});
}

void open_question::fail(const error& reason) {
  const auto failed = std::move(open_->failed);
  open_.reset();
  failed(reason);
}

void open_question::send_moved() {
  note_reached();
  // A request that may have been executed is sent again only if it may be.
  if (open_ && (said_to_ == 0 || open_->repeatable))
    send_open();
}

} // namespace codeq::client
