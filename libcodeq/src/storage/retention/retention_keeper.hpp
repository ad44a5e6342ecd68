// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"

#include "storage/retention/retention_filter.hpp"
#include "storage/task_store.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace codeq::storage {

struct retention_keeper_options {
  std::shared_ptr<task_store> store;
  std::shared_ptr<retention_horizons> horizons;
  /// Beyond it the oldest outcomes and fates go before their retention has passed.
  std::uint64_t bytes_max = limits::retention_bytes_default;
  /// Grown by less than this, they are not rewritten.
  std::uint64_t slack_bytes = limits::retention_slack_bytes;
};

/// Gives the space of ended tasks back. Most of it comes back by itself, while the store rewrites
/// its files for other reasons; but files at rest may be left alone for long, so this has outcomes,
/// fates and histories rewritten when they have grown by half. Used from one thread, which waits
/// meanwhile.
class retention_keeper {
public:
  explicit retention_keeper(retention_keeper_options options) : options_(std::move(options)) {}

  /// Looks once. Ends early when `cancelled` becomes true. Errors: of the store.
  [[nodiscard]] result<void> look(std::atomic<bool>& cancelled);

private:
  /// Bytes of outcomes and fates together, and of histories.
  struct sizes {
    std::uint64_t ends = 0;
    std::uint64_t histories = 0;
  };

  [[nodiscard]] result<sizes> measure() const;
  [[nodiscard]] bool has_grown(std::uint64_t bytes, std::uint64_t kept) const;
  [[nodiscard]] result<void>
  choose_victims(std::uint64_t bytes, const std::atomic<bool>& cancelled);
  [[nodiscard]] result<timestamp> oldest(const std::atomic<bool>& cancelled) const;
  [[nodiscard]] result<void> rewrite(std::atomic<bool>& cancelled);

  retention_keeper_options options_;
  /// What was left after the last rewriting.
  sizes kept_;
  /// By which it judged.
  retention_view judged_by_;
};

} // namespace codeq::storage
