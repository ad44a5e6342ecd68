// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace codeq::test {

/// Ports of loopback addresses that no process listens to. They stay reserved until the end of this
/// object.
class free_ports {
public:
  free_ports() = default;
  ~free_ports();
  free_ports(const free_ports&) = delete;
  free_ports& operator=(const free_ports&) = delete;

  /// Throws when the address has none.
  [[nodiscard]] std::uint16_t take(const std::string& host = "127.0.0.1");

private:
  std::vector<int> sockets_;
};

/// Starts a program, found as a shell would, with its output appended to a log. The kernel kills it
/// when the thread that called this ends; the caller reaps it. Throws when no process is left.
[[nodiscard]] ::pid_t
start_process(const std::vector<std::string>& arguments, const std::filesystem::path& log);

} // namespace codeq::test
