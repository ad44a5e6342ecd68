// SPDX-License-Identifier: Apache-2.0
#include "codeq/attempt.hpp"

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

outcome& outcome::then(task_spec follow_up) & {
  follow_ups_.push_back(std::move(follow_up));
  return *this;
}

outcome&& outcome::then(task_spec follow_up) && {
  follow_ups_.push_back(std::move(follow_up));
  return std::move(*this);
}

} // namespace codeq
