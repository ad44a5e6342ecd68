// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::core {

/// The encoded bodies of consecutive tasks, one after the other in one slice, and the size of each.
/// The core never parses them: they go to disk and to the worker unchanged.
struct encoded_tasks {
  bytes body;
  std::vector<std::uint32_t> sizes;

  [[nodiscard]] std::size_t count() const noexcept { return sizes.size(); }

  /// The tasks [first, first + n), sharing the bytes. Linear in the number of tasks.
  [[nodiscard]] encoded_tasks part(std::size_t first, std::size_t n) const {
    auto at = sizes.begin() + static_cast<std::ptrdiff_t>(first);
    auto end = at + static_cast<std::ptrdiff_t>(n);
    auto offset = std::accumulate(sizes.begin(), at, std::size_t{0});
    auto length = std::accumulate(at, end, std::size_t{0});
    return {body.slice(offset, length), {at, end}};
  }
};

/// Returns the value of a header of a task, whose body the core does not read; empty when the task
/// has no such header.
using header_reader = std::string (*)(const bytes& body, std::string_view name);

} // namespace codeq::core
