// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/temporary_directory.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace codeq::test {

/// Real etcd processes on loopback, with their data in memory. They end with this object, or with
/// the test's process. Throws when one cannot be started.
class etcd_cluster {
public:
  /// PEM files for the side of the clients; empty paths: without TLS.
  struct security {
    std::filesystem::path certificate;
    std::filesystem::path key;
    std::filesystem::path authority;
  };

  explicit etcd_cluster(std::size_t members) : etcd_cluster(members, security{}) {}

  etcd_cluster(std::size_t members, security files);
  ~etcd_cluster();
  etcd_cluster(const etcd_cluster&) = delete;
  etcd_cluster& operator=(const etcd_cluster&) = delete;

  /// The URL of a member for clients.
  [[nodiscard]] std::string url(std::size_t member) const;

  [[nodiscard]] std::uint16_t port(std::size_t member) const { return members_[member].port; }

  /// The URLs of all members, separated by commas.
  [[nodiscard]] std::string urls() const;

  /// kill -9, and the end of the process.
  void kill(std::size_t member);
  /// Starts a member that was killed, with its data.
  void start(std::size_t member);
  /// SIGSTOP and SIGCONT.
  void stop(std::size_t member);
  void go_on(std::size_t member);

  /// The latest lines of the members' logs, for the words of a failure.
  [[nodiscard]] std::string log() const;

private:
  struct member {
    std::uint16_t port = 0;
    std::uint16_t peer_port = 0;
    ::pid_t process = 0;
  };

  [[nodiscard]] std::vector<std::string> arguments(std::size_t index) const;

  security files_;
  temporary_directory directory_{temporary_directory::in_memory()};
  std::vector<member> members_;
};

} // namespace codeq::test
