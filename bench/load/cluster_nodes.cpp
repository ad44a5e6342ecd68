// SPDX-License-Identifier: Apache-2.0
#include "load/cluster_nodes.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace codeq::bench {

namespace {

constexpr duration settled_max = std::chrono::seconds(120);
constexpr duration poll_interval{50};
/// Primaries are moved one shard at a time, each to a node that has a copy, which may leave this.
constexpr std::size_t primaries_difference_max = 2;

/// Finds a program as a shell would. Empty: it is not there.
std::filesystem::path find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (auto file = std::filesystem::path(folder) / name; ::access(file.c_str(), X_OK) == 0)
      return file;
  return {};
}

/// The reason why it is not as wanted, for a message.
std::string missing_in(const result<cluster_status>& last) {
  if (!last)
    return last.error().context;
  for (const auto& shard : last->shards)
    if (!shard.is_served || !shard.waits_for.empty())
      return "shard " + std::to_string(value(shard.shard)) + " waits for " + shard.waits_for;
  return "copies are missing, or primaries are not spread evenly";
}

} // namespace

std::string node_name(std::size_t number) {
  return "c" + std::to_string(number);
}

std::string node_host(std::size_t number) {
  return "127.0.0." + std::to_string(number + 1);
}

result<std::uint16_t> free_port(const std::string& host) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  const auto is_bound =
    ::bind(socket, plain, size) == 0 && ::getsockname(socket, plain, &size) == 0;
  ::close(socket);
  if (!is_bound)
    return error{errc::unavailable, "no free port on " + host};
  return ntohs(address.sin_port);
}

result<etcd_process> start_etcd(const std::filesystem::path& directory) {
  const auto executable = find_program("etcd");
  if (executable.empty())
    return error{errc::unavailable, "etcd is not installed; it is Debian's package etcd-server"};
  std::vector<std::string> urls;
  for (int i = 0; i < 2; ++i) {
    const auto port = free_port(node_host(0));
    if (!port)
      return port.error();
    urls.push_back("http://" + node_host(0) + ":" + std::to_string(*port));
  }
  auto process = child_process::start(
    {.executable = executable,
     .arguments =
       {"--name", "e", "--data-dir", (directory / "etcd").string(), "--listen-client-urls", urls[0],
        "--advertise-client-urls", urls[0], "--listen-peer-urls", urls[1],
        "--initial-advertise-peer-urls", urls[1], "--initial-cluster", "e=" + urls[1]},
     .log = directory / "etcd.log"});
  if (!process)
    return process.error();
  return etcd_process{std::move(*process), urls[0]};
}

result<cluster_status> await_cluster(
  operator_client& client, const std::function<bool(const cluster_status&)>& is_wanted) {
  result<cluster_status> status = error{errc::timeout, "no coordinator has answered"};
  // An answer may take long while a coordinator is away.
  const auto end = std::chrono::steady_clock::now() + settled_max;
  while (std::chrono::steady_clock::now() < end) {
    status = client.cluster();
    if (status && is_wanted(*status))
      return status;
    if (!pause(poll_interval))
      return error{errc::going_away, "interrupted"};
  }
  return error{errc::timeout, "the cluster is not ready: " + missing_in(status)};
}

bool is_settled(const cluster_status& status, std::size_t coordinators) {
  std::map<std::string, std::size_t> primaries;
  for (std::size_t i = 0; i < coordinators; ++i)
    primaries[node_name(i)] = 0;
  for (const auto& shard : status.shards) {
    const auto in_sync = std::count_if(
      shard.copies.begin(), shard.copies.end(), [](const auto& copy) { return copy.is_in_sync; });
    const auto is_whole = static_cast<std::size_t>(in_sync) == status.copies
                          && shard.copies.size() == status.copies;
    if (!shard.is_served || !is_whole || !shard.waits_for.empty())
      return false;
    ++primaries[shard.primary];
  }
  const auto [least, most] = std::minmax_element(
    primaries.begin(), primaries.end(), [](const auto& a, const auto& b) {
      return a.second < b.second;
    });
  return !status.shards.empty() && most->second - least->second <= primaries_difference_max;
}

} // namespace codeq::bench
