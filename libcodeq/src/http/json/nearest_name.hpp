// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace codeq::http {

/// The known name that was most likely meant by an unknown one: it differs in case, `_` and `-`
/// only, in a few letters, or one name is a part of the other. The first of equally near names;
/// empty when none is near.
[[nodiscard]] std::optional<std::string_view>
nearest_name(std::string_view unknown, std::span<const std::string_view> known);

} // namespace codeq::http
