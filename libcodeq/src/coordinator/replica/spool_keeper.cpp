// SPDX-License-Identifier: Apache-2.0
#include "coordinator/replica/spool_keeper.hpp"

#include "replication/timing.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

void spool_keeper::keep(
  replication::replica_id to, replication::position after, monotonic_time now) {
  tails_.insert_or_assign(to, tail{after, now});
  tell();
}

void spool_keeper::advance(replication::replica_id to, replication::position after) {
  if (const auto kept = tails_.find(to); kept != tails_.end())
    kept->second.after = after;
  tell();
}

void spool_keeper::release(std::span<const replication::replica_id> replicas) {
  for (auto replica : replicas)
    tails_.erase(replica);
  tell();
}

void spool_keeper::note_heard(replication::replica_id from, monotonic_time now) {
  if (const auto kept = tails_.find(from); kept != tails_.end())
    kept->second.heard = now;
}

void spool_keeper::drop_silent(monotonic_time now) {
  std::erase_if(tails_, [now](const auto& kept) {
    return kept.second.heard + replication::timing::copy_silence < now;
  });
  tell();
}

void spool_keeper::clear() {
  tails_.clear();
  tell();
}

void spool_keeper::tell() {
  std::optional<std::uint64_t> from;
  for (const auto& [to, kept] : tails_)
    from = std::min(from.value_or(kept.after.number + 1), kept.after.number + 1);
  if (std::exchange(told_, from) != from)
    host_.keep_spool(from);
}

} // namespace codeq::coordinator
