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

  /// Whether tasks may be added. Errors: `disk_full`. Looks at most every
  /// `limits::free_space_look_interval`.
  [[nodiscard]] const result<void>& check(monotonic_time now);

private:
  [[nodiscard]] result<void> look() const;

  std::filesystem::path directory_;
  std::uint64_t least_bytes_;
  std::optional<monotonic_time> looked_;
  result<void> found_;
};

} // namespace codeq::coordinator
