// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/credentials.hpp"
#include "codeq/handler.hpp"
#include "codeq/result.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace codeq {

struct worker_node_options {
  /// Addresses of coordinators, `host:port`.
  std::vector<std::string> coordinators;
  /// Unique among living workers; `[A-Za-z0-9._-]{1,128}`.
  std::string name;
  /// Whose tasks to run; `[A-Za-z0-9._-]{1,128}`.
  std::string tenant = "default";
  /// Tasks that run at once, over all queues.
  std::size_t slots = limits::slots_default;
  /// Tasks taken beyond the slots, so that none waits for the network; given back on drain.
  std::size_t prefetch = limits::slots_default;
  /// How long a drain lets handlers finish.
  duration drain = limits::drain_default;
  /// Handler libraries to load.
  std::vector<std::string> libraries;
  /// `QUEUE=command args`: programs that handle a queue.
  std::vector<std::string> programs;
  /// Handlers of the embedding program.
  handler_registry handlers;
  /// What to show to coordinators.
  credentials access{};
  /// How queues are served, by name, instead of as their handlers say.
  std::map<std::string, queue_options> queues{};
  /// Queues to serve; the handlers of others are left alone. Empty serves all that have handlers.
  std::vector<std::string> only{};
  /// The program that runs the handlers of isolated queues: `codeq-worker` itself. Empty when
  /// there is none; then no queue may be isolated in a process.
  std::string isolation_program{};
};

/// One queue that a node would serve.
struct handled_queue {
  std::string queue;
  /// "function", "batch", "actor", "keyed actor" or "program".
  std::string kind;
  /// With the slots that it may really use.
  queue_options options;
};

/// One line for people.
[[nodiscard]] std::string to_string(const handled_queue& handled);

/// Loads the handlers and says what they handle, in the order of registration. Errors: as
/// `worker_node::start`.
[[nodiscard]] result<std::vector<handled_queue>> list_handlers(worker_node_options options);

/// Runs the function of one queue for a parent process that started this one, over standard input
/// and output, until the parent is gone; then this process ends. Errors: as
/// `worker_node::start`, and `invalid_argument` for a queue whose handler is no function.
[[nodiscard]] result<void> serve_isolated(worker_node_options options, const std::string& queue);

/// A worker process's inside: links, dispatcher and the handler actors.
class worker_node {
public:
  /// Loads the handlers and starts connecting in the background. Errors: `invalid_argument`;
  /// `unavailable` for a library that is missing or was built for another handler ABI.
  [[nodiscard]] static result<std::unique_ptr<worker_node>> start(worker_node_options options);

  ~worker_node();
  worker_node(const worker_node&) = delete;
  worker_node& operator=(const worker_node&) = delete;

  /// Stops claiming and lets handlers finish within the drain time, gives the rest back and says
  /// goodbye. Returns when done; a second call from another thread hurries the first.
  void drain();

  /// Reads the certificates again, for connections made from then on. Errors: `unavailable`; the
  /// old ones stay.
  [[nodiscard]] result<void> reload();

  /// Takes over `slots`, `prefetch`, `queues` and `only` while the node works; what it began is not
  /// disturbed. Errors: `invalid_argument`; nothing is changed then.
  [[nodiscard]] result<void> reconfigure(const worker_node_options& options);

  /// Blocks until the node has ended by itself (refused or superseded) and returns why, or until
  /// `drain` is done.
  [[nodiscard]] result<void> wait();

private:
  struct impl;
  explicit worker_node(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

} // namespace codeq
