// SPDX-License-Identifier: Apache-2.0
// The part of `session` that follows shards which come to this coordinator and leave it.
#include "coordinator/session/session.hpp"

namespace codeq::coordinator {

bool session::is_here(shard_id shard) const {
  return !options_.places || options_.places->serves(shard);
}

void session::find_places() {
  for_each_shard([this](shard_id shard) {
    if (!is_here(shard))
      carry_out(router_.set_here(shard, false));
  });
}

void session::shard_came(shard_id shard) {
  // It has forgotten which room for tasks it was given before, and who has resumed.
  if (!router_.is_here(shard)) {
    window_.forget(shard);
    resumes_.erase(shard);
  }
  carry_out(router_.set_here(shard, true));
  tell_arrival(shard);
}

void session::shard_left(shard_id shard) {
  window_.forget(shard);
  resumes_.erase(shard);
  producer_shards_.erase(shard);
  // The peer sends again where the shard is now what was not answered.
  std::erase_if(enqueue_bytes_, [&](const auto& waiting) {
    const auto is_there = waiting.second.shard == shard;
    inflight_bytes_ -= is_there ? waiting.second.bytes : 0;
    return is_there;
  });
  carry_out(router_.set_here(shard, false));
  tell_places(shard);
}

} // namespace codeq::coordinator
