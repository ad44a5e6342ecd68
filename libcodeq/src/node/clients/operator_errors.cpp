// SPDX-License-Identifier: Apache-2.0
#include "node/clients/operator_errors.hpp"

namespace codeq::node {

error no_answer(duration waited) {
  return {
    errc::timeout,
    "the coordinator did not answer within " + std::to_string(waited.count()) + " ms"};
}

error unknown_queue(const queue_address& queue) {
  return {errc::unknown_queue, "tenant " + queue.tenant + " has no queue `" + queue.queue + "`"};
}

error after_shards(const error& reason, std::uint16_t done, std::uint16_t all) {
  return {
    reason.code,
    reason.context + "; done on " + std::to_string(done) + " of " + std::to_string(all)
      + " shards, ask again for the rest"};
}

bool is_silence(const error& reason) {
  return reason.code == errc::timeout || reason.code == errc::disconnected;
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
