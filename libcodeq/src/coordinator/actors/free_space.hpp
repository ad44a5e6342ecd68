// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "coordinator/actors/disk_reserve.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

namespace codeq::coordinator {

/// Refuses new tasks while the disk is nearly full, so that space remains for claims and results of
/// acknowledged tasks; also reports when there is too little space for those. Used from one thread.
class free_space {
public:
  /// Watches the file system that contains `directory`.
  free_space(
    std::filesystem::path directory,
    std::uint64_t least_bytes,
    std::shared_ptr<disk_reserve> reserve = nullptr);

  /// Checks that tasks may be added. Looks at the disk at most every
  /// `tuning::free_space_look_interval`. Errors: `disk_full`.
  [[nodiscard]] const result<void>& check(monotonic_time now);

  /// True when claims and large results have to wait. `bytes` will be written if the answer is no.
  [[nodiscard]] bool is_tight(monotonic_time now, std::size_t bytes);

private:
  void look_again(monotonic_time now);
  [[nodiscard]] result<std::uint64_t> usable() const;

  std::filesystem::path directory_;
  std::uint64_t least_bytes_;
  std::shared_ptr<disk_reserve> reserve_;
  std::optional<monotonic_time> looked_;
  /// Bytes to be written since the last check.
  std::size_t noted_bytes_ = 0;
  bool is_tight_ = false;
  result<void> found_;
};

} // namespace codeq::coordinator
