// SPDX-License-Identifier: Apache-2.0
#include "config/ctl_config.hpp"
#include "ctl/commands.hpp"
#include "ctl/output.hpp"
#include "ctl/over_http.hpp"
#include "observe/standard_streams.hpp"

#include <cstdio>
#include <utility>
#include <variant>

namespace codeq {

namespace {

int run(config::ctl_config config) {
  auto command = std::exchange(config.command, config::stats_command{});
  if (!config.http.empty())
    return ctl::run_over_http(config, std::move(command));
  return std::visit([&](auto& chosen) { return ctl::run(config, std::move(chosen)); }, command);
}

} // namespace

} // namespace codeq

int main(int argc, char** argv) {
  codeq::observe::open_standard_streams();
  auto parsed = codeq::config::parse_ctl({argc, argv, codeq::config::process_environment()});
  if (auto* end = std::get_if<codeq::config::exit_request>(&parsed)) {
    std::fprintf(
      end->status == 0 ? stdout : stderr, end->status == 0 ? "%s" : "%s\n", end->text.c_str());
    return end->status;
  }
  return codeq::ctl::finish_output(
    codeq::run(std::get<codeq::config::ctl_config>(std::move(parsed))));
}
