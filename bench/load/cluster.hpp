// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "load/cluster_nodes.hpp"
#include "load/processes.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace codeq::bench {

struct cluster_options {
  /// With more than one, or with `replicas`, they are a cluster with an etcd.
  std::size_t coordinators = 1;
  /// Copies of each shard, at most as many as coordinators.
  std::size_t replicas = 1;
  std::size_t workers = 2;
  /// Per worker.
  std::size_t slots = 8;
  /// Per worker, in addition to its slots.
  std::size_t prefetch = 8;
  /// Maximum number of tasks in one message of a worker.
  std::size_t worker_batch = limits::reports_per_request_max;
  std::size_t shards = 4;
  /// `sync` or `os`.
  std::string durability = "sync";
  /// Drain time of a worker that is stopped, in the format of its option.
  std::string drain = "30s";
  /// Starts the coordinator's HTTP gateway.
  bool http = false;
  /// Handler library of every worker.
  std::filesystem::path library{};
};

/// Coordinators and their workers as processes on loopback, in a scratch directory. The destructor
/// ends all of them.
class cluster {
public:
  /// Returns once the coordinator listens, or all shards of the cluster are in sync; workers
  /// connect in the background. Errors: `unavailable` with the last lines of the log; `timeout`;
  /// `invalid_argument` for more replicas than coordinators.
  [[nodiscard]] static result<cluster> start(const cluster_options& options);

  /// `address:port` that nodes connect to; of the first coordinator.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }

  /// The port of the HTTP gateway on 127.0.0.1; 0 without one.
  [[nodiscard]] std::uint16_t http_port() const noexcept { return http_port_; }

  /// The scratch directory.
  [[nodiscard]] const std::filesystem::path& directory() const noexcept {
    return directory_.path();
  }

  [[nodiscard]] child_process& coordinator() noexcept { return processes_.front(); }

  /// The coordinators first, then the workers; without etcd.
  [[nodiscard]] std::vector<child_process>& processes() noexcept { return processes_; }

  /// Starts a coordinator of a cluster again after its end. Errors: `unavailable`.
  [[nodiscard]] result<void> start_node(const cluster_options& options, std::size_t number);

  /// Starts one more worker, which connects in the background.
  [[nodiscard]] result<void> add_worker(const cluster_options& options) {
    return start_worker(processes_.size(), options);
  }

  /// Errors: `unavailable` with the last lines of the log of a process that has ended.
  [[nodiscard]] result<void> check_running();

  /// Kills the coordinator as a crash would, and starts it again on the same data with another
  /// address. Returns once it listens. @pre there are no workers. Errors: as `start`.
  [[nodiscard]] result<void> restart_coordinator(const cluster_options& options);

private:
  explicit cluster(scratch_directory directory) : directory_(std::move(directory)) {}

  [[nodiscard]] result<void> start_coordinator(const cluster_options& options);
  [[nodiscard]] result<void> start_nodes(const cluster_options& options);
  [[nodiscard]] result<void> start_worker(std::size_t number, const cluster_options& options);
  [[nodiscard]] std::filesystem::path log_of(std::size_t process) const;

  // Destroyed after the processes, which write into it.
  scratch_directory directory_;
  std::optional<etcd_process> etcd_;
  std::vector<child_process> processes_;
  /// Addresses of the coordinators of a cluster.
  std::vector<std::string> addresses_;
  std::string address_;
  std::uint16_t http_port_ = 0;
};

} // namespace codeq::bench
