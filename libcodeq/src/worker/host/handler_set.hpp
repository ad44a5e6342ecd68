// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"
#include "codeq/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::worker {

/// Where a node's handlers come from.
struct handler_sources {
  handler_registry own;
  std::vector<std::string> libraries;
  /// `QUEUE=command args`.
  std::vector<std::string> programs;
  /// Serves isolated handlers; empty when nothing does.
  std::string isolation_program;
};

/// How an operator wants queues to be served.
struct handler_wishes {
  std::map<std::string, queue_options> queues;
  /// Empty is all.
  std::vector<std::string> only;
};

/// All handlers that a node has, of which an operator chooses.
class handler_set {
public:
  /// Loads libraries and looks programs up. Errors: `invalid_argument`, `unavailable`.
  [[nodiscard]] static result<handler_set> load(handler_sources from);

  /// The handlers as they are wanted. Errors: `invalid_argument` names what is out of bounds, a
  /// queue that has no handler, or two, or an isolation that its handler cannot have.
  [[nodiscard]] result<std::vector<handler_registry::entry>>
  choose(const handler_wishes& wishes) const;

  /// "function", "batch", "actor", "keyed actor" or "program".
  [[nodiscard]] std::string_view kind_of(const handler_registry::entry& handler) const;

private:
  [[nodiscard]] result<handler_registry::entry> isolate(handler_registry::entry handler) const;

  handler_sources from_;
  handler_registry all_;
  /// The queue of each program.
  std::vector<std::string> program_queues_;
};

} // namespace codeq::worker
