// SPDX-License-Identifier: Apache-2.0
#include "base/random.hpp"

#include <random>

namespace codeq::base {

std::uint64_t random_bits() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

} // namespace codeq::base
