// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replication/messages.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

namespace codeq::coordinator {

/// A part of the data of a copy.
struct copy_part {
  replication::copy_id id;
  /// From 1.
  std::uint32_t number = 0;
  /// Packed writes; the last part has none.
  std::shared_ptr<const std::string> packed;
  bool is_last = false;
};

/// From the replica that takes a copy: it has removed its own data and written so many parts.
struct copy_answer {
  replication::copy_id id;
  std::uint32_t parts = 0;
  bool is_whole = false;
};

using copy_message = std::variant<copy_part, copy_answer>;

} // namespace codeq::coordinator
