// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "storage/retention/retention_filter.hpp"
#include "storage/task_store.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace codeq::storage {

/// The reference store: an ordered map that can lose power. For tests, the simulation and
/// comparison with `rocksdb_store`; thread-safe.
class memory_store final : public task_store {
public:
  memory_store() = default;

  /// `compact` drops records by these horizons.
  explicit memory_store(std::shared_ptr<retention_horizons> horizons)
    : horizons_(std::move(horizons)) {}

  [[nodiscard]] result<void>
  commit(std::span<const std::shared_ptr<const write_set>> sets, durability mode) override;
  [[nodiscard]] result<void> sync_log() override;
  [[nodiscard]] result<std::optional<std::string>> read(std::string_view key) const override;
  [[nodiscard]] bool may_have(std::string_view key) const override;
  [[nodiscard]] result<void>
  read_many(std::span<const std::string> keys, const value_visitor& visit) const override;
  [[nodiscard]] result<void>
  scan(std::string_view begin, std::string_view end, const pair_visitor& visit) const override;
  [[nodiscard]] std::unique_ptr<store_view> view() const override;
  [[nodiscard]] result<std::optional<std::pair<std::string, std::string>>>
  read_last(std::string_view begin, std::string_view end) const override;
  [[nodiscard]] result<void>
  compact(std::string_view begin, std::string_view end, std::atomic<bool>& cancelled) override;
  [[nodiscard]] result<std::uint64_t>
  approximate_bytes(std::string_view begin, std::string_view end) const override;
  [[nodiscard]] std::uint64_t counter(std::string_view name) const override;

  /// Simulates a power cut: drops the batches committed in `os` mode since the last sync, except
  /// the first `kept` of them.
  void cut_power(std::size_t kept = 0);

  /// Number of batches that a power cut may lose.
  [[nodiscard]] std::size_t unsynced_batches() const;

private:
  using contents = std::map<std::string, std::string, std::less<>>;

  static void apply(contents& target, const write_set& set);

  /// @pre `mutex_` is held
  void bring_to_disk();

  std::shared_ptr<retention_horizons> horizons_;
  mutable std::mutex mutex_;
  contents current_;
  contents synced_;
  std::vector<std::vector<std::shared_ptr<const write_set>>> unsynced_;
  std::uint64_t operations_ = 0;
};

} // namespace codeq::storage
