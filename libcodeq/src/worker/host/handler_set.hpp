// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"
#include "codeq/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::worker {

/// Sources of a node's handlers.
struct handler_sources {
  handler_registry own;
  std::vector<std::string> libraries;
  /// `QUEUE=command args`.
  std::vector<std::string> programs;
  /// Program that runs isolated handlers; empty: there is none.
  std::string isolation_program;
};

/// An operator's options for queues; each is a name or a pattern.
struct handler_wishes {
  std::map<std::string, queue_options> queues;
  /// Empty: all queues that have handlers.
  std::vector<std::string> only;
};

/// All handlers of a node, from which an operator chooses.
class handler_set {
public:
  /// Loads libraries and looks up programs. Errors: `invalid_argument`, `unavailable`.
  [[nodiscard]] static result<handler_set> load(handler_sources from);

  /// The chosen handlers, with the operator's options: of several that match a queue, its name
  /// decides, else the longest pattern. `queue` of each is the part of its handler's name or
  /// pattern that was chosen. Errors: `invalid_argument` names an option
  /// that is out of bounds, a queue with no handler or with two, or an isolation that the handler
  /// does not support.
  [[nodiscard]] result<std::vector<handler_registry::entry>>
  choose(const handler_wishes& wishes) const;

  /// "function", "batch", "actor", "keyed actor" or "program".
  [[nodiscard]] std::string_view kind_of(const handler_registry::entry& handler) const;

  /// The registered handler of a queue or pattern. Errors: `invalid_argument`.
  [[nodiscard]] result<handler_registry::entry> handler_of(const std::string& queue) const;

private:
  [[nodiscard]] result<handler_registry::entry> isolate(handler_registry::entry handler) const;

  /// Checks that registered names are valid and that no queue has two handlers.
  [[nodiscard]] result<void> check_registered() const;

  /// Notes that the handlers that have been registered since the last call come from `source`.
  void note_source(const std::string& source) { sources_.resize(all_.entries().size(), source); }

  handler_sources from_;
  handler_registry all_;
  /// Where each registered handler comes from, for errors: "this process", "handler library PATH"
  /// or "program NAME".
  std::vector<std::string> sources_;

  /// True when a program handles the queue or pattern. @pre the registered names are valid
  [[nodiscard]] bool is_program(const std::string& queue) const;

  /// Names and patterns that are handled by programs.
  std::vector<std::string> program_queues_;
};

} // namespace codeq::worker
