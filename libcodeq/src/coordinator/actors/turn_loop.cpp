// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/turn_loop.hpp"

#include "coordinator/actors/journal_driver.hpp"
#include "coordinator/actors/session_driver.hpp"
#include "coordinator/actors/shard_driver.hpp"

#include <algorithm>

namespace codeq::coordinator {

namespace {

/// Number of rounds after which other actors of the thread run, and sockets are read. One request
/// takes three.
constexpr std::size_t rounds_max = 32;

} // namespace

void turn_loop::add(shard_id id, shard_driver& shard) {
  if (shards_.size() <= value(id))
    shards_.resize(value(id) + std::size_t{1});
  shards_[value(id)] = &shard;
}

void turn_loop::remove(shard_id id) {
  if (auto* shard = find(id))
    std::erase(open_, shard);
  if (value(id) < shards_.size())
    shards_[value(id)] = nullptr;
  // It may be the one that was about to call `settle`.
  is_woken_ = false;
  if (has_work())
    settle_later();
}

shard_driver* turn_loop::find(shard_id id) const {
  return value(id) < shards_.size() ? shards_[value(id)] : nullptr;
}

session_driver* turn_loop::session(core::peer_id peer) const {
  auto at = sessions_.find(peer);
  return at == sessions_.end() ? nullptr : at->second;
}

bool turn_loop::ask(shard_id to, const peer_request& request) {
  auto* shard = find(to);
  if (shard != nullptr)
    shard->hosted().take(request, shard->now());
  return shard != nullptr;
}

bool turn_loop::command(shard_id to, const core::command& command) {
  auto* shard = find(to);
  if (shard != nullptr)
    shard->hosted().decide(command, shard->now());
  return shard != nullptr;
}

bool turn_loop::attach(shard_id to, const attach_peer& peer) {
  auto* shard = find(to);
  if (shard != nullptr)
    shard->attach(peer);
  return shard != nullptr;
}

bool turn_loop::detach(shard_id from, core::peer_id peer) {
  auto* shard = find(from);
  if (shard != nullptr)
    shard->detach({peer, {}});
  return shard != nullptr;
}

void turn_loop::opened(shard_driver& shard) {
  open_.push_back(&shard);
  settle_later();
}

void turn_loop::commit(const shard_internal_actor& shard, turn_commit turn) {
  journal_->gather(shard, std::move(turn));
}

void turn_loop::tell(core::peer_id peer, peer_news news) {
  news_.emplace_back(peer, std::move(news));
  settle_later();
}

void turn_loop::group_opened() {
  has_group_ = true;
  settle_later();
}

void turn_loop::committed(shard_id shard, std::uint64_t number) {
  committed_.emplace_back(shard, number);
  settle_later();
}

void turn_loop::written(const std::shared_ptr<actors::outgoing_progress>& to) {
  if (std::find(written_.begin(), written_.end(), to) == written_.end())
    written_.push_back(to);
  settle_later();
}

void turn_loop::settle_later() {
  if (is_settling_ || is_reading_ || is_woken_)
    return;
  auto any = std::find_if(shards_.begin(), shards_.end(), [](auto* shard) { return shard; });
  if (any == shards_.end())
    return;
  is_woken_ = true;
  (*any)->settle_later();
}

void turn_loop::read_done() {
  is_reading_ = false;
  if (!has_work())
    return;
  if (std::chrono::steady_clock::now() - settled_ >= quiet_time_)
    settle();
  else
    settle_later();
}

bool turn_loop::has_work() const {
  return has_group_
         || !(open_.empty() && news_.empty() && committed_.empty() && written_.empty());
}

void turn_loop::settle() {
  is_settling_ = true;
  is_woken_ = false;
  for (std::size_t round = 0; has_work() && round < rounds_max; ++round) {
    deliver();
    close_turns();
    if (std::exchange(has_group_, false) && journal_ != nullptr)
      journal_->write();
    confirm();
    if (news_.empty() && open_.empty())
      flush();
  }
  is_settling_ = false;
  settled_ = std::chrono::steady_clock::now();
  if (has_work())
    settle_later();
}

void turn_loop::deliver() {
  for (auto& [peer, news] : std::exchange(news_, {}))
    if (auto* to = session(peer))
      std::visit([to](const auto& m) { to->take(m); }, news);
}

void turn_loop::close_turns() {
  for (auto* shard : std::exchange(open_, {}))
    shard->hosted().close_turn(shard->now());
}

void turn_loop::confirm() {
  for (auto [id, number] : std::exchange(committed_, {}))
    if (auto* shard = find(id))
      shard->hosted().committed(number, shard->now());
}

void turn_loop::flush() {
  for (const auto& to : std::exchange(written_, {}))
    if (to->outlet != nullptr)
      to->outlet->flush();
}

} // namespace codeq::coordinator
