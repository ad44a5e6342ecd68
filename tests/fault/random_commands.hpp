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

/// What producers, workers and operators send to one shard, without any of them: commands of every
/// kind that writes, filled in against the shard's memory.
class random_commands {
public:
  /// How long some tasks are kept once they are over; the others for longer than any test takes.
  static constexpr duration brief_retention{20'000};

  /// `session` names the producer's session; `shards` is how many there are for follow-ups.
  random_commands(std::uint64_t seed, producer_id session, std::uint16_t shards);

  /// Brings the workers to a shard that has just started.
  [[nodiscard]] std::vector<core::command> connect() const;

  [[nodiscard]] core::command next(const core::shard_state& state, const instant& now);

  /// True when the lease under that token is reported to be completed.
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
  /// Sent lately, so that some can be sent again.
  std::deque<core::enqueue> sent_;
};

} // namespace codeq::test
