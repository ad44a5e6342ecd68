// SPDX-License-Identifier: Apache-2.0
#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace codeq::base {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "codeq: broken invariant: %s at %s:%d\n", condition, file, line);
  std::abort();
}

} // namespace codeq::base
