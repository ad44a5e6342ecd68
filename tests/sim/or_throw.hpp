// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace codeq::sim {

/// The value. Throws where no process of the simulation can go on without it.
template <class T>
T or_throw(result<T> r) {
  if (!r)
    throw std::runtime_error("simulation: " + to_string(r.error()));
  return std::move(*r);
}

} // namespace codeq::sim
