// SPDX-License-Identifier: Apache-2.0
#include "codeq/handler.hpp"

namespace boost::json {

/// Stands for a function of a library that was not linked.
void parse_without_a_library();

} // namespace boost::json

CODEQ_HANDLERS(registry) {
  registry.handle("q", [](const codeq::task&) {
    boost::json::parse_without_a_library();
    return codeq::outcome::completed();
  });
}
