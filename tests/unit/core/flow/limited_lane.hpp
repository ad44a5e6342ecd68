// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/flow/limit_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::core {

inline constexpr std::uint32_t stripe = 1;
inline constexpr std::uint32_t mail = 2;

/// Ready tasks in a lane, in order, and held ones; grants go through the limits as a shard's do.
class limited_lane {
public:
  void add(sequence seq, std::vector<limit_use> uses, std::uint8_t priority = 0) {
    tasks[seq] = {seq, priority, std::move(uses)};
    lane.insert(seq);
  }

  /// One task of the key `a` for each of so many queues.
  void add_to_queues(sequence count) {
    for (sequence seq = 1; seq <= count; ++seq) {
      add(seq, {{{stripe, "a"}}});
      tasks[seq].queue = static_cast<std::uint32_t>(seq);
    }
  }

  /// Grants what the limits admit, at most `credits` tasks, and returns their numbers.
  std::vector<sequence> grant(std::size_t credits = 1000) {
    auto released = limits.release(now);
    most_released = std::max(most_released, released.size());
    for (auto seq : released)
      EXPECT_TRUE(lane.insert(seq).second) << seq << " was released twice";
    std::vector<sequence> granted;
    while (!lane.empty() && granted.size() < credits) {
      const auto& task = tasks.at(*lane.begin());
      lane.erase(lane.begin());
      if (auto why = limits.check(task, now)) {
        limits.hold(task, *why);
        continue;
      }
      limits.take(task, now);
      leased.insert(task.seq);
      granted.push_back(task.seq);
    }
    return granted;
  }

  void end(sequence seq) {
    leased.erase(seq);
    limits.free(tasks.at(seq).uses, now);
  }

  void cancel(sequence seq) {
    limits.drop(tasks.at(seq));
    lane.erase(seq);
    tasks.erase(seq);
  }

  limit_keys limits;
  std::map<sequence, limited_task> tasks;
  std::set<sequence> lane;
  std::set<sequence> leased;
  std::size_t most_released = 0;
  timestamp now{duration{1'000'000}};
};

using numbers = std::vector<sequence>;

} // namespace codeq::core
