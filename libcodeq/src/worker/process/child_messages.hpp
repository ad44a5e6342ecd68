// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"
#include "codeq/result.hpp"

#include "isolation.capnp.h"
#include "protocol/frame.hpp"

#include <cstdint>
#include <optional>
#include <string>

/// The messages between a worker and the child process of an isolated handler; no other file parses
/// or builds them.
namespace codeq::worker {

using to_child = protocol::frame<schema::ToChild>;
using from_child = protocol::frame<schema::FromChild>;

// Every message contains its attempt's number, counted by the worker.
[[nodiscard]] to_child make_attempt(const task& attempt, std::uint64_t number);
[[nodiscard]] to_child make_child_cancel(std::uint64_t number);
[[nodiscard]] to_child make_lease_left(duration left, std::uint64_t number);

[[nodiscard]] to_child
make_child_saved(std::uint64_t checkpoint, bool is_durable, std::uint64_t number);

/// Leaves out `cancel` and `runtime`.
[[nodiscard]] task read_attempt(schema::ToChild::Attempt::Reader from);

/// @pre `ended` is within the limits of a report
[[nodiscard]] from_child make_child_outcome(const outcome& ended, std::uint64_t number);
[[nodiscard]] from_child
make_child_progress(int percent, const std::string& note, std::uint64_t number);
[[nodiscard]] from_child make_child_extension(duration by, std::uint64_t number);
[[nodiscard]] from_child make_child_log(std::string_view line, std::uint64_t number);

/// `answered_as`: number of the checkpoint for its answer; 0: no answer is needed.
[[nodiscard]] from_child
make_child_checkpoint(std::string_view state, std::uint64_t answered_as, std::uint64_t number);

/// Errors: `protocol_error` for an unknown kind.
[[nodiscard]] result<outcome> read_child_outcome(schema::FromChild::Outcome::Reader from);

/// A message in the form in which it is written.
[[nodiscard]] std::string with_length(const bytes& body);

/// Extracts messages from received bytes.
class message_buffer {
public:
  void append(std::string_view read) { data_.append(read); }

  /// The next complete message; empty when it is incomplete. Errors: `protocol_error` for one that
  /// is too long.
  [[nodiscard]] result<std::optional<bytes>> next();

private:
  std::string data_;
};

} // namespace codeq::worker
