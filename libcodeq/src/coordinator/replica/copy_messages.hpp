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

/// From the sender of a copy that has heard nothing for a while: what has arrived? It comes on the
/// connection of the parts, behind those that were sent before it, so one that has not arrived by
/// then is lost.
struct copy_question {
  replication::copy_id id;
  /// So many parts were sent.
  std::uint32_t parts = 0;
};

/// Numbered as on the wire.
enum class copy_state : std::uint8_t {
  /// So many parts are written; without any the own data are removed.
  written,
  /// So many parts have arrived.
  arrived,
  /// The own data are being removed.
  clearing,
  /// There is no such copy, as after a restart.
  unknown,
  /// All is written.
  whole,
};

/// From the replica that takes a copy. All states but `written` answer questions, too.
struct copy_answer {
  replication::copy_id id;
  copy_state state = copy_state::written;
  std::uint32_t parts = 0;
  /// The number of parts of the question that it answers.
  std::uint32_t asked = 0;
};

using copy_message = std::variant<copy_part, copy_question, copy_answer>;

} // namespace codeq::coordinator
