// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <string>
#include <utility>

namespace codeq::cluster {

/// The error of a change of the cluster that its state does not allow; `words` say why.
inline error refused(std::string words) {
  return {errc::invalid_argument, std::move(words)};
}

} // namespace codeq::cluster
