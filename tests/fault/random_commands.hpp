// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/command.hpp"
#include "core/state/shard_state.hpp"

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace codeq::test {

/// Random requests of producers, workers and operators to one shard: every kind of command that
/// writes, with details chosen from the shard's state.
class random_commands {
public:
  /// Retention of some tasks; that of the others is longer than any test.
  static constexpr duration brief_retention{20'000};

  /// `session`: the producer's session. `shards`: number of shards, for follow-ups.
  random_commands(std::uint64_t seed, producer_id session, std::uint16_t shards);

  /// Attaches the workers to a shard that has just started.
  [[nodiscard]] std::vector<core::command> connect() const;

  [[nodiscard]] core::command next(const core::shard_state& state, const instant& now);

  /// True when the lease under that token is reported as completed.
  [[nodiscard]] static bool completes(fencing_token token);

private:
  [[nodiscard]] core::command enqueue(const instant& now);
  [[nodiscard]] core::enqueue_run plain_run();
  [[nodiscard]] core::enqueue_run named_run(const instant& now);
  [[nodiscard]] core::command claim();
  [[nodiscard]] core::command report(const core::shard_state& state);
  [[nodiscard]] core::lease_report report_of(const core::task_lease& lease);
  [[nodiscard]] core::command change(const core::shard_state& state);
  [[nodiscard]] core::command configure();
  [[nodiscard]] core::task_lease random_lease(const core::shard_state& state);
  [[nodiscard]] sequence random_task(const core::shard_state& state);
  [[nodiscard]] queue_address random_queue();
  [[nodiscard]] std::string random_text(std::size_t bytes_max);

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  bool one_in(std::uint64_t n) { return below(n) == 0; }

  std::mt19937_64 random_;
  producer_id session_;
  std::uint16_t shards_;
  std::uint64_t requests_ = 0;
  /// Requests sent recently, so that some can be repeated.
  std::deque<core::enqueue> sent_;
};

} // namespace codeq::test
