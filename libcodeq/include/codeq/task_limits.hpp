// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/limits.hpp"
#include "codeq/time.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Limits of a tenant, which hold tasks of its queues back: their definition and their use.
namespace codeq {

/// A limit within its tenant; both `[A-Za-z0-9._-]{1,128}`.
struct limit_address {
  std::string tenant = "default";
  std::string name{};

  friend auto operator<=>(const limit_address&, const limit_address&) = default;
};

/// How fast tasks may start: on average `count` in a `period`, and `burst` at once after a pause.
struct start_rate {
  /// 1..`limits::limit_rate_count_max`; so is `burst`, which the rate has to give back within
  /// `limits::limit_burst_time_max`.
  std::uint32_t count = 1;
  /// In milliseconds, `limits::limit_rate_period_min` to `limits::limit_rate_period_max`.
  duration period{1000};
  std::uint32_t burst = 1;

  friend bool operator==(const start_rate&, const start_rate&) = default;
};

/// A limit: how many tasks may be leased at once, and how fast they may start, for each limit key
/// by itself. At least one of them is set.
struct limit_definition {
  /// 0..`limits::limit_concurrency_max`; 0 starts nothing.
  std::optional<std::uint32_t> concurrency{};
  std::optional<start_rate> rate{};

  friend bool operator==(const limit_definition&, const limit_definition&) = default;
};

/// The ready tasks that a limit would hold back at once. Each counts as one start, whatever it
/// costs.
struct limit_forecast {
  std::uint64_t tasks = 0;
  /// Number of their keys.
  std::uint64_t keys = 0;
  /// False when there may be more: a shard looked at as many tasks or keys as it may, or did not
  /// answer.
  bool is_whole = true;

  friend bool operator==(const limit_forecast&, const limit_forecast&) = default;
};

/// A limit and its use, over all shards.
struct limit_info {
  limit_address limit;
  limit_definition definition;
  /// Number of leases that count against it.
  std::uint64_t leased = 0;
  /// Number of ready tasks that it holds back.
  std::uint64_t held = 0;
  /// Number of keys with leases, held tasks, unpaid starts, or that are closed.
  std::uint64_t keys = 0;
  /// After a change or its dry run: number of keys with more leases than the new definition allows.
  /// None of them is revoked.
  std::uint64_t keys_above = 0;
  /// As in `queue_info`.
  bool is_uniform = true;
  std::vector<shard_id> missing{};
  /// Only a dry run has it. It counts the tasks that the limit holds back already, too.
  std::optional<limit_forecast> forecast{};

  friend bool operator==(const limit_info&, const limit_info&) = default;
};

/// A key of a limit that is in use.
struct limit_key_info {
  std::string key;
  std::uint64_t leased = 0;
  /// Number of ready tasks that it holds back.
  std::uint64_t held = 0;
  /// When the first held task can start, or a task of cost 1 when none is held; a time in the past
  /// means now. Empty when a lease has to end, or the concurrency to be raised, first.
  std::optional<timestamp> next_start{};
  /// Nothing starts before, whatever else admits it; the epoch (0): the key is open.
  timestamp closed_until{};
  /// Shards that did not answer in time, whose waiting tasks `held` lacks. Only the answer to a
  /// close or an open may have some.
  std::vector<shard_id> missing{};

  friend bool operator==(const limit_key_info&, const limit_key_info&) = default;
};

/// Which keys of a limit to list.
struct limit_keys_request {
  /// Only keys behind this one; empty: from the first one on, which may be the empty key.
  std::optional<std::string> after{};
  /// 1..`limits::limits_page_max`.
  std::size_t limit = limits::limits_page_default;
  /// Leaves out keys without leases and held tasks, which are closed or have unpaid starts. A page
  /// with `more` may end with one, after `limits::idle_limit_keys_passed_max` of them.
  bool only_busy = false;
};

/// The limits of a tenant.
struct limit_list {
  /// By name.
  std::vector<limit_info> limits{};
  /// The shards that have not answered, ascending. Their tasks are not counted.
  std::vector<shard_id> missing{};
};

/// A part of the keys of a limit that are in use, in the order of their bytes.
struct limit_keys_page {
  limit_address limit;
  std::vector<limit_key_info> keys;
  /// Further keys follow the last one.
  bool more = false;
  /// The shards that have not answered, ascending. Keys that only they know are left out.
  std::vector<shard_id> missing{};
};

} // namespace codeq
