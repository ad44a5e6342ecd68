// SPDX-License-Identifier: Apache-2.0
#include "codeq/coordinator_node.hpp"

#include "config/coordinator_config.hpp"
#include "config/environment_names.hpp"
#include "config/option_set.hpp"
#include "config/version.hpp"
#include "observe/environment_log.hpp"
#include "observe/log.hpp"
#include "observe/standard_streams.hpp"
#include "stop_signals.hpp"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace codeq {

namespace {

constexpr int exit_failed = 1;

/// Errors that a restart does not mend end with the status of wrong options, so that systemd does
/// not try again.
int status_of(const error& reason) {
  const auto is_lasting = reason.code == errc::invalid_argument
                          || reason.code == errc::incompatible_store
                          || reason.code == errc::corruption;
  return is_lasting ? config::exit_usage : exit_failed;
}

void reload(coordinator_node& node) {
  if (auto ok = node.reload(); ok)
    CODEQ_LOG_INFO("coordinator has read tokens and certificates again");
  else
    CODEQ_LOG_ERROR("coordinator keeps what was in force reason=\"{}\"", to_string(ok.error()));
}

/// Waits for a signal that ends the process; on SIGHUP it reloads tokens and certificates.
int wait_for_stop(const sigset_t& signals, coordinator_node& node) {
  for (;;) {
    const auto signal = next_signal(signals);
    if (signal != SIGHUP)
      return signal;
    reload(node);
  }
}

int fail(const std::string& text, int status = exit_failed) {
  observe::flush_log();
  std::fprintf(stderr, "codeq-coordinator: %s\n", text.c_str());
  return status;
}

result<std::unique_ptr<coordinator_node>>
start(const coordinator_node_options& options, const sigset_t& signals) {
  const start_watch watch(signals);
  return coordinator_node::start(options);
}

/// Writes the port to `path` by a rename, so that readers never see a part of it. No path: no file.
result<void> write_port(const char* option, const std::filesystem::path& path, std::uint16_t port) {
  if (path.empty())
    return {};
  auto draft = path;
  draft += ".new";
  {
    std::ofstream file(draft, std::ios::trunc);
    if (!file.is_open())
      return error{
        errc::invalid_argument, std::string(option) + " " + path.string() + ": cannot be created"};
    file << port << '\n';
    file.flush();
    if (!file)
      return error{
        errc::unavailable, std::string(option) + " " + path.string() + ": cannot be written"};
  }
  std::error_code code;
  std::filesystem::rename(draft, path, code);
  if (code)
    return error{
      errc::unavailable, std::string(option) + " " + path.string() + ": " + code.message()};
  return {};
}

void log_start(
  const config::coordinator_config& config, std::uint16_t port, std::uint16_t http_port) {
  const char* durability =
    config.node.sync
      ? "sync: what is acknowledged survives a killed process and a power cut"
      : "os: what is acknowledged survives a killed process; a power cut may cost the last second";
  CODEQ_LOG_INFO(
    "coordinator started version={} data={} listen={} port={} tls={} durability=\"{}\"",
    config::version(),
    config.node.data.string(),
    config.node.listen,
    port,
    !config.node.tls_certificate.empty(),
    durability);
  if (http_port != 0)
    CODEQ_LOG_INFO("gateway serves HTTP listen={} port={}", config.node.http, http_port);
  if (!config.node.metrics.empty())
    CODEQ_LOG_INFO("gateway serves metrics listen={}", config.node.metrics);
  if (config.node.development)
    CODEQ_LOG_WARN(
      "coordinator runs as a single-user setup dev=true risk=\"all clients on this machine may do "
      "everything\"");
}

int run(const config::coordinator_config& config) {
  auto signals = hold_stop_signals();
  ignore_file_signals();
  if (auto ok = observe::init_log(config.log_level, config.log_format); !ok)
    return fail(ok.error().context);
  observe::log_unknown_variables("coordinator", config::unknown_variables());
  auto node = start(config.node, signals);
  if (!node)
    return fail(to_string(node.error()), status_of(node.error()));
  log_start(config, (*node)->port(), (*node)->http_port());
  if (auto written = write_port("--port-file", config.port_file, (*node)->port()); !written)
    return fail(written.error().context, status_of(written.error()));
  if (auto written = write_port("--http-port-file", config.http_port_file, (*node)->http_port());
      !written)
    return fail(written.error().context, status_of(written.error()));
  auto signal = wait_for_stop(signals, **node);
  CODEQ_LOG_INFO("coordinator stops signal={}", signal);
  // Its parts log until they are destroyed.
  node->reset();
  CODEQ_LOG_INFO("coordinator stopped");
  observe::flush_log();
  return 0;
}

} // namespace

} // namespace codeq

int main(int argc, char** argv) {
  codeq::observe::open_standard_streams();
  auto parsed =
    codeq::config::parse_coordinator({argc, argv, codeq::config::process_environment()});
  if (auto* end = std::get_if<codeq::config::exit_request>(&parsed))
    return print(*end);
  return codeq::run(std::get<codeq::config::coordinator_config>(parsed));
}
