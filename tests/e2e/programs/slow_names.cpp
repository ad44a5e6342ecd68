// SPDX-License-Identifier: Apache-2.0
/// Preloaded into a coordinator: names under `slow.test` take 20 s to resolve; all other names
/// under `test` resolve to this machine.
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include <dlfcn.h>
#include <netdb.h>

extern "C" int
getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  std::string_view name = node ? node : "";
  if (name.ends_with(".slow.test")) {
    std::this_thread::sleep_for(std::chrono::seconds(20));
    return EAI_NONAME;
  }
  return real(name.ends_with(".test") ? "127.0.0.1" : node, service, hints, found);
}
