// SPDX-License-Identifier: Apache-2.0
#include "config/version.hpp"

namespace codeq::config {

std::string_view version() noexcept {
  return CODEQ_VERSION;
}

} // namespace codeq::config
