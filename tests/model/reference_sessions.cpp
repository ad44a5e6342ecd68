// SPDX-License-Identifier: Apache-2.0
#include "model/reference_shard.hpp"

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

} // namespace codeq::model
