// SPDX-License-Identifier: Apache-2.0
#include "codeq/attempt.hpp"

#include "codeq/limits.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace codeq {

outcome outcome::completed(std::string result) {
  return {disposition::completed, std::move(result)};
}

outcome outcome::failed(std::string reason) {
  return {disposition::failed, std::move(reason)};
}

outcome outcome::failed_permanently(std::string reason) {
  return {disposition::failed_permanently, std::move(reason)};
}

outcome outcome::nack(duration delay, std::string reason) {
  outcome ended{disposition::nack, std::move(reason)};
  ended.delay_ = delay;
  return ended;
}

outcome outcome::nack(std::string reason) {
  return {disposition::nack, std::move(reason)};
}

outcome outcome::abandon() {
  return {disposition::abandon, {}};
}

outcome outcome::limited(duration retry_after, std::string limit, std::string reason) {
  outcome ended{disposition::limited, std::move(reason)};
  ended.delay_ = retry_after;
  ended.limit_name_ = std::move(limit);
  return ended;
}

outcome& outcome::cost(std::string limit, std::uint32_t actual) & {
  if (actual > limits::limit_cost_settled_max)
    throw std::invalid_argument(
      "the cost for limit " + limit + " is " + std::to_string(actual) + "; it must be at most "
      + std::to_string(limits::limit_cost_settled_max));
  auto known = std::find_if(
    costs_.begin(), costs_.end(), [&](const task_limit& cost) { return cost.name == limit; });
  if (known != costs_.end()) {
    known->cost = actual;
    return *this;
  }
  if (costs_.size() == limits::task_limits_max)
    throw std::invalid_argument(
      "costs for more than " + std::to_string(limits::task_limits_max) + " limits");
  costs_.push_back({std::move(limit), {}, actual});
  return *this;
}

outcome&& outcome::cost(std::string limit, std::uint32_t actual) && {
  return std::move(cost(std::move(limit), actual));
}

outcome& outcome::then(task_spec follow_up) & {
  follow_ups_.push_back(std::move(follow_up));
  return *this;
}

outcome&& outcome::then(task_spec follow_up) && {
  follow_ups_.push_back(std::move(follow_up));
  return std::move(*this);
}

} // namespace codeq
