// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace codeq::base {

/// Turns of fairness keys before a task's own are counted up to this number: an explanation takes a
/// bounded time, however many keys there are.
inline constexpr std::size_t turns_counted_max = 1000;

} // namespace codeq::base
