// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq {

/// Which JSON web tokens (JWTs) are accepted beside the tokens of the token file.
struct jwt_options {
  /// File, or `https` URL, of the JWK set with the issuer's public keys. RS256 and ES256 are
  /// accepted. Empty: no JWTs.
  std::string keys{};
  /// PEM file of CA certificates trusted for the URL, in addition to those of the system.
  std::filesystem::path authority{};
  /// How often the keys are read again; at least 1 s. A token that names an unknown key causes an
  /// earlier read, at most one in 30 s.
  duration refresh = std::chrono::minutes(10);
  /// How long keys stay in use when they cannot be read again; at least 1 s.
  duration stale_after = std::chrono::hours(24);
  /// Accepted values of `iss` and `aud`; at least one of each.
  std::vector<std::string> issuers{};
  std::vector<std::string> audiences{};
  /// Names of claims, by what they say: `subject`, `tenant`, `role`, `scopes`, `queues`.
  std::vector<std::pair<std::string, std::string>> claims{};
  /// Further values of the role claim and the roles that they stand for.
  std::vector<std::pair<std::string, std::string>> roles{};
  /// Tenant of tokens without a tenant claim. Empty: they are refused.
  std::string tenant{};
};

/// How a coordinator takes part in a cluster, whose coordinators agree through etcd.
struct cluster_options {
  /// Name of the cluster; `[A-Za-z0-9._-]{1,128}`. Empty: this coordinator is alone. The first
  /// coordinator that names a cluster creates it, the others join it.
  std::string name{};
  /// `http[s]://HOST[:PORT]` of 1 to 9 members of etcd, separated by commas.
  std::string etcd{};
  /// PEM files for `https`: the CAs of etcd's certificate, and a certificate and its key to show.
  std::filesystem::path etcd_authority{};
  std::filesystem::path etcd_certificate{};
  std::filesystem::path etcd_key{};
  /// Copies of each shard, 1 to 3; decided by the coordinator that creates the cluster. 0: those of
  /// the cluster, or 2 in a new one. A coordinator that joins a cluster with another number is
  /// refused; one that has joined it before goes on, with a warning.
  std::uint32_t replicas = 0;
  /// Copies of a shard are in different zones, as far as there are several.
  std::string zone{};
  /// Address at which clients and other coordinators reach this one: `host:port`. Empty: `listen`.
  std::string advertise{};
  /// Name of this coordinator, the same at each start with its store. Empty: its address with `-`
  /// in place of `:`, `[` and `]`.
  std::string node{};
  /// File with the token that is shown to the other coordinators: an admin's of all tenants. Not
  /// used with `development`.
  std::filesystem::path token_file{};
};

struct coordinator_node_options {
  /// Directory of the store; created when missing, locked against a second process.
  std::filesystem::path data{};
  /// Address that workers, producers and operators connect to: `address:port`; port 0 picks a free
  /// one. Must be loopback unless TLS and tokens are configured.
  std::string listen = "127.0.0.1:7400";
  /// Number of shards, fixed when the store is created. 0: the store's number, or 12 for a new
  /// store.
  std::size_t shards = 0;
  /// Durability. True: a write is acknowledged after fsync. False: it is acknowledged once the
  /// kernel has it, and a power cut may lose the last second.
  bool sync = true;
  /// Space for the records of ended tasks, in bytes. Above it the oldest records of completed and
  /// cancelled tasks are removed before their retention has passed. Dead and live tasks do not
  /// count and are never removed.
  std::uint64_t retention_bytes = limits::retention_bytes_default;
  /// While the disk of `data` has fewer free bytes, new tasks are refused; claims and results are
  /// still accepted. 0: never refuse.
  std::uint64_t free_bytes_least = limits::free_bytes_least_default;
  /// Directory for the backups that operators start. Empty: backups are refused.
  std::filesystem::path backups{};
  /// Number of backups kept there; older ones are removed.
  std::uint32_t backups_kept = 7;
  /// Single-user setup without tokens: every client that reaches the port has all rights. Loopback
  /// only.
  bool development = false;
  /// Token file, of the format in coordinator/TOKENS.md. Without `development` this or `jwt` is
  /// required; with it both are refused.
  std::filesystem::path tokens{};
  jwt_options jwt{};
  /// PEM files of the coordinator's certificate chain and its key. When set, every connection uses
  /// TLS. Required for an address that is not loopback.
  std::filesystem::path tls_certificate{};
  std::filesystem::path tls_key{};
  /// PEM file of the CA certificates for client certificates. A client certificate, when presented,
  /// is verified against them.
  std::filesystem::path tls_authority{};
  /// Refuses clients without a certificate.
  bool tls_require_client_certificate = false;
  /// Maximum number of open node connections. They are shared fairly among remote addresses and
  /// among tenants: each gets at most half.
  std::size_t connections_max = limits::connections_max;
  /// Maximum number of open connections to the HTTP gateway, shared in the same way.
  std::size_t http_connections_max = limits::http_connections_max;
  /// Maximum number of bytes of enqueues and checkpoints that are not durable yet, over all
  /// connections and HTTP requests, and of changes from nodes. Above it, they are refused with
  /// `overloaded`, and workers send checkpoints again. Shared fairly among tenants: each gets at
  /// most half.
  std::uint64_t enqueue_bytes_max = limits::enqueue_bytes_default;
  /// Number of threads for lease timers. Sessions and shards run on the thread of the sockets; the
  /// reader, the HTTP gateway and, in `sync`, the journal have threads of their own.
  std::size_t threads = limits::scheduler_threads_default;
  /// Address of the HTTP gateway: `address:port`; port 0 picks a free one. Must be loopback unless
  /// TLS and tokens are configured. Empty: no gateway.
  std::string http{};
  /// Certificate chain and key of the gateway, in place of `tls_certificate` and `tls_key`. With
  /// either pair the gateway uses TLS. It does not request client certificates; clients
  /// authenticate by token.
  std::filesystem::path http_certificate{};
  std::filesystem::path http_key{};
  /// Address that serves metrics without a token and without TLS; loopback only, and only when
  /// `http` is set. Empty: metrics are served by the gateway only, to admins of all tenants.
  std::string metrics{};
  /// Origins of web pages that may call the gateway from a browser (`https://name:port`), or `*`
  /// for every origin. Without tokens `*` allows loopback origins only.
  std::vector<std::string> http_cors_origins{};
  /// Requires HTTP workers to name the fencing token of the lease in their reports.
  bool http_needs_token = false;
  /// File with the secret that signs webhook deliveries. Empty: deliveries are not signed.
  std::filesystem::path webhook_secret_file{};
  /// PEM file of CA certificates trusted for webhook servers, in addition to those of the system.
  std::filesystem::path webhook_authority{};
  /// Allows webhook URLs on loopback and private networks.
  bool webhook_allow_private = false;
  cluster_options cluster{};
};

/// A coordinator as an object: store, journal, shards, registrar, listening socket and HTTP
/// gateway.
class coordinator_node {
public:
  /// Recovers the store, then listens. Errors: `invalid_argument`; `incompatible_store` (a newer
  /// format, another shard count); `corruption`; `io_error`; `unavailable` (a directory or port
  /// that cannot be used, or another process has the store open).
  [[nodiscard]] static result<std::unique_ptr<coordinator_node>>
  start(coordinator_node_options options);

  ~coordinator_node();
  coordinator_node(const coordinator_node&) = delete;
  coordinator_node& operator=(const coordinator_node&) = delete;

  /// The port it listens on.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// Reads the token file, the keys of JWTs and the certificates again. Sessions whose token was
  /// removed end; new connections get the new certificate. Errors: `invalid_argument`, `too_large`,
  /// `unavailable`; a file that cannot be used leaves its old content in force.
  [[nodiscard]] result<void> reload();

  /// The port of the HTTP gateway; 0 without one.
  [[nodiscard]] std::uint16_t http_port() const noexcept;

  /// The port of the metrics; 0 without an address of their own.
  [[nodiscard]] std::uint16_t metrics_port() const noexcept;

  /// Stops accepting, commits, sends `going_away` to peers; takes at most 2 s. Leases stay valid.
  void stop();

private:
  struct impl;
  explicit coordinator_node(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

} // namespace codeq
