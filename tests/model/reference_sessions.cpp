// SPDX-License-Identifier: Apache-2.0
#include "model/reference_shard.hpp"

#include <algorithm>

/// Lifetime of producer sessions in the reference.
namespace codeq::model {

namespace {

constexpr std::chrono::hours idle_max{24};
constexpr std::chrono::hours ahead_max{1};

} // namespace

errc reference_shard::session_trouble(const core::request_id& request) const {
  auto created = created_at(request.producer);
  auto known = producers.find(request.producer);
  auto alive = known == producers.end() ? created : std::max(created, known->second.last_used);
  if (now_.shard >= alive + idle_max)
    return errc::session_expired;
  bool is_new = known == producers.end();
  return is_new && created > now_.shard + ahead_max ? errc::invalid_argument : errc::none;
}

bool reference_shard::is_idle(const producer_id& id, const reference_producer& producer) const {
  return now_.shard >= std::max(created_at(id), producer.last_used) + idle_max;
}

void reference_shard::run(const core::end_session& c) {
  auto known = producers.find(c.producer);
  // A session of which every request was refused is not known to the shard, and one that was idle
  // for too long may have been forgotten.
  if (known == producers.end() || known->second.last_used == timestamp{})
    return;
  known->second.is_ended = !is_idle(c.producer, known->second);
}

void reference_shard::forget_ended_sessions(const core::snapshot_taken& snapshot) {
  std::erase_if(producers, [&](const auto& entry) {
    const auto& [id, producer] = entry;
    bool is_forgotten =
      std::binary_search(snapshot.ended_producers.begin(), snapshot.ended_producers.end(), id);
    if (producer.is_ended && !is_forgotten)
      broken.push_back("a session that its producer ended was not forgotten");
    if (is_forgotten && !producer.is_ended && !is_idle(id, producer))
      broken.push_back("a session that its producer did not end was forgotten");
    return is_forgotten && producer.is_ended;
  });
}

} // namespace codeq::model
