// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace codeq::base {

/// Prints the violated invariant and its place on stderr and aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

} // namespace codeq::base

/// Aborts the process when an invariant is violated. Also enabled in release builds, since a state
/// machine that is wrong must not go on acknowledging.
#define CODEQ_ASSERT(condition)                                                                    \
  do {                                                                                             \
    if (!(condition))                                                                              \
      ::codeq::base::assertion_failed(#condition, __FILE__, __LINE__);                             \
  } while (false)
