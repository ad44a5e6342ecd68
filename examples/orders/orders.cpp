// SPDX-License-Identifier: Apache-2.0
// Handles queue `orders` with types of its own: payloads and results are JSON objects. A payload
// that is not an order is dead at once, with an error that names the field.
#include "codeq/handler.hpp"

#include "order.hpp"

#include <numeric>

// [begin readme]
static codeq::typed_outcome<receipt> charge(const order& given) {
  if (given.prices.empty()) {
    return codeq::outcome::failed_permanently("field `prices` is empty");
  }
  return receipt{std::accumulate(given.prices.begin(), given.prices.end(), 0)};
}

CODEQ_HANDLERS(registry) {
  registry.handle<order, receipt>("orders", charge);
}

// [end readme]
