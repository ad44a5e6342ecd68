// SPDX-License-Identifier: Apache-2.0
#include "support/etcd_cluster.hpp"

#include "support/local_process.hpp"

#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <sys/wait.h>

namespace codeq::test {

namespace {

constexpr std::size_t log_bytes = 2000;

} // namespace

etcd_cluster::etcd_cluster(std::size_t members, security files)
  : files_(std::move(files)), members_(members) {
  {
    free_ports ports;
    for (auto& one : members_)
      one.port = ports.take();
    for (auto& one : members_)
      one.peer_port = ports.take();
  }
  for (std::size_t i = 0; i < members_.size(); ++i)
    start(i);
}

etcd_cluster::~etcd_cluster() {
  for (std::size_t i = 0; i < members_.size(); ++i)
    kill(i);
}

std::string etcd_cluster::url(std::size_t member) const {
  const std::string scheme = files_.certificate.empty() ? "http" : "https";
  return scheme + "://127.0.0.1:" + std::to_string(members_[member].port);
}

std::string etcd_cluster::urls() const {
  std::string all = url(0);
  for (std::size_t i = 1; i < members_.size(); ++i)
    all += "," + url(i);
  return all;
}

std::vector<std::string> etcd_cluster::arguments(std::size_t index) const {
  const auto peer_url = [this](std::size_t i) {
    return "http://127.0.0.1:" + std::to_string(members_[i].peer_port);
  };
  std::string all;
  for (std::size_t i = 0; i < members_.size(); ++i)
    all += (i > 0 ? "," : "") + ("m" + std::to_string(i)) + "=" + peer_url(i);
  const auto name = "m" + std::to_string(index);
  std::vector<std::string> words{
    "etcd", "--name", name, "--data-dir", (directory_.path() / name).string(),
    "--listen-client-urls", url(index), "--advertise-client-urls", url(index),
    "--listen-peer-urls", peer_url(index), "--initial-advertise-peer-urls", peer_url(index),
    "--initial-cluster", all, "--initial-cluster-token", directory_.path().filename().string(),
    // Elections of a test take tenths of a second.
    "--heartbeat-interval", "30", "--election-timeout", "300"};
  if (!files_.certificate.empty())
    words.insert(
      words.end(),
      {"--cert-file", files_.certificate, "--key-file", files_.key, "--trusted-ca-file",
       files_.authority, "--client-cert-auth"});
  return words;
}

void etcd_cluster::start(std::size_t member) {
  const auto log = directory_.path() / ("m" + std::to_string(member) + ".log");
  members_[member].process = start_process(arguments(member), log);
  if (members_[member].process < 0)
    throw std::runtime_error("etcd cannot be started");
}

void etcd_cluster::kill(std::size_t member) {
  auto& process = members_[member].process;
  if (process <= 0)
    return;
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  process = 0;
}

void etcd_cluster::stop(std::size_t member) {
  int status = 0;
  ::kill(members_[member].process, SIGSTOP);
  ::waitpid(members_[member].process, &status, WUNTRACED);
  if (!WIFSTOPPED(status))
    throw std::runtime_error("etcd ended:\n" + log());
}

void etcd_cluster::go_on(std::size_t member) {
  ::kill(members_[member].process, SIGCONT);
}

std::string etcd_cluster::log() const {
  std::string all;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    std::ifstream file(directory_.path() / ("m" + std::to_string(i) + ".log"));
    std::ostringstream text;
    text << file.rdbuf();
    auto end = text.str();
    end.erase(0, end.size() - std::min(end.size(), log_bytes));
    all += "m" + std::to_string(i) + ": " + end + "\n";
  }
  return all;
}

} // namespace codeq::test
