// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace codeq::config {

/// The version of this build, for example `0.1.0`.
[[nodiscard]] std::string_view version() noexcept;

} // namespace codeq::config
