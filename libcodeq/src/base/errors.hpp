// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <string>
#include <system_error>
#include <utility>

namespace codeq::base {

/// An error of `invalid_argument`; `text` names the field, its value and its limit.
[[nodiscard]] inline error wrong(std::string text) {
  return {errc::invalid_argument, std::move(text)};
}

/// True for failures of the system that a later attempt meets again until a person changes
/// something: a wrong path, or a right that is missing.
[[nodiscard]] inline bool is_lasting(const std::error_code& failure) {
  return failure == std::errc::permission_denied || failure == std::errc::read_only_file_system
         || failure == std::errc::no_such_file_or_directory || failure == std::errc::not_a_directory
         || failure == std::errc::is_a_directory || failure == std::errc::file_exists;
}

/// An error of `unauthorized`; `why` says of a token what is wrong.
[[nodiscard]] inline error refused(std::string why) {
  return {errc::unauthorized, std::move(why)};
}

} // namespace codeq::base
