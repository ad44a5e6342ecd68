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

/// From the sender of a copy, when its taker has not answered for a while: what has arrived? It
/// comes on the connection of the parts, behind those that were sent before it, so one of them that
/// has not arrived by then is lost.
struct copy_question {
  replication::copy_id id;
  /// So many parts were sent.
  std::uint32_t parts = 0;
};

/// Numbered as on the wire.
enum class copy_state : std::uint8_t {
  /// So many parts are written; 0: the own data are removed, and parts may come.
  written,
  /// Answers a question: what is written, and what has arrived.
  arrived,
  /// Answers a question: the own data are being removed; `parts` counts the steps.
  clearing,
  /// Answers a question: there is no such copy, as after a restart.
  unknown,
  /// All is written.
  whole,
};

/// From the replica that takes a copy.
struct copy_answer {
  replication::copy_id id;
  copy_state state = copy_state::written;
  /// So many are written.
  std::uint32_t parts = 0;
  /// With `arrived`: so many have arrived.
  std::uint32_t arrived = 0;
  /// With `arrived`: so many were sent before the question.
  std::uint32_t asked = 0;
};

using copy_message = std::variant<copy_part, copy_question, copy_answer>;

} // namespace codeq::coordinator
