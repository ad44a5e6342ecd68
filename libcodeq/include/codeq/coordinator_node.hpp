// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace codeq {

struct coordinator_node_options {
  /// Where the store lives; created when missing, locked against a second process.
  std::filesystem::path data;
  /// Where nodes connect: `address:port`; port 0 picks one. Loopback only without TLS.
  std::string listen = "127.0.0.1:7400";
  /// Fixed when the store is created; 0 takes the store's number, or 4 for a new one.
  std::size_t shards = 0;
  /// False acknowledges what the kernel has; a power cut may then cost the last second.
  bool sync = true;
  /// Space for the records of ended tasks, in bytes; beyond it the oldest go before their retention
  /// has passed. Dead tasks and live ones do not count and never go.
  std::uint64_t retention_bytes = limits::retention_bytes_default;
  /// While the disk of `data` has less than so many bytes free, new tasks are refused; claims and
  /// results go on. 0 never refuses.
  std::uint64_t free_bytes_least = limits::free_bytes_least_default;
  /// Where backups go that an operator asks for; empty: they are refused.
  std::filesystem::path backups{};
  /// How many backups stay there.
  std::uint32_t backups_kept = 7;
  /// Single-user setup without tokens.
  bool development = false;
};

/// A coordinator process's inside: store, journal, shards, registrar and the listening socket.
class coordinator_node {
public:
  /// Recovers the store, then listens. Errors: `invalid_argument`; `incompatible_store` (locked,
  /// other shard count or format); `corruption`; `unavailable` (directory or port).
  [[nodiscard]] static result<std::unique_ptr<coordinator_node>>
  start(coordinator_node_options options);

  ~coordinator_node();
  coordinator_node(const coordinator_node&) = delete;
  coordinator_node& operator=(const coordinator_node&) = delete;

  /// The port it listens on.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// Stops accepting, commits, tells peers `going_away`; at most 2 s. Leases live on.
  void stop();

private:
  struct impl;
  explicit coordinator_node(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

} // namespace codeq
