// SPDX-License-Identifier: Apache-2.0
/// Preloaded into a coordinator: while the file named by STALLED_DISK exists, no write reaches the
/// disk. With SLOW_DISK_MS, each takes so much longer.
#include <chrono>
#include <cstdlib>
#include <thread>

#include <dlfcn.h>
#include <unistd.h>

namespace {

using sync_function = int (*)(int);

int sync_later(const char* name, int fd) {
  auto real = reinterpret_cast<sync_function>(::dlsym(RTLD_NEXT, name));
  const char* sign = std::getenv("STALLED_DISK");
  while (sign && ::access(sign, F_OK) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (const char* delay = std::getenv("SLOW_DISK_MS"))
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(delay)));
  return real(fd);
}

} // namespace

extern "C" int fsync(int fd) {
  return sync_later("fsync", fd);
}

extern "C" int fdatasync(int fd) {
  return sync_later("fdatasync", fd);
}
