// SPDX-License-Identifier: Apache-2.0
// A minimal handler library; README.md shows the code between the two marks.
// [begin readme]
#include "codeq/handler.hpp"

namespace {

/// Greets the person that the payload names.
codeq::outcome greet(const codeq::task& task) {
  if (task.payload.empty()) {
    return codeq::outcome::failed_permanently("the payload has to be a name");
  }
  return codeq::outcome::completed("hello " + std::string(task.payload));
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("hello", greet);
}

// [end readme]
