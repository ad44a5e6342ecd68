// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_handlers.hpp"

#include "sim/workload.hpp"

#include <utility>

namespace codeq::sim {

namespace {

/// Prefix of the names of follow-ups.
const std::string follow_up_mark = "f-";

lease_place place_of(const task& attempt) {
  return {attempt.id.shard, attempt.token};
}

} // namespace

void sim_handlers::run(worker::handler_number handler, std::vector<task> attempts) {
  auto& random = world_.random.handlers;
  auto number = ++last_run_;
  auto& begun = runs_[number] = {handler, std::move(attempts), {}};
  begun.saves.resize(begun.attempts.size());
  for (std::size_t i = 0; i < begun.attempts.size(); ++i) {
    if (random.hits(300))
      save_sometimes(number, i);
    begun.attempts[i].cancel->on_request([this, number] {
      // Most handlers stop soon after a cancellation, some ignore it.
      if (world_.random.handlers.hits(700))
        parts_.after(
          duration{world_.random.handlers.between(1, 300)}, [this, number] { finish(number); });
    });
  }
  // Most tasks are short; some outlast many heartbeats.
  auto wait = duration{random.hits(50) ? random.between(500, 9'000) : random.between(1, 150)};
  parts_.after(wait, [this, number] { finish(number); });
}

void sim_handlers::finish(std::uint64_t run) {
  // A handler that stopped on request has finished earlier.
  auto ended = runs_.extract(run);
  if (!ended)
    return;
  const auto& [handler, attempts, saves] = ended.mapped();
  if (world_.random.handlers.hits(10))
    return parts_.end(handler, outcome::failed("handler ended"));
  std::vector<outcome> answers;
  for (const auto& attempt : attempts)
    answers.push_back(
      attempt.cancel->requested() && world_.random.handlers.hits(700) ? outcome::failed("stopped")
                                                                      : some_outcome(attempt));
  parts_.answer(handler, std::move(answers));
}

std::string sim_handlers::text_of(const task& attempt, std::uint64_t number) const {
  return parts_.of.name + "-" + std::to_string(parts_.of.incarnation) + "-"
         + std::to_string(value(attempt.id.shard)) + "-" + std::to_string(value(attempt.token))
         + "-" + std::to_string(number);
}

outcome sim_handlers::some_completion(const task& attempt, const std::string& text) {
  auto& random = world_.random.handlers;
  auto done = outcome::completed(text);
  // Follow-ups add no follow-ups, so that the run ends; a purge would remove expected follow-ups.
  bool may_follow =
    !attempt.payload.view().starts_with(follow_up_mark) && attempt.queue != purged_queue;
  if (!may_follow || !random.hits(300))
    return done;
  for (auto i = random.between(1, 3); i > 0; --i) {
    task_spec next;
    next.queue = attempt.queue;
    next.payload = follow_up_mark + text + "-" + std::to_string(i);
    // Half of them have a group and thus a shard of their own.
    if (random.hits(500))
      next.group = follow_up_mark + std::to_string(random.below(4));
    done.then(std::move(next));
  }
  parts_.audit->will_follow(place_of(attempt), text, done.follow_ups());
  return done;
}

outcome sim_handlers::some_outcome(const task& attempt) {
  auto& random = world_.random.handlers;
  auto text = text_of(attempt, ++outcomes_);
  auto which = random.below(100);
  if (which < 75)
    return some_completion(attempt, text);
  if (which < 85)
    return outcome::failed(text);
  if (which < 92)
    return outcome::nack(duration{random.between(0, 1'500)}, text);
  if (which < 96)
    return outcome::abandon();
  if (which < 98)
    return outcome::nack(text);
  return outcome::failed_permanently(text);
}

void sim_handlers::save_sometimes(std::uint64_t run, std::size_t which) {
  auto found = runs_.find(run);
  if (found == runs_.end())
    return;
  const auto& attempt = found->second.attempts[which];
  auto number = ++found->second.saves[which];
  auto state = text_of(attempt, number);
  auto place = place_of(attempt);
  parts_.audit->saves(place, number, state);
  attempt.save_checkpoint(std::move(state), [this, place, number](bool saved) {
    if (saved)
      parts_.saved(place, number);
  });
  parts_.after(duration{world_.random.handlers.between(5, 400)}, [this, run, which] {
    save_sometimes(run, which);
  });
}

} // namespace codeq::sim
