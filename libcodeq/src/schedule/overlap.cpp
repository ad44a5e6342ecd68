// SPDX-License-Identifier: Apache-2.0
#include "schedule/overlap.hpp"

#include "base/enum_names.hpp"
#include "schedule/choice.hpp"

namespace codeq::schedule {

result<overlap_policy> parse_overlap_policy(std::string_view text) {
  return parse_choice<overlap_policy>("overlap", text, base::overlap_names);
}

overlap_decision decide_overlap(overlap_policy policy, overlap_state state) {
  using act = overlap_decision::act;
  if (policy == overlap_policy::allow || (!state.is_running && !state.is_one_waiting))
    return {};
  switch (policy) {
  case overlap_policy::queue_one:
    return {.what = state.is_one_waiting ? act::skip : act::wait};
  case overlap_policy::cancel_previous:
    return {act::wait, state.is_running, state.is_one_waiting};
  case overlap_policy::allow:
  case overlap_policy::skip:
    break;
  }
  return {.what = act::skip};
}

bool releases_waiting(overlap_policy policy, overlap_state state) {
  return state.is_one_waiting && (!state.is_running || policy == overlap_policy::allow);
}

} // namespace codeq::schedule
