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
  /// Where nodes connect: `address:port`; port 0 picks one. Loopback only without TLS and tokens.
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
  /// Single-user setup without tokens: whoever reaches the port may do everything. Loopback only.
  bool development = false;
  /// Who may come in, see README. Required without `development`, refused with it.
  std::filesystem::path tokens{};
  /// PEM files of the own certificate chain and its key: with them every connection is TLS.
  /// Required for an address that is not loopback.
  std::filesystem::path tls_certificate{};
  std::filesystem::path tls_key{};
  /// PEM file with the certificates of those who may vouch for peers, whose certificates are then
  /// checked when they show one.
  std::filesystem::path tls_authority{};
  /// Takes no peer in without a certificate.
  bool tls_require_client_certificate = false;
  /// Connections of nodes at once. Remote addresses share them fairly, and so do tenants: one gets
  /// half at most.
  std::size_t connections_max = limits::connections_max;
  /// The same for connections to the gateway.
  std::size_t http_connections_max = limits::http_connections_max;
  /// Bytes of enqueues that are not durable yet, over all connections and HTTP requests; more are
  /// refused with `overloaded`. Tenants share them fairly: one gets half at most.
  std::uint64_t enqueue_bytes_max = limits::enqueue_bytes_default;
  /// Threads that shards and sessions share. Journal, reader and sockets have threads of their own.
  std::size_t threads = limits::scheduler_threads_default;
  /// Where the HTTP gateway listens: `address:port`, loopback only without TLS and tokens; port 0
  /// picks one. Empty for no gateway.
  std::string http{};
  /// What the gateway shows instead of `tls_certificate` and `tls_key`; with either pair it speaks
  /// TLS. It asks nobody for a certificate, tokens decide.
  std::filesystem::path http_certificate{};
  std::filesystem::path http_key{};
  /// Where metrics are served without a token, on loopback and without TLS; only beside `http`.
  /// Empty: there alone, to admins of all tenants.
  std::string metrics{};
  /// HTTP workers have to name the fencing token of the lease that they report on.
  bool http_needs_token = false;
  /// File with the secret that deliveries to webhooks are signed with; empty does not sign them.
  std::filesystem::path webhook_secret_file{};
  /// PEM file with the certificates of those who may vouch for webhooks, beside those that this
  /// machine trusts.
  std::filesystem::path webhook_authority{};
  /// Delivers to webhooks on loopback and private networks, too.
  bool webhook_allow_private = false;
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

  /// Reads tokens and certificates again: sessions of tokens that are gone end, new connections get
  /// the new certificate. Errors: `invalid_argument`, `too_large`, `unavailable`; what cannot be
  /// used leaves the old one in force.
  [[nodiscard]] result<void> reload();

  /// The port of the HTTP gateway; 0 without one.
  [[nodiscard]] std::uint16_t http_port() const noexcept;

  /// The port of the metrics; 0 without an address of their own.
  [[nodiscard]] std::uint16_t metrics_port() const noexcept;

  /// Stops accepting, commits, tells peers `going_away`; at most 2 s. Leases live on.
  void stop();

private:
  struct impl;
  explicit coordinator_node(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

} // namespace codeq
