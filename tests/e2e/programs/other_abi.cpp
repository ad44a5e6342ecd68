// SPDX-License-Identifier: Apache-2.0
// A handler library that looks as if another version of codeq had built it.
#include <cstdint>

namespace codeq {

class handler_registry;

} // namespace codeq

extern "C" std::uint32_t codeq_handler_abi_version() {
  return 4'000'000;
}

extern "C" void codeq_register_handlers(codeq::handler_registry&) {
}
