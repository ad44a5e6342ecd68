// SPDX-License-Identifier: Apache-2.0
#include "codeq/handler.hpp"

CODEQ_HANDLERS(registry) {
  registry.handle("hidden", [](const codeq::task&) { return codeq::outcome::completed(); });
}
