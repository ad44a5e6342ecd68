// SPDX-License-Identifier: Apache-2.0
#include "maintenance/recovery_trial.hpp"

#include "storage/recovery/recovery.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace codeq::maintenance {

namespace {

[[noreturn]] void
recover_and_exit(const storage::task_store& store, shard_id shard, std::uint32_t epoch) {
  // An abort is an expected result here, so no core file is needed.
  std::signal(SIGABRT, SIG_DFL);
  rlimit no_core{};
  ::setrlimit(RLIMIT_CORE, &no_core);
  static_cast<void>(storage::recover(store, shard, epoch, monotonic_time{}));
  ::_exit(0);
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 512> buffer{};
  for (;;) {
    auto size = ::read(file, buffer.data(), buffer.size());
    if (size > 0)
      text.append(buffer.data(), static_cast<std::size_t>(size));
    else if (size == 0 || errno != EINTR)
      return text;
  }
}

} // namespace

std::string try_recovery(const storage::task_store& store, shard_id shard, std::uint32_t epoch) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0)
    return {};
  auto child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    recover_and_exit(store, shard, epoch);
  }
  ::close(ends[1]);
  auto said = child > 0 ? read_all(ends[0]) : std::string();
  ::close(ends[0]);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0)
    return {};
  while (said.ends_with('\n'))
    said.pop_back();
  return said.empty() ? "the recovering process died" : said;
}

} // namespace codeq::maintenance
