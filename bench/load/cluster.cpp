// SPDX-License-Identifier: Apache-2.0
#include "load/cluster.hpp"

#include <fstream>
#include <iterator>

namespace codeq::bench {

namespace {

/// A coordinator that recovers a store with many tasks listens late.
constexpr duration start_max = std::chrono::seconds(60);
constexpr duration poll_interval{10};
constexpr std::size_t log_tail_bytes = 2000;

std::string tail_of(const std::filesystem::path& log) {
  std::ifstream file(log);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.size() > log_tail_bytes ? text.substr(text.size() - log_tail_bytes) : text;
}

std::string first_line_of(const std::filesystem::path& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

} // namespace

result<cluster> cluster::start(const cluster_options& options) {
  auto directory = scratch_directory::create();
  if (!directory) {
    return directory.error();
  }
  cluster made(std::move(*directory));
  const auto is_alone = options.coordinators == 1 && options.replicas == 1;
  auto started_first = is_alone ? made.start_coordinator(options) : made.start_nodes(options);
  if (!started_first) {
    return started_first.error();
  }
  for (std::size_t number = 0; number < options.workers; ++number) {
    if (auto started = made.start_worker(options.coordinators + number, options); !started) {
      return started.error();
    }
  }
  return made;
}

std::filesystem::path cluster::log_of(std::size_t process) const {
  return directory_.path() / (std::to_string(process) + ".log");
}

result<void> cluster::start_coordinator(const cluster_options& options) {
  const auto port_file = directory_.path() / "port";
  const auto http_port_file = directory_.path() / "http-port";
  std::vector<std::string> arguments{
    "--dev",
    "--data",
    (directory_.path() / "store").string(),
    "--listen",
    "127.0.0.1:0",
    "--port-file",
    port_file.string(),
    "--shards",
    std::to_string(options.shards),
    "--durability",
    options.durability};
  if (options.http) {
    for (const auto* word : {"--http", "127.0.0.1:0", "--http-port-file"})
      arguments.emplace_back(word);
    arguments.push_back(http_port_file.string());
  }
  auto process = child_process::start(
    {.executable = executable_folder() / "codeq-coordinator",
     .arguments = std::move(arguments),
     .log = log_of(0)});
  if (!process) {
    return process.error();
  }
  processes_.push_back(std::move(*process));
  for (duration waited{0}; waited < start_max; waited += poll_interval) {
    auto port = first_line_of(port_file);
    auto http_port = options.http ? first_line_of(http_port_file) : "0";
    if (!port.empty() && !http_port.empty()) {
      address_ = "127.0.0.1:" + port;
      http_port_ = static_cast<std::uint16_t>(std::stoul(http_port));
      return {};
    }
    if (!coordinator().is_running() || !pause(poll_interval)) {
      break;
    }
  }
  return error{errc::unavailable, "the coordinator did not start: " + tail_of(log_of(0))};
}

result<void> cluster::start_nodes(const cluster_options& options) {
  if (options.replicas > options.coordinators)
    return error{
      errc::invalid_argument,
      "replicas is " + std::to_string(options.replicas) + "; it must be 1.."
        + std::to_string(options.coordinators) + ", the number of coordinators"};
  auto etcd = start_etcd(directory_.path());
  if (!etcd)
    return etcd.error();
  etcd_ = std::move(*etcd);
  for (std::size_t i = 0; i < options.coordinators; ++i) {
    const auto port = free_port(node_host(i));
    if (!port)
      return port.error();
    addresses_.push_back(node_host(i) + ":" + std::to_string(*port));
    if (auto ok = start_node(options, i); !ok)
      return ok;
  }
  address_ = addresses_.front();
  auto client = operator_client::connect({.coordinators = {address_}});
  for (duration waited{0}; !client && waited < start_max && pause(poll_interval);
       waited += poll_interval)
    client = operator_client::connect({.coordinators = {address_}});
  if (!client)
    return client.error();
  const auto settled = await_cluster(**client, [&options](const cluster_status& status) {
    return is_settled(status, options.coordinators);
  });
  return settled ? result<void>{} : settled.error();
}

result<void> cluster::start_node(const cluster_options& options, std::size_t number) {
  auto process = child_process::start(
    {.executable = executable_folder() / "codeq-coordinator",
     .arguments =
       {"--dev", "--data", (directory_.path() / ("store-" + node_name(number))).string(),
        "--listen", addresses_.at(number), "--cluster", "bench", "--etcd", etcd_->url,
        "--node", node_name(number), "--zone", node_name(number), "--replicas",
        std::to_string(options.replicas), "--shards", std::to_string(options.shards),
        "--durability", options.durability},
     .log = log_of(number)});
  if (!process)
    return process.error();
  if (number < processes_.size())
    processes_[number] = std::move(*process);
  else
    processes_.push_back(std::move(*process));
  return {};
}

result<void> cluster::restart_coordinator(const cluster_options& options) {
  processes_.clear();
  for (const auto* file : {"port", "http-port"})
    std::filesystem::remove(directory_.path() / file);
  return start_coordinator(options);
}

result<void> cluster::start_worker(std::size_t number, const cluster_options& options) {
  auto process = child_process::start(
    {.executable = executable_folder() / "codeq-worker",
     .arguments =
       {"--coordinator",
        address_,
        "--name",
        "w" + std::to_string(number),
        "--slots",
        std::to_string(options.slots),
        "--prefetch",
        std::to_string(options.prefetch),
        "--batch",
        std::to_string(options.worker_batch),
        "--drain",
        options.drain,
        "--handlers",
        options.library.string()},
     .log = log_of(number)});
  if (!process) {
    return process.error();
  }
  processes_.push_back(std::move(*process));
  return {};
}

result<void> cluster::check_running() {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (!processes_[i].is_running()) {
      return error{errc::unavailable, "a process has ended: " + tail_of(log_of(i))};
    }
  }
  return {};
}

} // namespace codeq::bench
