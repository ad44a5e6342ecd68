// SPDX-License-Identifier: Apache-2.0
#include "cluster/local_cluster.hpp"

#include "cluster/catalogue_keys.hpp"
#include "cluster/record_json.hpp"
#include "support/local_process.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <future>
#include <set>
#include <sstream>
#include <thread>
#include <variant>

#include <sys/wait.h>

namespace codeq::test {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t log_bytes = 6000;

} // namespace

local_cluster::local_cluster(options how)
  : options_(std::move(how)),
    client_(std::make_unique<etcd::client>(
      etcd::client::options{etcd::parse_member_urls(etcd_.urls()).value()})),
    processes_(options_.coordinators) {
  free_ports ports;
  for (std::size_t i = 0; i < processes_.size(); ++i)
    processes_[i].port = ports.take(host(i));
}

local_cluster::~local_cluster() {
  for (std::size_t i = 0; i < processes_.size(); ++i)
    kill(i);
}

void local_cluster::start(std::size_t coordinator) {
  const auto address = host(coordinator) + ":" + std::to_string(port(coordinator));
  std::vector<std::string> words{
    CODEQ_COORDINATOR, "--dev", "--data", directory_.path() / name(coordinator), "--listen",
    address, "--cluster", "test", "--etcd", etcd_.urls(), "--node", name(coordinator),
    "--replicas", std::to_string(options_.replicas), "--durability", options_.durability};
  if (options_.shards != 0)
    words.insert(words.end(), {"--shards", std::to_string(options_.shards)});
  processes_[coordinator].id =
    start_process(words, directory_.path() / (name(coordinator) + ".log"));
}

void local_cluster::kill(std::size_t coordinator) {
  auto& process = processes_[coordinator].id;
  if (process == 0)
    return;
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  process = 0;
}

int local_cluster::terminate(std::size_t coordinator) {
  auto& process = processes_[coordinator].id;
  int status = 0;
  ::kill(process, SIGTERM);
  ::waitpid(process, &status, 0);
  process = 0;
  return status;
}

void local_cluster::wipe(std::size_t coordinator) {
  std::filesystem::remove_all(directory_.path() / name(coordinator));
}

std::map<shard_id, cluster::shard_record> local_cluster::shards() {
  const cluster::catalogue_keys keys("test");
  std::promise<result<etcd::range_answer>> promise;
  client_->read(
    etcd::range_of_prefix(keys.prefix()),
    [&](const result<etcd::range_answer>& found) { promise.set_value(found); });
  const auto found = promise.get_future().get();
  std::map<shard_id, cluster::shard_record> shards;
  if (!found)
    return shards;
  for (const auto& one : found->found) {
    const auto key = keys.parse(one.key);
    const auto* shard = std::get_if<cluster::catalogue_keys::shard_key>(&key);
    if (shard && one.value)
      shards.emplace(shard->number, cluster::decode<cluster::shard_record>(*one.value).value());
  }
  return shards;
}

std::optional<std::size_t>
local_cluster::primary_of(const cluster::shard_record& record) const {
  const auto node = cluster::node_of(record, record.value.primary);
  for (std::size_t i = 0; i < processes_.size(); ++i)
    if (name(i) == node)
      return i;
  return std::nullopt;
}

bool local_cluster::await_in_sync(std::size_t copies, std::size_t primaries_on) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (std::chrono::steady_clock::now() < end) {
    const auto records = shards();
    std::set<std::string> primaries;
    for (const auto& [shard, record] : records)
      primaries.insert(cluster::node_of(record, record.value.primary));
    const auto are_in_sync =
      std::all_of(records.begin(), records.end(), [copies](const auto& shard) {
        return shard.second.value.in_sync.size() == copies;
      });
    if (!records.empty() && are_in_sync && primaries.size() >= primaries_on)
      return true;
    std::this_thread::sleep_for(50ms);
  }
  return false;
}

std::string local_cluster::log(std::size_t coordinator) const {
  std::ifstream file(directory_.path() / (name(coordinator) + ".log"));
  std::ostringstream text;
  text << file.rdbuf();
  auto all = std::move(text).str();
  return all.size() <= log_bytes ? all : all.substr(all.size() - log_bytes);
}

} // namespace codeq::test
