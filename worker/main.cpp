// SPDX-License-Identifier: Apache-2.0
#include "codeq/worker_node.hpp"

#include "config/access_options.hpp"
#include "config/environment_names.hpp"
#include "config/version.hpp"
#include "config/worker_config.hpp"
#include "observe/environment_log.hpp"
#include "observe/log.hpp"
#include "observe/standard_streams.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace {

/// Blocks the signals that `heed_signals` waits for. Call before any thread is started, since
/// threads inherit the mask.
sigset_t hold_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

/// The status of wrong options keeps systemd from a restart where that does not mend the error.
int fail(const codeq::error& reason) {
  codeq::observe::flush_log();
  std::fprintf(stderr, "codeq-worker: %s\n", to_string(reason).c_str());
  using codeq::errc;
  const auto lasts = reason.code == errc::invalid_argument || reason.code == errc::unauthorized;
  return lasts ? codeq::config::exit_usage : EXIT_FAILURE;
}

codeq::isolation to_isolation(std::string_view word) {
  for (auto where : {codeq::isolation::thread, codeq::isolation::process})
    if (word == to_string(where))
      return where;
  return codeq::isolation::shared;
}

codeq::worker_node_options to_options(const codeq::config::worker_config& config) {
  codeq::worker_node_options options;
  options.coordinators = config.coordinators;
  options.name = config.name;
  options.tenant = config.tenant;
  options.slots = config.slots;
  options.prefetch = config.prefetch;
  options.batch = config.batch;
  options.drain = config.drain;
  options.libraries = config.libraries;
  options.programs = config.programs;
  options.access = config.access;
  for (const auto& wish : config.queues)
    options.queues[wish.queue] = {wish.slots, wish.weight, to_isolation(wish.isolation)};
  options.only = config.only;
  options.metrics = config.metrics;
  options.metrics_token_file = config.metrics_token_file;
  options.metrics_certificate = config.metrics_certificate;
  options.metrics_key = config.metrics_key;
  options.isolation_program = "/proc/self/exe";
  return options;
}

int print_handlers(const codeq::config::worker_config& config) {
  auto listed = codeq::list_handlers(to_options(config));
  if (!listed)
    return fail(listed.error());
  for (const auto& handler : *listed)
    std::printf("%s\n", to_string(handler).c_str());
  return 0;
}

/// Applies changed settings and certificates; those that cannot be used keep their old values.
void reread(codeq::worker_node& node, const codeq::config::command_line& line) {
  auto taken = node.reload();
  auto parsed = codeq::config::parse_worker(line);
  if (auto* bad = std::get_if<codeq::config::exit_request>(&parsed))
    taken = codeq::error{codeq::errc::invalid_argument, bad->text};
  else if (taken)
    taken = node.reconfigure(to_options(std::get<codeq::config::worker_config>(parsed)));
  if (taken)
    static_cast<void>(codeq::observe::change_log_level(
      std::get<codeq::config::worker_config>(parsed).log_level, "SIGHUP"));
  if (!taken)
    CODEQ_LOG_ERROR("worker keeps its settings reason=\"{}\"", to_string(taken.error()));
  else
    CODEQ_LOG_INFO("worker has read its settings and certificates again");
}

/// The first stop signal drains the node, the next one ends the wait for handlers; SIGHUP reloads.
void heed_signals(
  codeq::worker_node& node, const sigset_t& signals, const codeq::config::command_line& line) {
  for (;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal == SIGHUP) {
      reread(node, line);
      continue;
    }
    CODEQ_LOG_INFO("worker stops signal={}", signal);
    std::thread([&node] { node.drain(); }).detach();
  }
}

int run(const codeq::config::worker_config& config, const codeq::config::command_line& line) {
  auto signals = hold_stop_signals();
  // An ignored SIGCHLD is inherited, and the kernel would not report how `--exec` programs end.
  std::signal(SIGCHLD, SIG_DFL);
  if (auto ok = codeq::observe::init_log(config.log_level, config.log_format); !ok)
    return fail(ok.error());
  codeq::observe::log_unknown_variables("worker", codeq::config::unknown_variables());
  auto node = codeq::worker_node::start(to_options(config));
  if (!node)
    return fail(node.error());
  CODEQ_LOG_INFO(
    "worker started version={} name={} slots={} prefetch={}",
    codeq::config::version(), config.name, config.slots, config.prefetch);
  std::thread([&node, signals, line] { heed_signals(**node, signals, line); }).detach();
  auto ended = (*node)->wait();
  CODEQ_LOG_INFO("worker stopped");
  int status = ended ? 0 : fail(codeq::config::with_advice(ended.error()));
  codeq::observe::flush_log();
  // Skips destructors: a handler that ignores its cancellation must not keep the process alive.
  std::_Exit(status);
}

} // namespace

int main(int argc, char** argv) {
  codeq::observe::open_standard_streams();
  codeq::config::command_line line{argc, argv, codeq::config::process_environment()};
  auto parsed = codeq::config::parse_worker(line);
  if (auto* end = std::get_if<codeq::config::exit_request>(&parsed))
    return print(*end);
  const auto& config = std::get<codeq::config::worker_config>(parsed);
  if (config.list_handlers)
    return print_handlers(config);
  if (!config.isolated.empty())
    return fail(codeq::serve_isolated(to_options(config), config.isolated).error());
  return run(config, line);
}
