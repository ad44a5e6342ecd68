// SPDX-License-Identifier: Apache-2.0
#include "http/server/connection_hall.hpp"

#include "http/server/connection.hpp"

#include <algorithm>

namespace codeq::http {

bool connection_hall::admit(const std::string& remote) {
  if (remotes.take(remote))
    return true;
  ++options.meter->refused_connections;
  note("http_connections_max", remotes.total(), "remote", remote);
  return false;
}

void connection_hall::enter(connection& fresh, const std::string& remote) {
  if (strangers_count_ >= limits::http_unauthenticated_connections_max) {
    auto most = std::max_element(strangers_.begin(), strangers_.end(), [](auto& a, auto& b) {
      return a.second.size() < b.second.size();
    });
    note(
      "http_unauthenticated_connections_max",
      limits::http_unauthenticated_connections_max,
      "remote",
      most->first);
    most->second.front()->evict();
  }
  strangers_[remote].push_back(&fresh);
  ++strangers_count_;
}

void connection_hall::leave_strangers(connection& one, const std::string& remote) {
  auto at = strangers_.find(remote);
  if (at == strangers_.end())
    return;
  strangers_count_ -= at->second.remove(&one);
  if (at->second.empty())
    strangers_.erase(at);
}

void connection_hall::note(
  std::string_view limit, std::uint64_t max, std::string_view kind, std::string_view who) {
  options.limit_meter->note({limit, max, kind, who});
}

} // namespace codeq::http
