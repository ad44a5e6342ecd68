// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"

#include "base/tuning.hpp"
#include "storage/retention/retention_filter.hpp"
#include "storage/task_store.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace codeq::storage {

struct retention_keeper_options {
  std::shared_ptr<task_store> store;
  std::shared_ptr<retention_horizons> horizons;
  /// Above this size the oldest outcomes and fates are dropped before their retention has passed.
  /// Records of shards without a horizon do not count, since none of them may be dropped yet. Their
  /// number does not grow: a shard that adds records takes snapshots, and so has a horizon.
  std::uint64_t bytes_max = limits::retention_bytes_default;
  /// The same for the audit log.
  std::uint64_t audit_bytes_max = limits::audit_bytes_max;
  /// Files are not rewritten if they have grown by less than this.
  std::uint64_t slack_bytes = tuning::retention_slack_bytes;
};

/// Frees the space of ended tasks. Most of it is freed by the store itself when it rewrites its
/// files for other reasons. But files may stay untouched for a long time, so the keeper has
/// outcomes, fates, histories and headers rewritten when they have grown by half. Used from one
/// thread, which waits meanwhile.
class retention_keeper {
public:
  explicit retention_keeper(retention_keeper_options options) : options_(std::move(options)) {}

  /// Checks once whether files are to be rewritten. Ends early when `cancelled` becomes true.
  /// Errors: of the store.
  [[nodiscard]] result<void> look(std::atomic<bool>& cancelled);

private:
  /// Size of outcomes and fates together, of histories and headers, and of the audit log, in bytes.
  struct sizes {
    std::uint64_t ends = 0;
    std::uint64_t histories = 0;
    std::uint64_t audits = 0;
    /// The parts of `ends` and `audits` that belong to shards with a horizon.
    std::uint64_t droppable_ends = 0;
    std::uint64_t droppable_audits = 0;
  };

  [[nodiscard]] result<sizes> measure() const;
  [[nodiscard]] bool has_grown(std::uint64_t bytes, std::uint64_t kept) const;
  [[nodiscard]] result<void>
  choose_victims(std::uint64_t bytes, const std::atomic<bool>& cancelled);
  [[nodiscard]] result<timestamp> oldest(const std::atomic<bool>& cancelled) const;
  [[nodiscard]] result<void> choose_audit_victims(std::uint64_t bytes);
  [[nodiscard]] result<void> rewrite(std::atomic<bool>& cancelled);

  retention_keeper_options options_;
  /// Sizes after the last rewrite.
  sizes kept_;
  /// The view that the last rewrite used.
  retention_view judged_by_;
};

} // namespace codeq::storage
