// SPDX-License-Identifier: Apache-2.0
#include "codeq/worker_node.hpp"

#include "config/version.hpp"
#include "config/worker_config.hpp"
#include "observe/log.hpp"
#include "observe/standard_streams.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

namespace {

constexpr int exit_failed = 1;

/// Has the signals that end the process wait until `drain_on_signal` takes them. Called before any
/// thread is started, since threads inherit it.
sigset_t hold_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

/// Whoever started this process may have left SIGCHLD ignored, which is inherited; then the kernel
/// would not say how programs of `--exec` end.
void heed_children() {
  std::signal(SIGCHLD, SIG_DFL);
}

void reload(codeq::worker_node& node) {
  if (auto ok = node.reload(); ok)
    CODEQ_LOG_INFO("worker has read its certificates again");
  else
    CODEQ_LOG_ERROR(
      "worker keeps its certificates as they were reason=\"{}\"", to_string(ok.error()));
}

/// The first signal drains the node, the next ends the waiting for handlers; SIGHUP has the
/// certificates read again.
void drain_on_signal(codeq::worker_node& node, const sigset_t& signals) {
  for (;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal == SIGHUP) {
      reload(node);
      continue;
    }
    CODEQ_LOG_INFO("worker stops signal={}", signal);
    std::thread([&node] { node.drain(); }).detach();
  }
}

int fail(const std::string& text) {
  codeq::observe::flush_log();
  std::fprintf(stderr, "codeq-worker: %s\n", text.c_str());
  return exit_failed;
}

codeq::worker_node_options to_options(const codeq::config::worker_config& config) {
  codeq::worker_node_options options;
  options.coordinators = config.coordinators;
  options.name = config.name;
  options.tenant = config.tenant;
  options.slots = config.slots;
  options.prefetch = config.prefetch;
  options.drain = config.drain;
  options.libraries = config.libraries;
  options.programs = config.programs;
  options.access = config.access;
  return options;
}

int run(const codeq::config::worker_config& config) {
  auto signals = hold_stop_signals();
  heed_children();
  auto level = codeq::observe::parse_log_level(config.log_level);
  if (!level)
    return fail(level.error().context);
  codeq::observe::init_log(*level);
  auto node = codeq::worker_node::start(to_options(config));
  if (!node)
    return fail(to_string(node.error()));
  CODEQ_LOG_INFO(
    "worker started version={} name={} slots={} prefetch={}",
    codeq::config::version(),
    config.name,
    config.slots,
    config.prefetch);
  std::thread([&node, signals] { drain_on_signal(**node, signals); }).detach();
  auto ended = (*node)->wait();
  CODEQ_LOG_INFO("worker stopped");
  int status = ended ? 0 : fail(to_string(ended.error()));
  codeq::observe::flush_log();
  // Without destructors: a handler that does not heed its cancellation must not keep the process.
  std::_Exit(status);
}

} // namespace

int main(int argc, char** argv) {
  codeq::observe::open_standard_streams();
  auto parsed = codeq::config::parse_worker({argc, argv, codeq::config::process_environment()});
  if (auto* end = std::get_if<codeq::config::exit_request>(&parsed)) {
    std::fprintf(
      end->status == 0 ? stdout : stderr, end->status == 0 ? "%s" : "%s\n", end->text.c_str());
    return end->status;
  }
  return run(std::get<codeq::config::worker_config>(parsed));
}
