// SPDX-License-Identifier: Apache-2.0
#include "transport/admission.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <string>

namespace codeq::transport {

result<admitted> admission::admit(const std::string& remote) {
  std::lock_guard guard(mutex_);
  if (!shares_.has_room(remote))
    return error{
      errc::overloaded,
      "remote " + remote + " has " + std::to_string(shares_.used_by(remote)) + " of "
        + std::to_string(shares_.used())
        + " connections; connections_max=" + std::to_string(shares_.total())};
  admitted fresh;
  if (strangers_.size() >= unauthenticated_max_) {
    fresh.evicted = evict();
    if (!fresh.evicted)
      return error{
        errc::overloaded,
        "unauthenticated_connections_max=" + std::to_string(unauthenticated_max_) + " reached"};
  }
  fresh.ticket = std::make_shared<admission_ticket>(shared_from_this(), ++last_id_, remote);
  shares_.force(remote);
  strangers_.emplace(last_id_, stranger{remote});
  return fresh;
}

caf::strong_actor_ptr admission::evict() {
  std::map<std::string, std::size_t> counts;
  for (const auto& [id, one] : strangers_)
    ++counts[one.remote];
  std::size_t most = 0;
  for (const auto& [remote, count] : counts)
    most = std::max(most, count);
  for (auto i = strangers_.begin(); i != strangers_.end(); ++i) {
    auto alive = counts.at(i->second.remote) == most && i->second.connection
                   ? caf::actor_cast<caf::strong_actor_ptr>(i->second.connection)
                   : nullptr;
    if (!alive)
      continue;
    strangers_.erase(i);
    return alive;
  }
  return nullptr;
}

std::vector<caf::strong_actor_ptr> admission::take_overdue(time_point now) {
  std::lock_guard guard(mutex_);
  return find_overdue(now);
}

std::vector<caf::strong_actor_ptr> admission::stop() {
  std::lock_guard guard(mutex_);
  is_stopped_ = true;
  return find_overdue(time_point::max());
}

std::vector<caf::strong_actor_ptr> admission::find_overdue(time_point now) {
  std::vector<caf::strong_actor_ptr> overdue;
  for (auto& [id, one] : strangers_) {
    if (one.deadline > now || !one.connection)
      continue;
    one.deadline = time_point::max();
    if (auto alive = caf::actor_cast<caf::strong_actor_ptr>(one.connection))
      overdue.push_back(std::move(alive));
  }
  return overdue;
}

admission_ticket::~admission_ticket() {
  std::lock_guard guard(owner_->mutex_);
  owner_->strangers_.erase(id_);
  owner_->shares_.give_back(remote_);
}

bool admission_ticket::wait_until(caf::actor_addr connection, admission::time_point deadline) {
  std::lock_guard guard(owner_->mutex_);
  auto at = owner_->strangers_.find(id_);
  if (at != owner_->strangers_.end()) {
    at->second.connection = std::move(connection);
    at->second.deadline = deadline;
  }
  return !owner_->is_stopped_;
}

void admission_ticket::authenticated() {
  std::lock_guard guard(owner_->mutex_);
  owner_->strangers_.erase(id_);
}

std::optional<std::uint64_t> admission_ticket::take_log_line(admission::time_point now) {
  return owner_->lines_.take(remote_, now);
}

} // namespace codeq::transport
