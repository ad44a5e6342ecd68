// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "neighbours/shard_node.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace codeq::neighbours {

/// Three shards on coordinators of their own under virtual time, with a network that loses, doubles
/// and delays messages, and coordinators that die, lose power, or are continued from an old copy.
/// Every random decision comes from the seed; the durability mode too.
class world final : public surroundings {
public:
  /// `with_settings`: an operator changes settings of queues and limits on shard 0, which have to
  /// reach the others.
  explicit world(std::uint64_t seed, bool with_settings = false);

  /// Works under faults, then without any. Returns what was violated; empty: nothing.
  [[nodiscard]] std::string run();

  /// The same during a hold for a backup, which ends then.
  [[nodiscard]] std::string run_held();

  [[nodiscard]] std::size_t acknowledged() { return book_.entries().size(); }

  [[nodiscard]] std::size_t certain() const { return certain_; }

  [[nodiscard]] monotonic_time now() const override { return now_; }
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) override { return random_() % bound; }
  void after(duration wait, std::function<void()> what) override;
  void send(shard_id to, const coordinator::neighbour_message& said) override;
  ledger& book() override { return book_; }

private:
  void work_under_faults();
  void pass(duration time);
  void bring_back(shard_node& node);
  void serve(shard_node& node);
  void disturb();
  void note_loss(const shard_node& gone);
  [[nodiscard]] std::string check_held();
  [[nodiscard]] std::string check();
  [[nodiscard]] std::string check_settings() const;

  std::mt19937_64 random_;
  bool with_settings_;
  monotonic_time now_{std::chrono::hours{1}};
  std::uint64_t order_ = 0;
  std::map<std::pair<monotonic_time, std::uint64_t>, std::function<void()>> due_;
  ledger book_;
  bool is_disturbed_ = true;
  bool has_forced_ = false;
  std::string wrong_;
  std::size_t certain_ = 0;
  std::vector<std::unique_ptr<shard_node>> nodes_;
};

} // namespace codeq::neighbours
