// SPDX-License-Identifier: Apache-2.0
#include "transport/admission.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_control_block.hpp>

#include <string>

namespace codeq::transport {

result<std::shared_ptr<admission_ticket>> admission::admit() {
  auto full = [](const char* what, std::size_t limit) {
    return error{errc::overloaded, std::string(what) + "=" + std::to_string(limit) + " reached"};
  };
  std::lock_guard guard(mutex_);
  if (connections_ >= connections_max_)
    return full("connections_max", connections_max_);
  if (unauthenticated_ >= unauthenticated_max_)
    return full("unauthenticated_connections_max", unauthenticated_max_);
  auto ticket = std::make_shared<admission_ticket>(shared_from_this(), ++last_id_);
  ++connections_;
  ++unauthenticated_;
  return ticket;
}

std::vector<caf::strong_actor_ptr> admission::take_overdue(time_point now) {
  std::vector<caf::strong_actor_ptr> overdue;
  std::lock_guard guard(mutex_);
  for (auto i = waiting_.begin(); i != waiting_.end();) {
    if (i->second.deadline > now) {
      ++i;
      continue;
    }
    if (auto alive = caf::actor_cast<caf::strong_actor_ptr>(i->second.connection))
      overdue.push_back(std::move(alive));
    i = waiting_.erase(i);
  }
  return overdue;
}

admission_ticket::~admission_ticket() {
  std::lock_guard guard(owner_->mutex_);
  owner_->waiting_.erase(id_);
  --owner_->connections_;
  if (!authenticated_)
    --owner_->unauthenticated_;
}

void admission_ticket::wait_until(caf::actor_addr connection, admission::time_point deadline) {
  std::lock_guard guard(owner_->mutex_);
  owner_->waiting_[id_] = {std::move(connection), deadline};
}

void admission_ticket::authenticated() {
  std::lock_guard guard(owner_->mutex_);
  owner_->waiting_.erase(id_);
  if (!authenticated_)
    --owner_->unauthenticated_;
  authenticated_ = true;
}

} // namespace codeq::transport
