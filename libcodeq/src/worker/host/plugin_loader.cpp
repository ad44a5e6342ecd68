// SPDX-License-Identifier: Apache-2.0
#include "worker/host/plugin_loader.hpp"

#include <exception>

#include <dlfcn.h>

namespace codeq::worker {

namespace {

using version_function = std::uint32_t (*)();
using register_function = void (*)(handler_registry&);

template <class Function>
Function find_symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

error cannot_use(const std::string& file, const std::string& why) {
  return {errc::unavailable, "handler library " + file + " " + why};
}

/// What the loader says, and which target to link when a symbol of codeq or CAF is missing.
std::string with_advice(std::string problem) {
  auto symbol = problem.find("undefined symbol");
  if (symbol == std::string::npos)
    return problem;
  auto names = [&](const char* part) { return problem.find(part, symbol) != std::string::npos; };
  const char* target = "codeq::handler, or the library that has the symbol";
  if (names("json"))
    target = "codeq::json_codec";
  else if (names("caf"))
    target = "codeq::actor_handler";
  return problem + "; link the library in CMake: target_link_libraries(NAME PRIVATE " + target
         + ")";
}

} // namespace

result<void> load_handlers(const std::string& file, handler_registry& into) {
  // dlopen searches a name without a slash in the system's directories only.
  auto path = file.find('/') == std::string::npos ? "./" + file : file;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr)
    return cannot_use(file, "cannot be loaded: " + with_advice(dlerror()));
  auto version = find_symbol<version_function>(library, "codeq_handler_abi_version");
  auto enlist = find_symbol<register_function>(library, "codeq_register_handlers");
  if (version == nullptr || enlist == nullptr)
    return cannot_use(
      file,
      "has no CODEQ_HANDLERS(registry) { ... }, which registers handlers; write it once in one of "
      "the library's sources, include codeq/handler.hpp there, and do not hide its symbols");
  if (auto theirs = version(); theirs != handler_abi_version)
    return cannot_use(
      file,
      "was built for handler ABI " + std::to_string(theirs) + ", this worker has "
        + std::to_string(handler_abi_version) + "; build it again");
  try {
    enlist(into);
  } catch (const std::exception& e) {
    return cannot_use(file, std::string("failed to register its handlers: ") + e.what());
  }
  return {};
}

} // namespace codeq::worker
