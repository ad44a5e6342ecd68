// SPDX-License-Identifier: Apache-2.0
#include "config/coordinator_config.hpp"

#include "codeq/limits.hpp"

#include "config/access_options.hpp"
#include "config/value_options.hpp"
#include "config/values.hpp"

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

namespace codeq::config {

namespace {

constexpr auto durability_help =
  "When a request is acknowledged. sync: when it is on disk, so it survives a killed process and a "
  "power cut. os: when the kernel has it, so it survives a killed process, but a power cut may "
  "cost "
  "the last second. [default: sync]";

constexpr auto coordinator_footer =
  "Every option may be given as a flag, in the environment (--port-file is CODEQ_PORT_FILE) or in "
  "the TOML file of --config (port-file = \"...\"). A flag wins over the environment, the "
  "environment over the file. An option that may be repeated takes one value per line in the "
  "environment. An empty environment variable counts as not given.";

constexpr std::uint64_t backups_kept_max = 1'000;
constexpr std::uint64_t connections_least = 8;
constexpr std::uint64_t connections_most = 1'000'000;

/// Parses `address:port` with a loopback address.
result<std::string> parse_loopback(const std::string& text) {
  auto address = parse_host_port(text, true);
  if (!address)
    return address.error();
  if (is_loopback(address->host))
    return text;
  return error{
    errc::invalid_argument,
    quote(text)
      + " is not a loopback address; metrics are told to everybody who asks, so only "
        "127.0.0.0/8, [::1] and localhost are allowed"};
}

void add_store_options(option_set& options, coordinator_config& config) {
  auto data = path_option(
    "data", "DIR", "Directory of the store; created when missing, but not its parents",
    config.node.data);
  data.required = true;
  options.add(std::move(data));
  options.add(count_option(
    "shards",
    "Number of shards, 1 to 1024. Fixed when the store is created: another number is refused later "
    "[default: the store's; 12 for a new store]",
    config.node.shards,
    {1, limits::shards_max}));
  options.add(durability_option(durability_help, config.node.sync));
  options.add(count_option(
    "threads",
    "Threads for lease timers, 1 to 256; sockets with sessions and shards, reader and HTTP have "
    "threads of their own [default: 2]",
    config.node.threads,
    {1, limits::scheduler_threads_max}));
}

void add_retention_options(option_set& options, coordinator_config& config) {
  options.add(count_option(
    "retention-bytes",
    "Disk space for the records of ended tasks, in bytes, at least 1048576. When they need more, "
    "the oldest are deleted before their retention is over [default: 10737418240, which is 10 GiB]",
    config.node.retention_bytes,
    {limits::retention_bytes_min, UINT64_MAX, "of bytes "}));
  options.add(count_option(
    "free-bytes",
    "Refuse new tasks while fewer bytes of the disk are free; claims and results are still "
    "accepted [default: 536870912, which is 512 MiB]",
    config.node.free_bytes_least,
    {0, UINT64_MAX, "of bytes "}));
}

void add_http_options(option_set& options, coordinator_config& config) {
  options.add(
    {.name = "http",
     .value = "ADDR:PORT",
     .help = "Address for the HTTP gateway; without tokens and TLS a loopback address; port 0 "
             "picks a free port [default: no gateway]",
     .take = put_into(config.node.http, parse_listen)});
  options.add(file_option(
    "http-cert",
    "PEM file with the gateway's certificate chain; turns its TLS on; reread on SIGHUP [default: "
    "that of --tls-cert]",
    config.node.http_certificate));
  options.add(file_option(
    "http-key",
    "PEM file with the key of that certificate, without a password [default: that of --tls-key]",
    config.node.http_key));
  options.add(plain_option(
    "http-port-file",
    "FILE",
    "File to write the gateway's port to, in decimal, once it listens [default: none]",
    config.http_port_file));
  options.add(
    {.name = "metrics",
     .value = "ADDR:PORT",
     .help = "Loopback address that serves /metrics without a token [default: none; --http "
             "serves it to admins of all tenants]",
     .take = put_into(config.node.metrics, parse_loopback)});
  options.add(
    {.name = "cors-origin",
     .value = "ORIGIN",
     .help = "Origin of web pages that may call the gateway, such as https://app.example:8443, or "
             "* for all; may be repeated [default: none]",
     .take = add_to(config.node.http_cors_origins, parse_origin),
     .repeatable = true});
  options.add(switch_option(
    "require-fencing-token",
    "HTTP workers must send the fencing token of their lease with heartbeats and reports [default: "
    "off; without it, their identity and latest claim decide]",
    config.node.http_needs_token));
}

void add_webhook_options(option_set& options, coordinator_node_options& node) {
  options.add(file_option(
    "webhook-secret-file",
    "File that contains only the secret that signs webhook deliveries [default: none, they are not "
    "signed]",
    node.webhook_secret_file));
  options.add(file_option(
    "webhook-ca",
    "PEM file with CAs that webhook servers' certificates may be signed by, in addition to the "
    "system's [default: none]",
    node.webhook_authority));
  options.add(switch_option(
    "webhook-allow-private",
    "Deliver webhooks to loopback and private addresses, too [default: off]",
    node.webhook_allow_private));
}

void add_backup_options(option_set& options, coordinator_config& config) {
  options.add(plain_option(
    "backup-dir",
    "DIR",
    "Directory for the backups that `codeqctl backup` makes, best on another disk; created when "
    "missing, but not its parents [default: none, backups are refused]",
    config.node.backups));
  options.add(count_option(
    "backups-kept",
    "Number of backups to keep, 1 to 1000; older ones are deleted [default: 7]",
    config.node.backups_kept,
    {1, backups_kept_max}));
}

void add_network_options(option_set& options, coordinator_config& config) {
  options.add(
    {.name = "listen",
     .value = "ADDR:PORT",
     .help = "Address for workers, producers and codeqctl; without tokens and TLS a loopback "
             "address; port 0 picks a free port [default: 127.0.0.1:7400]",
     .take = put_into(config.node.listen, parse_listen)});
  options.add(plain_option(
    "port-file",
    "FILE",
    "File to write the port to, in decimal, once the coordinator listens [default: none]",
    config.port_file));
  options.add(count_option(
    "connections",
    "Maximum number of node connections, 8 to 1000000; one remote address or tenant gets at most "
    "half of them [default: 4096]",
    config.node.connections_max,
    {connections_least, connections_most}));
  options.add(count_option(
    "http-connections",
    "Maximum number of HTTP connections, 8 to 1000000; one remote address or tenant gets at most "
    "half of them [default: 4096]",
    config.node.http_connections_max,
    {connections_least, connections_most}));
  options.add(count_option(
    "enqueue-bytes",
    "Maximum size of all enqueue requests, checkpoints and changes that are not durable yet, in "
    "bytes, at least 67108864. One tenant gets at most half of it; further requests are refused as "
    "overloaded. They may use three times as much memory [default: 268435456, which is 256 MiB]",
    config.node.enqueue_bytes_max,
    {limits::enqueue_bytes_min, UINT64_MAX, "of bytes "}));
  add_http_options(options, config);
  add_webhook_options(options, config.node);
  options.add(switch_option(
    "dev",
    "Single-user setup: every client may do everything, without a token; loopback only [default: "
    "off]",
    config.node.development));
}

/// A pair of texts with an equals sign between them.
result<std::pair<std::string, std::string>> parse_pair(const std::string& text) {
  auto equals = text.rfind('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    return error{
      errc::invalid_argument, quote(text) + " must be two texts with `=` between them"};
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

result<std::string> parse_filled(const std::string& text) {
  if (text.empty())
    return error{errc::invalid_argument, "must not be empty"};
  return text;
}

void add_jwt_options(option_set& options, jwt_options& jwt) {
  constexpr duration_range periods{std::chrono::seconds(1), 30 * std::chrono::hours(24)};
  options.add(plain_option(
    "jwks",
    "FILE|URL",
    "JWK set with the public keys that verify JWTs, which are then accepted beside the tokens of "
    "--tokens; https, or http on loopback [default: none, JWTs are refused]",
    jwt.keys));
  options.add(file_option(
    "jwks-ca",
    "PEM file with CAs that the certificate of that URL may be signed by, in addition to the "
    "system's [default: none]",
    jwt.authority));
  options.add(duration_option(
    "jwks-refresh",
    "How often the keys are read again, 1s to 30d. A token that names an unknown key causes an "
    "earlier read, at most one in 30s [default: 10m]",
    jwt.refresh,
    periods));
  options.add(duration_option(
    "jwks-stale",
    "How long keys stay in use while they cannot be read again, 1s to 30d [default: 24h]",
    jwt.stale_after,
    periods));
  options.add(
    {.name = "jwt-issuer",
     .value = "TEXT",
     .help = "Accepted `iss` of JWTs; may be repeated; --jwks needs one [default: none]",
     .take = add_to(jwt.issuers, parse_filled),
     .repeatable = true});
  options.add(
    {.name = "jwt-audience",
     .value = "TEXT",
     .help = "Accepted `aud` of JWTs; may be repeated; --jwks needs one [default: none]",
     .take = add_to(jwt.audiences, parse_filled),
     .repeatable = true});
  options.add(
    {.name = "jwt-claim",
     .value = "FIELD=NAME",
     .help = "Claim that says the subject, tenant, role, scopes or queues; NAME may be a path with "
             "dots; may be repeated [default: subject=sub, tenant=tenantId, role=role, "
             "scopes=scope, queues=eventTypes]",
     .take = add_to(jwt.claims, parse_pair),
     .repeatable = true});
  options.add(
    {.name = "jwt-role",
     .value = "VALUE=ROLE",
     .help = "Value of the role claim that stands for a role of codeq; may be repeated [default: "
             "the names of the roles, in any case]",
     .take = add_to(jwt.roles, parse_pair),
     .repeatable = true});
  options.add(name_option(
    "jwt-tenant", "Tenant of JWTs without a tenant claim [default: none, refused]", jwt.tenant));
}

void add_listen_access_options(option_set& options, coordinator_node_options& node) {
  options.add(file_option(
    "tokens",
    "File with the access tokens of clients, as `codeqctl token create` writes it; reread on "
    "SIGHUP [default: none; this or --jwks is required without --dev]",
    node.tokens));
  add_jwt_options(options, node.jwt);
  options.add(file_option(
    "tls-cert",
    "PEM file with the coordinator's certificate chain; turns TLS on; reread on SIGHUP [default: "
    "no TLS]",
    node.tls_certificate));
  options.add(file_option(
    "tls-key",
    "PEM file with the key of that certificate, without a password [default: none]",
    node.tls_key));
  options.add(file_option(
    "tls-ca",
    "PEM file with the CAs that must have signed the certificates of clients [default: none, they "
    "are not checked]",
    node.tls_authority));
  options.add(switch_option(
    "tls-require-client-cert",
    "Refuse clients without a certificate [default: off]",
    node.tls_require_client_certificate));
}

void add_cluster_options(option_set& options, cluster_options& cluster) {
  options.add(name_option(
    "cluster",
    "Name of the cluster that this coordinator takes part in: the first one creates it, others "
    "join it [default: none, it is alone]",
    cluster.name));
  options.add(plain_option(
    "etcd",
    "URL[,URL...]",
    "Members of etcd through which the cluster agrees: http[s]://HOST[:PORT] [default: none]",
    cluster.etcd));
  options.add(file_option(
    "etcd-ca",
    "PEM file with the CAs that must have signed etcd's certificate [default: none]",
    cluster.etcd_authority));
  options.add(file_option(
    "etcd-cert",
    "PEM file with the certificate that is shown to etcd [default: none]",
    cluster.etcd_certificate));
  options.add(file_option(
    "etcd-key", "PEM file with the key of that certificate [default: none]", cluster.etcd_key));
  options.add(count_option(
    "replicas",
    "Copies of each shard, 1 to 3; decided by the coordinator that creates the cluster, another "
    "number is refused when one joins it [default: the cluster's; 2 for a new cluster]",
    cluster.replicas,
    {1, 3}));
  options.add(plain_option(
    "zone",
    "TEXT",
    "Zone of this coordinator; copies of a shard are in different zones [default: none]",
    cluster.zone));
  options.add(plain_option(
    "advertise",
    "HOST:PORT",
    "Address at which clients and other coordinators reach this one [default: that of --listen]",
    cluster.advertise));
  options.add(name_option(
    "node",
    "Name of this coordinator in its cluster, the same at each start [default: its address with - "
    "for :, such as 10.0.0.1-7400]",
    cluster.node));
  options.add(file_option(
    "cluster-token-file",
    "File with the token that is shown to the other coordinators: an admin's for all tenants; "
    "needed unless --dev is given [default: none]",
    cluster.token_file));
}

/// Options that would be ignored are refused: with --replicas, but without --cluster, a coordinator
/// would be alone and keep one copy.
void set_needs(option_set& options) {
  options.set_needs("etcd", {"cluster", "etcd-ca", "etcd-cert", "etcd-key"});
  options.set_needs(
    "cluster", {"etcd", "replicas", "zone", "advertise", "node", "cluster-token-file"});
  options.set_needs(
    "http",
    {"http-cert",
     "http-key",
     "http-port-file",
     "http-connections",
     "metrics",
     "cors-origin",
     "require-fencing-token",
     "webhook-secret-file",
     "webhook-ca",
     "webhook-allow-private"});
  options.set_needs(
    "jwks",
    {"jwks-ca",
     "jwks-refresh",
     "jwks-stale",
     "jwt-issuer",
     "jwt-audience",
     "jwt-claim",
     "jwt-role",
     "jwt-tenant"});
  options.set_needs("backup-dir", {"backups-kept"});
}

/// Describes what the options of a cluster lack; empty when nothing.
std::string weakness_of(const cluster_options& cluster, bool is_dev) {
  if (cluster.name.empty())
    return {};
  if (cluster.etcd_certificate.empty() != cluster.etcd_key.empty())
    return "--etcd-cert and --etcd-key need each other";
  if (!is_dev && cluster.token_file.empty())
    return "--cluster needs --cluster-token-file, unless --dev is given";
  return {};
}

/// True when both paths name one place, however they are written.
bool is_same_path(const std::filesystem::path& a, const std::filesystem::path& b) {
  auto placed = [](const std::filesystem::path& path) {
    std::error_code ignored;
    auto whole = std::filesystem::absolute(path / "", ignored);
    return std::filesystem::weakly_canonical(whole, ignored);
  };
  return placed(a) == placed(b);
}

/// Describes options that contradict each other; empty when there are none.
std::string weakness(const coordinator_node_options& node) {
  if (!node.backups.empty() && is_same_path(node.backups, node.data))
    return "--backup-dir and --data name the same directory; backups need one of their own";
  if (node.development && !node.tokens.empty())
    return "--dev and --tokens exclude each other";
  if (node.development && !node.jwt.keys.empty())
    return "--dev and --jwks exclude each other";
  if (!node.development && node.tokens.empty() && node.jwt.keys.empty())
    return "give --tokens FILE, --jwks FILE|URL, or --dev to run a single-user setup on loopback";
  if (!node.jwt.keys.empty() && (node.jwt.issuers.empty() || node.jwt.audiences.empty()))
    return "--jwks needs --jwt-issuer and --jwt-audience";
  if (node.tls_certificate.empty() != node.tls_key.empty())
    return "--tls-cert and --tls-key need each other";
  if (node.tls_certificate.empty() && !node.tls_authority.empty())
    return "--tls-ca needs --tls-cert and --tls-key";
  if (node.tls_require_client_certificate && node.tls_authority.empty())
    return "--tls-require-client-cert needs --tls-ca";
  if (node.http_certificate.empty() != node.http_key.empty())
    return "--http-cert and --http-key need each other";
  return {};
}

/// Describes why attackers could get access through the address of that option; empty when they
/// cannot.
std::string
weakness(const std::string& option, const std::string& listen, bool is_dev, bool has_tls) {
  auto address = parse_host_port(listen, true);
  if (listen.empty() || (address && is_loopback(address->host)))
    return {};
  auto text = "--" + option + ": " + quote(listen) + " is not a loopback address; ";
  if (is_dev)
    return text + "with --dev only 127.0.0.0/8, [::1] and localhost are allowed";
  if (!has_tls)
    return text
           + "without --tls-cert and --tls-key only 127.0.0.0/8, [::1] and localhost are "
             "allowed";
  return {};
}

/// The same for all addresses.
std::string weakness_of(const coordinator_node_options& node) {
  bool has_tls = !node.tls_certificate.empty();
  bool has_http_tls = has_tls || !node.http_certificate.empty();
  for (auto why :
       {weakness(node),
        weakness("listen", node.listen, node.development, has_tls),
        weakness("http", node.http, node.development, has_http_tls)})
    if (!why.empty())
      return why;
  return {};
}

} // namespace

parsed<coordinator_config> parse_coordinator(const command_line& line) {
  coordinator_config config;
  option_set options(
    "codeq-coordinator", "Stores tasks on disk and hands them to workers.", coordinator_footer);
  add_store_options(options, config);
  add_retention_options(options, config);
  add_backup_options(options, config);
  add_network_options(options, config);
  add_listen_access_options(options, config.node);
  add_cluster_options(options, config.node.cluster);
  options.add(log_level_option(config.log_level));
  options.add(log_format_option(config.log_format));
  set_needs(options);
  if (auto end = options.parse(line))
    return *end;
  if (auto why = weakness_of(config.node); !why.empty())
    return options.refuse(why);
  if (auto why = weakness_of(config.node.cluster, config.node.development); !why.empty())
    return options.refuse(why);
  return config;
}

} // namespace codeq::config
