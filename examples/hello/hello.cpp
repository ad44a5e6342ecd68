// SPDX-License-Identifier: Apache-2.0
// A handler library in its smallest form; README.md shows what stands between the two marks.
// [begin readme]
#include "codeq/handler.hpp"

namespace {

/// Greets whoever the payload names.
codeq::outcome greet(const codeq::task& task) {
  if (task.payload.empty()) {
    return codeq::outcome::failed_permanently("the payload has to be a name");
  }
  return codeq::outcome::completed("hello " + std::string(task.payload.view()));
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("hello", greet);
}

// [end readme]
