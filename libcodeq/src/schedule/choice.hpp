// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "base/enum_names.hpp"
#include "base/nearest_name.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace codeq::schedule {

/// Reads the name of a policy; `names` are those of the values of `Enum` from 0 on; `_` and `-` are
/// the same. Errors: `invalid_argument` names the field, the value and all names.
template <class Enum>
[[nodiscard]] result<Enum> parse_choice(
  std::string_view field, std::string_view text, std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (base::is_same_name(names[i], text))
      return static_cast<Enum>(i);
  constexpr std::size_t shown_bytes_max = 40;
  return error{
    errc::invalid_argument,
    std::string(field) + ": `" + std::string(text.substr(0, shown_bytes_max)) + "` is not "
      + base::list_of(names)};
}

} // namespace codeq::schedule
