// SPDX-License-Identifier: Apache-2.0
#include "config/environment_names.hpp"
#include "ctl/command_line.hpp"
#include "ctl/operator_api.hpp"
#include "ctl/output.hpp"
#include "ctl/text.hpp"
#include "observe/standard_streams.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <variant>

#include <unistd.h>

namespace codeq::ctl {

namespace {

int run(const invocation& given) {
  auto node = given.node;
  node.waits = [limit = node.timeout](const error& why) {
    complain("waiting for up to " + format_duration(limit) + ": " + why.context);
  };
  auto api = given.http.empty() ? make_node_api(std::move(node), given.tenant)
                                : make_http_api(given.http, std::move(node), given.tenant);
  for (const auto& [name, meant] : config::unknown_variables())
    if (!meant.empty())
      std::fprintf(
        stderr,
        "codeqctl: the unknown variable %s is ignored; did you mean %s?\n",
        name.c_str(),
        std::string(meant).c_str());
  bool is_interactive = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
  context with{*api, given.json, is_interactive};
  return given.run(with);
}

} // namespace

} // namespace codeq::ctl

int main(int argc, char** argv) {
  codeq::observe::open_standard_streams();
  auto parsed = codeq::ctl::parse_command_line({argc, argv, codeq::config::process_environment()});
  if (auto* end = std::get_if<codeq::config::exit_request>(&parsed))
    return print(*end);
  return codeq::ctl::finish_output(codeq::ctl::run(std::get<codeq::ctl::invocation>(parsed)));
}
