// SPDX-License-Identifier: Apache-2.0
// The desk's functions for a cluster, in which operations move with the shards of their records.
#include "http/operations/operation_desk.hpp"
#include "observe/log.hpp"

#include <iterator>
#include <utility>

namespace codeq::http {

void operation_desk::leave(std::uint16_t shard) {
  std::vector<waiter> waiters;
  std::vector<enqueue_ticket> saving;
  for (auto at = all_.begin(); at != all_.end();) {
    const auto& o = at->second.run.operation();
    if (home_of(o.request.tenant, o.id, desk_->shard_count()) != shard) {
      ++at;
      continue;
    }
    CODEQ_LOG_INFO("gateway leaves an operation id={} shard={}", o.id, shard);
    if (!is_over(o.status))
      places_.give_back(o.request.tenant);
    desk_->cancel(at->second.timer);
    saving.push_back(at->second.saving);
    std::move(
      at->second.waiters.begin(), at->second.waiters.end(), std::back_inserter(waiters));
    at = all_.erase(at);
  }
  for (const auto& one : waiters)
    one.done(moved_away());
  // They would be sent again, and replace what the next coordinator stores.
  for (const auto& ticket : saving)
    desk_->give_up(ticket);
}

void operation_desk::grant(const std::string& text, shard_desk::then<std::string> done) {
  auto wish = read_wish(text);
  if (!wish)
    return done(wish.error());
  alter_own(*wish, [done = std::move(done)](const result<void>& outcome) {
    done(outcome ? result<std::string>(std::string()) : outcome.error());
  });
}

} // namespace codeq::http
