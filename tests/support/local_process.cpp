// SPDX-License-Identifier: Apache-2.0
#include "support/local_process.hpp"

#include <csignal>
#include <random>
#include <stdexcept>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace codeq::test {

namespace {

// Below the ports that Linux gives to sockets that ask for any (`ip_local_port_range`): none of the
// programs that run beside a test is given one of these before its process starts.
constexpr int port_first = 10000;
constexpr int port_last = 29999;
constexpr int tries_max = 1000;

} // namespace

free_ports::~free_ports() {
  for (int socket : sockets_)
    ::close(socket);
}

std::uint16_t free_ports::take(const std::string& host) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockets_.push_back(socket);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  std::random_device device;
  std::uniform_int_distribution<int> any(port_first, port_last);
  for (int i = 0; i < tries_max; ++i) {
    const auto port = static_cast<std::uint16_t>(any(device));
    address.sin_port = htons(port);
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return port;
  }
  throw std::runtime_error("no free port on " + host);
}

::pid_t
start_process(const std::vector<std::string>& arguments, const std::filesystem::path& log) {
  std::vector<char*> words;
  for (const auto& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const auto parent = ::getpid();
  const auto process = ::fork();
  if (process < 0)
    throw std::runtime_error("no process can be started");
  if (process != 0)
    return process;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  if (::getppid() == parent)
    ::execvp(words[0], words.data());
  ::_exit(127);
}

} // namespace codeq::test
