// SPDX-License-Identifier: Apache-2.0
#include "instructions/produce.hpp"

#include "load/arrivals.hpp"

#include <iostream>
#include <memory>
#include <sstream>

namespace codeq::bench {

namespace {

struct produce_options {
  std::string coordinator;
  arrival_options arrivals{.rate = 50, .length = std::chrono::seconds(4), .reads_results = false};
};

/// Duration of the warm-up, in which connections are made and code is loaded.
constexpr duration warm_up = std::chrono::seconds(1);

/// Prints `what` and returns when the standard input has a line. Errors: `disconnected` at its end.
result<void> wait_after(const std::string& what) {
  std::cout << R"({"bench":"produce","now":")" << what << "\"}\n" << std::flush;
  std::string line;
  if (!std::getline(std::cin, line))
    return error{errc::disconnected, "the standard input has ended"};
  return {};
}

result<std::string> produce(const produce_options& options) {
  auto to = producer::connect({.coordinators = {options.coordinator}, .name = "produce"});
  if (!to)
    return to.error();
  auto before = options.arrivals;
  before.length = warm_up;
  if (auto warmed_up = run_arrivals(**to, before); !warmed_up)
    return warmed_up.error();
  if (auto told = wait_after("ready"); !told)
    return told.error();
  auto arrivals = run_arrivals(**to, options.arrivals);
  if (!arrivals)
    return arrivals.error();
  if (auto told = wait_after("accepted"); !told)
    return told.error();
  std::ostringstream line;
  line << R"({"bench":"produce","rate":)" << options.arrivals.rate << R"(,"payload":)"
       << options.arrivals.payload << R"(,"tasks":)" << arrivals->size() << '}';
  return line.str();
}

} // namespace

measurement produce_measurement() {
  auto options = std::make_shared<produce_options>();
  auto& arrivals = options->arrivals;
  return {
    {"produce",
     "Adds tasks one by one to a running coordinator, between two lines on the standard input",
     {{.name = "coordinator",
       .value = "ADDRESS",
       .help = "host:port of the coordinator",
       .take =
         [options](const auto& text) {
           options->coordinator = text;
           return result<void>{};
         }},
      count_option("rate", "Tasks per second [default: 50]", arrivals.rate, {1, 1'000'000}),
      seconds_option("seconds", "How long they arrive, in seconds [default: 4]", arrivals.length),
      count_option(
        "payload", "Bytes of each payload [default: 256]", arrivals.payload, {0, 1 << 20})}},
    [options] { return produce(*options); }};
}

} // namespace codeq::bench
