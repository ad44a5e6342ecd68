// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/credentials.hpp"
#include "codeq/handler.hpp"
#include "codeq/result.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace codeq {

struct worker_node_options {
  /// Addresses of coordinators, `host:port`.
  std::vector<std::string> coordinators{};
  /// Name of the worker, unique among living workers; `[A-Za-z0-9._-]{1,128}`.
  std::string name{};
  /// Tenant whose tasks to run; `[A-Za-z0-9._-]{1,128}`.
  std::string tenant = "default";
  /// Maximum number of concurrent tasks, over all queues.
  std::size_t slots = limits::slots_default;
  /// Number of tasks claimed beyond the slots, so that slots need not wait for the network. Given
  /// back on drain.
  std::size_t prefetch = limits::slots_default;
  /// Maximum number of tasks in one message, for claims and for reports. Small batches cost more
  /// per task.
  std::size_t batch = limits::reports_per_request_max;
  /// Time that a drain gives running handlers to finish, and coordinators to answer their results.
  duration drain = limits::drain_default;
  /// Paths of handler libraries to load.
  std::vector<std::string> libraries{};
  /// `QUEUE=command args`: a program that handles a queue or pattern.
  std::vector<std::string> programs{};
  /// Handlers registered by the embedding program.
  handler_registry handlers{};
  /// How to authenticate to coordinators.
  credentials access{};
  /// Options by queue name or pattern; they replace those that the handlers registered.
  std::map<std::string, queue_options> queues{};
  /// Queues to serve, names and patterns; other queues are not served. Empty: all queues that have
  /// handlers.
  std::vector<std::string> only{};
  /// Path of the program that runs the handlers of isolated queues: `codeq-worker` itself. Empty:
  /// `isolation::process` is refused.
  std::string isolation_program{};
  /// Address that serves `/metrics` and `/healthz`, `address:port`; empty: none. An address that is
  /// not loopback needs `metrics_token_file` and a certificate.
  std::string metrics{};
  /// File that holds only the token that requests for `/metrics` have to show; read once at the
  /// start. Empty: none.
  std::filesystem::path metrics_token_file{};
  /// PEM files of the certificate chain for `metrics` and its key. Empty: those of `access` for an
  /// address that is not loopback, otherwise no TLS.
  std::filesystem::path metrics_certificate{};
  std::filesystem::path metrics_key{};
};

/// One queue that a node would serve with given options.
struct handled_queue {
  std::string queue;
  /// "function", "batch", "actor", "keyed actor" or "program".
  std::string kind;
  /// `slots` is the number that the queue can really use.
  queue_options options;
};

/// Description in one line, for people.
[[nodiscard]] std::string to_string(const handled_queue& handled);

/// Loads the handlers and lists the queues that they handle, in the order of registration. Errors:
/// as `worker_node::start`.
[[nodiscard]] result<std::vector<handled_queue>> list_handlers(worker_node_options options);

/// Runs the function of one queue for the parent process that started this one, over standard
/// input and output, and ends the process when the parent is gone. Returns only on an error: as
/// `worker_node::start`, and `invalid_argument` for a queue whose handler is not a function.
[[nodiscard]] result<void> serve_isolated(worker_node_options options, const std::string& queue);

/// A worker as an object: connections, dispatcher and the handler actors.
class worker_node {
public:
  /// Loads the handlers and starts connecting in the background. Errors: `invalid_argument`, also
  /// for a file, a program or a library that cannot be used; `unavailable` when the port of
  /// `metrics` cannot be opened.
  [[nodiscard]] static result<std::unique_ptr<worker_node>> start(worker_node_options options);

  ~worker_node();
  worker_node(const worker_node&) = delete;
  worker_node& operator=(const worker_node&) = delete;

  /// Stops claiming, lets handlers finish within the drain time, gives the remaining tasks back and
  /// ends the session. Waits in that time for coordinators that do not answer results, and logs a
  /// warning after 2 s. Returns when done; a second call from another thread speeds up the first.
  void drain();

  /// Reads the certificates again for new connections. Errors: `unavailable`; the old certificates
  /// stay in use.
  [[nodiscard]] result<void> reload();

  /// Applies `slots`, `prefetch`, `queues` and `only` while the node runs; running tasks are not
  /// disturbed. Handlers that were started for another isolation end when they are idle. Errors:
  /// `invalid_argument`; nothing is changed then.
  [[nodiscard]] result<void> reconfigure(const worker_node_options& options);

  /// The port of `metrics`; 0 when that is empty.
  [[nodiscard]] std::uint16_t metrics_port() const noexcept;

  /// Blocks until the node ends by itself (refused or superseded) and returns the reason, or until
  /// `drain` is done.
  [[nodiscard]] result<void> wait();

private:
  struct impl;
  explicit worker_node(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

} // namespace codeq
