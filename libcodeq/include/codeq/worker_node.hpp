// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/credentials.hpp"
#include "codeq/handler.hpp"
#include "codeq/result.hpp"

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
};

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

  /// Blocks until the node has ended by itself (refused or superseded) and returns why, or until
  /// `drain` is done.
  [[nodiscard]] result<void> wait();

private:
  struct impl;
  explicit worker_node(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

} // namespace codeq
