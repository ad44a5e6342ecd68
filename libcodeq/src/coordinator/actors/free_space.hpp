// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace codeq::coordinator {

/// Refuses new tasks while the disk is nearly full, so that the rest is there for the claims and
/// results of those that are acknowledged already. Used from one thread.
class free_space {
public:
  /// Of the file system that `directory` is on.
  free_space(std::filesystem::path directory, std::uint64_t least_bytes);

  /// Why no task may be added, `disk_full`, or `errc::none` when there is room. Looks at most every
  /// `limits::free_space_look_interval`.
  [[nodiscard]] const error& refusal(monotonic_time now);

private:
  [[nodiscard]] error look() const;

  std::filesystem::path directory_;
  std::uint64_t least_bytes_;
  std::optional<monotonic_time> looked_;
  error refusal_{};
};

} // namespace codeq::coordinator
