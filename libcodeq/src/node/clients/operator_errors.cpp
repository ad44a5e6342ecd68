// SPDX-License-Identifier: Apache-2.0
#include "node/clients/operator_errors.hpp"

#include <utility>

namespace codeq::node {

error no_answer(duration waited) {
  return {
    errc::timeout,
    "the coordinator did not answer within " + std::to_string(waited.count()) + " ms"};
}

error unknown_queue(const queue_address& queue) {
  return {errc::unknown_queue, "tenant " + queue.tenant + " has no queue `" + queue.queue + "`"};
}

error not_changed(
  const error& reason, client::change_places earlier, std::uint16_t at, std::uint16_t shards) {
  auto& own = client::is_outcome_known(reason) ? earlier.undone : earlier.silent;
  own.push_back(shard_id{at});
  for (auto shard = at; ++shard < shards;)
    earlier.undone.push_back(shard_id{shard});
  return client::after_change(reason, earlier);
}

error after_tasks(const error& reason, std::uint64_t changed) {
  if (changed == 0)
    return reason;
  return {reason.code, reason.context + "; " + std::to_string(changed) + " tasks were changed"};
}

error
out_of_range(const char* field, std::uint64_t found, std::uint64_t least, std::uint64_t most) {
  return {
    errc::invalid_argument,
    std::string(field) + " is " + std::to_string(found) + "; it must be " + std::to_string(least)
      + ".." + std::to_string(most)};
}

} // namespace codeq::node
