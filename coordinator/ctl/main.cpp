// SPDX-License-Identifier: Apache-2.0
#include "config/ctl_config.hpp"
#include "ctl/commands.hpp"

#include <cstdio>
#include <utility>

namespace {

using namespace codeq;

int run(config::ctl_config config) {
  auto command = std::exchange(config.command, config::stats_command{});
  if (auto* enqueue = std::get_if<config::enqueue_command>(&command))
    return ctl::run_enqueue(config, std::move(*enqueue));
  if (auto* get = std::get_if<config::get_command>(&command))
    return ctl::run_get(config, *get);
  if (auto* result = std::get_if<config::result_command>(&command))
    return ctl::run_result(config, *result);
  return ctl::run_stats(config);
}

} // namespace

int main(int argc, char** argv) {
  auto parsed = config::parse_ctl({argc, argv, config::process_environment()});
  if (auto* end = std::get_if<config::exit_request>(&parsed)) {
    std::fprintf(
      end->status == 0 ? stdout : stderr, end->status == 0 ? "%s" : "%s\n", end->text.c_str());
    return end->status;
  }
  return run(std::get<config::ctl_config>(std::move(parsed)));
}
