// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/coordinator_actors.hpp"
#include "coordinator/actors/disk_reserve.hpp"
#include "observe/limit_meter.hpp"
#include "storage/retention/retention_keeper.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace codeq::coordinator {

struct keeper_options {
  storage::retention_keeper_options keep;
  /// Set when the process stops; ends the current work.
  std::shared_ptr<std::atomic<bool>> cancelled;
  /// Called when the store failed; must not return.
  std::function<void(const error&)> on_failure;
  std::shared_ptr<observe::limit_meter> meter = std::make_shared<observe::limit_meter>();
  /// Null: the space of purged tasks is freed by and by.
  std::shared_ptr<disk_reserve> reserve{};
  /// With fewer bytes free, the space of purged tasks is freed at once.
  std::uint64_t free_bytes = 0;
};

/// The state of the keeper.
class keeper_state {
public:
  static constexpr const char* name = "keeper";

  void start(keeper_actor::pointer self, keeper_options options);
  void look();

  /// Frees the space of purged tasks if the disk is full.
  void reclaim();

private:
  /// True when the space of these purges is to be freed now. @pre the disk is full
  [[nodiscard]] bool is_due(std::uint64_t purges);
  void reclaim_now(std::uint64_t before);

  keeper_actor::pointer self_ = nullptr;
  keeper_options options_;
  std::optional<storage::retention_keeper> keeper_;
  /// Purges whose space was freed, and those that the latest look saw.
  std::uint64_t purges_ = 0;
  std::uint64_t seen_purges_ = 0;
  /// How often the space of the latest purge is still to be freed while the disk is full, and the
  /// number of looks until then.
  unsigned tries_ = 0;
  unsigned looks_left_ = 0;
};

/// Frees the space of ended tasks, on a thread of its own.
[[nodiscard]] keeper_actor::behavior_type
keeper(keeper_actor::stateful_pointer<keeper_state> self, const keeper_options& options);

} // namespace codeq::coordinator
