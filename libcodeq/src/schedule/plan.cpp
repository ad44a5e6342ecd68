// SPDX-License-Identifier: Apache-2.0
#include "schedule/plan.hpp"

#include "base/enum_names.hpp"
#include "schedule/choice.hpp"

#include <algorithm>

namespace codeq::schedule {

namespace {

std::size_t caught_up_max(misfire_policy policy) {
  switch (policy) {
  case misfire_policy::latest:
    return 1;
  case misfire_policy::all:
    return occurrences_max;
  case misfire_policy::skip:
    break;
  }
  return 0;
}

/// Decides about all occurrences that were due before `since`. @pre `to.next` is one of them
void pass_missed(const timetable& times, const catch_up& how, timestamp since, planned& to) {
  auto from = to.next->due;
  auto window = std::clamp(how.window, duration{0}, catch_up_max);
  to.to_fire = times.last_of(std::max(from, since - window), since, caught_up_max(how.policy));
  auto skipped_until = to.to_fire.empty() ? since : to.to_fire.front().due;
  to.skipped = times.count(from, skipped_until);
  to.newest_skipped = times.last_of(from, skipped_until, skipped_named_max);
  to.mark = to.to_fire.empty() ? to.newest_skipped.back().nominal : to.to_fire.back().nominal;
  to.next = times.next_after(to.mark);
}

} // namespace

result<misfire_policy> parse_misfire_policy(std::string_view text) {
  return parse_choice<misfire_policy>("misfire", text, base::misfire_names);
}

planned plan(
  const timetable& times,
  const nominal_time& mark,
  const catch_up& how,
  const serving& when,
  std::size_t most) {
  planned done;
  done.mark = mark;
  done.next = times.next_after(mark);
  // What is due at this very moment is not missed.
  auto since = std::min(when.since, when.now);
  if (done.next && done.next->due < since)
    pass_missed(times, how, since, done);
  if (done.to_fire.size() > most) {
    // The rest is found again: it is what the policy catches up of the occurrences that are left.
    done.to_fire.resize(most);
    done.mark = done.to_fire.back().nominal;
    done.next = times.next_after(done.mark);
  }
  while (done.next && done.next->due <= when.now && done.to_fire.size() < most) {
    done.to_fire.push_back(*done.next);
    done.mark = done.next->nominal;
    done.next = times.next_after(done.mark);
  }
  return done;
}

} // namespace codeq::schedule
