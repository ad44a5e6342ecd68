// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <string>
#include <utility>

namespace codeq::base {

/// An error of `invalid_argument`; `text` names the field, its value and its limit.
[[nodiscard]] inline error wrong(std::string text) {
  return {errc::invalid_argument, std::move(text)};
}

/// An error of `unauthorized`; `why` says of a token what is wrong.
[[nodiscard]] inline error refused(std::string why) {
  return {errc::unauthorized, std::move(why)};
}

} // namespace codeq::base
