// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace codeq::coordinator {

/// Decides when a shard of a cluster asks other shards again for the ends of the tasks that its
/// schedules have there: those shards forget who waits when they are served anew, and their words
/// may be lost. Requests to cancel such tasks are repeated as well, until the tasks have ended.
/// Pure.
class end_questions {
public:
  static constexpr duration interval{1000};
  /// The tasks of one question to a shard; the next one has those that follow.
  static constexpr std::size_t tasks_max = 1000;

  struct question {
    shard_id to{};
    std::vector<sequence> tasks;
    std::vector<sequence> cancels;

    friend bool operator==(const question&, const question&) = default;
  };

  /// Another shard was asked for the end of a task.
  void asked(monotonic_time now);

  /// Another shard was asked to cancel a task.
  void cancelled(shard_id to, sequence task, monotonic_time now);

  /// Other shards are served anew.
  void moved(monotonic_time now) { look_ = now; }

  [[nodiscard]] bool is_due(monotonic_time now) const { return look_ && *look_ <= now; }

  /// When to ask again; empty: never.
  [[nodiscard]] const std::optional<monotonic_time>& next_look() const noexcept { return look_; }

  /// The questions to ask now. `open`: all tasks on other shards whose ends are wanted.
  [[nodiscard]] std::vector<question>
  take(std::map<shard_id, std::vector<sequence>> open, monotonic_time now);

private:
  std::optional<monotonic_time> look_;
  /// The last task of the last question to each shard.
  std::map<shard_id, sequence> last_;
  /// Tasks that are to be cancelled and may not have ended.
  std::map<shard_id, std::set<sequence>> cancels_;
};

} // namespace codeq::coordinator
