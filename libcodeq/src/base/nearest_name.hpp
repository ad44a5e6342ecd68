// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace codeq::base {

/// Finds the known name that an unknown one most likely stands for: the names differ only in case,
/// `_` and `-`, or in a few letters, or one is a part of the other. Of equally near names it
/// returns the first; empty when no name is near.
[[nodiscard]] std::optional<std::string_view>
nearest_name(std::string_view unknown, std::span<const std::string_view> known);

/// True when the names are equal or differ in `_` and `-` only: options have hyphens, the fields
/// of C++ and HTTP underscores, and people know one of them.
[[nodiscard]] bool is_same_name(std::string_view a, std::string_view b) noexcept;

} // namespace codeq::base
