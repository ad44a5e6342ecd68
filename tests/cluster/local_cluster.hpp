// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "cluster/records.hpp"
#include "etcd/client.hpp"
#include "support/etcd_cluster.hpp"
#include "support/temporary_directory.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace codeq::test {

/// One etcd and coordinators as real processes on 127.0.0.1, 127.0.0.2 and so on. They end with
/// this object.
class local_cluster {
public:
  struct options {
    std::size_t coordinators = 3;
    std::uint32_t replicas = 2;
    std::uint32_t shards = 0;
    std::string durability = "sync";
  };

  explicit local_cluster(options how);
  ~local_cluster();
  local_cluster(const local_cluster&) = delete;
  local_cluster& operator=(const local_cluster&) = delete;

  /// Starts a coordinator, or starts it again with its store.
  void start(std::size_t coordinator);
  /// kill -9, and the end of the process.
  void kill(std::size_t coordinator);
  /// SIGTERM; returns the exit status.
  int terminate(std::size_t coordinator);
  /// Removes the store of a coordinator that does not run.
  void wipe(std::size_t coordinator);

  [[nodiscard]] bool is_up(std::size_t coordinator) const {
    return processes_[coordinator].id != 0;
  }

  [[nodiscard]] std::string host(std::size_t coordinator) const {
    return "127.0.0." + std::to_string(coordinator + 1);
  }

  [[nodiscard]] std::uint16_t port(std::size_t coordinator) const {
    return processes_[coordinator].port;
  }

  [[nodiscard]] std::string name(std::size_t coordinator) const {
    return "c" + std::to_string(coordinator);
  }

  /// The records of all shards in etcd.
  [[nodiscard]] std::map<shard_id, cluster::shard_record> shards();

  /// The coordinator of a shard's primary as etcd has it; none when its node is not known.
  [[nodiscard]] std::optional<std::size_t>
  primary_of(const cluster::shard_record& record) const;

  /// Waits until each shard has so many copies in sync and the primaries are on so many
  /// coordinators; returns whether they are in time.
  [[nodiscard]] bool await_in_sync(std::size_t copies, std::size_t primaries_on);

  [[nodiscard]] etcd_cluster& etcd() { return etcd_; }

  /// The latest lines of the log of a coordinator.
  [[nodiscard]] std::string log(std::size_t coordinator) const;

private:
  struct process {
    ::pid_t id = 0;
    std::uint16_t port = 0;
  };

  options options_;
  temporary_directory directory_{temporary_directory::in_memory()};
  etcd_cluster etcd_{1};
  std::unique_ptr<etcd::client> client_;
  std::vector<process> processes_;
};

} // namespace codeq::test
