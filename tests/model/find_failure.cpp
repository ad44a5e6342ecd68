// SPDX-License-Identifier: Apache-2.0
#include "model/lock_step.hpp"

#include <csignal>
#include <cstdio>
#include <exception>

namespace codeq::model {

namespace {

/// The seed of the running sequence, printed when an assertion fails.
volatile std::uint64_t running_seed = 0;

void say_seed(int) {
  std::fprintf(
    stderr,
    "the sequence with CODEQ_SEED=%llu was running\n",
    static_cast<unsigned long long>(running_seed));
  std::signal(SIGABRT, SIG_DFL);
}

/// Half of the sequences, in pairs, keep almost no segment unpacked, in blocks of few segments.
core::paging_limits paging_of(std::uint64_t seed) {
  core::paging_limits paging;
  paging.sparse_part = static_cast<std::uint32_t>(1 + seed % 3);
  paging.copied_wait_min = duration{0};
  if (seed / 2 % 2 == 0)
    return paging;
  paging.weight_kept = seed % 3 * core::segment_table::segment_weight;
  paging.block_segments_max = 2;
  paging.block_tasks_max = 5;
  return paging;
}

std::optional<failure> run(const std::vector<step>& steps, const history_maker& make_history) {
  try {
    return lock_step(make_history(), paging_of(running_seed)).run(steps);
  } catch (const std::exception& e) {
    return failure{steps.size(), std::string("exception: ") + e.what() + '\n'};
  }
}

/// Removes ever smaller pieces of the sequence as long as the rest still fails.
std::vector<step> shortened(std::vector<step> steps, const history_maker& make_history) {
  for (auto piece = steps.size() / 2; piece > 0; piece /= 2) {
    for (std::size_t at = 0; at + piece <= steps.size();) {
      auto rest = steps;
      auto from = rest.begin() + static_cast<std::ptrdiff_t>(at);
      rest.erase(from, from + static_cast<std::ptrdiff_t>(piece));
      if (run(rest, make_history))
        steps = std::move(rest);
      else
        at += piece;
    }
  }
  return steps;
}

std::string in_words(const std::vector<step>& steps) {
  std::string text;
  for (const auto& s : steps)
    text += "  " + std::string(to_string(s.kind)) + ' ' + std::to_string(s.randomness) + '\n';
  return text;
}

} // namespace

std::string find_failure(
  std::uint64_t seed, std::size_t count, std::size_t steps, const history_maker& make_history) {
  std::signal(SIGABRT, say_seed);
  for (std::size_t i = 0; i < count; ++i) {
    running_seed = seed + i;
    // Every second sequence restarts; without restarts, tasks live through more of their states.
    auto sequence_of_steps = random_steps(seed + i, steps, (seed + i) % 2 == 0);
    auto failed = run(sequence_of_steps, make_history);
    if (!failed)
      continue;
    auto shorter = shortened(sequence_of_steps, make_history);
    auto again = run(shorter, make_history);
    return "CODEQ_SEED=" + std::to_string(seed + i) + " fails at step "
           + std::to_string(failed->step) + ":\n" + failed->what + "shortened to "
           + std::to_string(shorter.size()) + " steps:\n" + in_words(shorter) + "which fail with:\n"
           + (again ? again->what : std::string("nothing"));
  }
  return {};
}

} // namespace codeq::model
