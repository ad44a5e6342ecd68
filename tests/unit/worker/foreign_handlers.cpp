// SPDX-License-Identifier: Apache-2.0
// Looks as if it was built against another version of the handler header.
#include "codeq/handler.hpp"

extern "C" std::uint32_t codeq_handler_abi_version() {
  return codeq::handler_abi_version + 41;
}

extern "C" void codeq_register_handlers(codeq::handler_registry&) {
}
