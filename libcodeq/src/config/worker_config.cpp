// SPDX-License-Identifier: Apache-2.0
#include "config/worker_config.hpp"

#include "codeq/ids.hpp"

#include "base/queue_pattern.hpp"
#include "config/access_options.hpp"
#include "config/value_options.hpp"
#include "config/values.hpp"

#include <array>
#include <optional>

#include <unistd.h>

namespace codeq::config {

namespace {

constexpr auto worker_footer =
  "Every option may be given as a flag, in the environment (--log-level is CODEQ_LOG_LEVEL) or in "
  "the TOML file of --config (log-level = \"...\"). A flag wins over the environment, the "
  "environment over the file. An option that may be repeated takes one value per line in the "
  "environment and a list in the file. An empty environment variable counts as not given.";

/// Leaves room for the process id after the host's name.
constexpr std::size_t host_name_chars_max = 100;

std::string default_name() {
  std::array<char, 256> host{};
  std::string name = "worker";
  if (gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0')
    name = host.data();
  if (name.size() > host_name_chars_max)
    name.resize(host_name_chars_max);
  for (char& c : name)
    c = is_valid_name(std::string_view(&c, 1)) ? c : '_';
  return name + "-" + std::to_string(getpid());
}

result<std::string> parse_program(const std::string& text) {
  auto equals = text.find('=');
  if (equals == std::string::npos || !base::queue_pattern::parse(text.substr(0, equals)))
    return error{
      errc::invalid_argument,
      quote(text)
        + " is not QUEUE=COMMAND with a queue of 1 to 128 "
          "letters, digits, `.`, `_` or `-`, or a pattern such as print-* or *"};
  if (text.find_first_not_of(' ', equals + 1) == std::string::npos)
    return error{errc::invalid_argument, quote(text) + " has no command behind the `=`"};
  return text;
}

/// The name of a queue, or a pattern.
result<std::string> parse_queue(const std::string& text) {
  auto pattern = base::queue_pattern::parse(text);
  if (!pattern)
    return pattern.error();
  return text;
}

/// Adds the names and patterns of a list with commas.
result<void> add_queues(std::vector<std::string>& to, std::string_view list) {
  for (bool is_last = false; !is_last;) {
    auto comma = list.find(',');
    is_last = comma == std::string_view::npos;
    auto queue = parse_queue(std::string(list.substr(0, comma)));
    if (!queue)
      return queue.error();
    to.push_back(std::move(*queue));
    list.remove_prefix(is_last ? list.size() : comma + 1);
  }
  return {};
}

void add_handler_options(option_set& options, worker_config& config) {
  options.add(
    {.name = "handlers",
     .value = "LIB",
     .help = "Handler library (a shared object) to load; may be repeated [default: none]",
     .take = [&config](const std::string& text) -> result<void> {
       if (text.empty())
         return error{errc::invalid_argument, "must not be empty"};
       config.libraries.push_back(text);
       return {};
     },
     .repeatable = true});
  options.add(
    {.name = "exec",
     .value = "QUEUE=COMMAND",
     .help = "Program that handles a queue, or all queues that a pattern such as print-* or * "
             "matches: it gets the payload on stdin and the queue's name in CODEQ_QUEUE, and "
             "writes the result to stdout; may be repeated [default: none]",
     .take = add_to(config.programs, parse_program),
     .repeatable = true});
}

void add_queue_options(option_set& options, worker_config& config) {
  options.add(
    {.name = "queue",
     .value = "QUEUE=HOW",
     .help = "How to serve a queue, or each queue of a pattern, such as mail=slots:2,weight:3. "
             "slots:N: its tasks that run at once, 1 to 4096, else all slots. weight:N: its share "
             "of starts when queues wait for slots, 1 to 1000, else 1. isolation:shared, thread or "
             "process, else shared. May be repeated [default: as its handler was registered]",
     .take = add_to(config.queues, parse_queue_wish),
     .repeatable = true});
  options.add(
    {.name = "queues",
     .value = "LIST",
     .help = "Serve only these queues: names and patterns, separated by commas, such as "
             "mail,print-*. A pattern is the beginning of names and a *, or * for all queues; "
             "queues that it matches are served as soon as they exist. Of several handlers that "
             "match a queue, the one for its name is used, else the one with the longest pattern; "
             "may be repeated [default: all that have handlers]",
     .take = [&config](const std::string& text) { return add_queues(config.only, text); },
     .repeatable = true});
  options.add(
    {.name = "only",
     .value = "QUEUE",
     .help = "As --queues, with one name or pattern; may be repeated [default: none]",
     .take = add_to(config.only, parse_queue),
     .repeatable = true});
  options.add(switch_option(
    "list-handlers",
    "Print each queue with the kind, slots, weight and isolation of its handler, and exit "
    "[default: off]",
    config.list_handlers));
  options.add(
    {.name = "isolated",
     .value = "QUEUE",
     .help = "Serve the function of one queue or pattern over stdin and stdout; workers start such "
             "child processes themselves, for isolation:process [default: none]",
     .take = put_into(config.isolated, parse_queue)});
}

void add_capacity_options(
  option_set& options, worker_config& config, std::optional<std::size_t>& prefetch) {
  options.add(count_option(
    "slots",
    "Maximum number of tasks that run at once, over all queues, 1 to 4096 [default: 8]",
    config.slots,
    {1, limits::slots_max}));
  options.add(count_option(
    "prefetch",
    "Tasks claimed beyond the slots, so that no slot waits for the network, 0 to 4096 [default: as "
    "many as slots]",
    prefetch,
    {0, limits::slots_max}));
  options.add(count_option(
    "batch",
    "Maximum number of tasks that are claimed or reported in one message, 1 to 4096 [default: "
    "4096]",
    config.batch,
    {1, limits::reports_per_request_max}));
  options.add(duration_option(
    "drain",
    "How long handlers may run on after SIGTERM, and unanswered results are sent again, 0 to 12h, "
    "with its unit, such as 500ms or 30s [default: 30s]",
    config.drain,
    {duration{0}, limits::lease_max}));
}

void add_metrics_options(option_set& options, worker_config& config) {
  options.add(
    {.name = "metrics",
     .value = "ADDR:PORT",
     .help = "Address that serves /metrics and /healthz; one that is not loopback needs "
             "--metrics-token-file and a certificate, and serves HTTPS; port 0 picks a free port "
             "[default: none]",
     .take = put_into(config.metrics, parse_listen)});
  options.add(path_option(
    "metrics-token-file",
    "FILE",
    "File that contains only the bearer token that requests for /metrics must show [default: none, "
    "they need no token]",
    config.metrics_token_file));
  options.add(path_option(
    "metrics-cert",
    "FILE",
    "PEM file with the certificate chain for --metrics; turns its TLS on; reread on SIGHUP "
    "[default: that of --tls-cert, for an address that is not loopback]",
    config.metrics_certificate));
  options.add(path_option(
    "metrics-key",
    "FILE",
    "PEM file with the key of that certificate, without a password [default: that of --tls-key]",
    config.metrics_key));
}

/// Describes why everyone in the network could read the metrics; empty when they cannot.
std::string weakness_of(const worker_config& config) {
  if (config.metrics_certificate.empty() != config.metrics_key.empty())
    return "--metrics-cert and --metrics-key need each other";
  auto address = parse_host_port(config.metrics, true);
  if (config.metrics.empty() || (address && is_loopback(address->host)))
    return {};
  auto text = "--metrics: " + quote(config.metrics) + " is not a loopback address; ";
  if (config.metrics_token_file.empty())
    return text + "others need --metrics-token-file";
  bool has_certificate =
    !config.metrics_certificate.empty() || !config.access.tls_certificate.empty();
  return has_certificate ? "" : text + "others need --metrics-cert and --metrics-key";
}

} // namespace

parsed<worker_config> parse_worker(const command_line& line) {
  worker_config config;
  std::optional<std::size_t> prefetch;
  option_set options("codeq-worker", "Claims tasks and runs their handlers.", worker_footer);
  options.add(coordinator_option(config.coordinators));
  options.add(name_option(
    "name",
    "Name of the worker, unique among connected workers; letters, digits, `.`, `_` and `-` "
    "[default: host name and process id]",
    config.name));
  options.add(name_option("tenant", "Tenant whose tasks to run [default: default]", config.tenant));
  add_handler_options(options, config);
  add_queue_options(options, config);
  add_capacity_options(options, config, prefetch);
  add_access_options(options, config.access);
  add_metrics_options(options, config);
  options.add(log_level_option(config.log_level));
  options.add(log_format_option(config.log_format));
  if (auto end = options.parse(line))
    return *end;
  if (config.libraries.empty() && config.programs.empty())
    return options.refuse("nothing to do; give --handlers LIB or --exec QUEUE=COMMAND");
  if (auto why = weakness_of(config); !why.empty())
    return options.refuse(why);
  if (config.name.empty())
    config.name = default_name();
  config.prefetch = prefetch.value_or(config.slots);
  take_token(config.access, line.env);
  return config;
}

} // namespace codeq::config
