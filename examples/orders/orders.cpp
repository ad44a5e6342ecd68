// SPDX-License-Identifier: Apache-2.0
// Handles queue `orders` with types of its own: payloads and results are JSON objects. A payload
// that is not an order is dead at once, with an error that names the field.
#include "codeq/handler.hpp"
#include "codeq/json_codec.hpp"

#include <numeric>
#include <string>
#include <vector>

// [begin readme]
struct order {
  std::string customer;
  std::vector<int> prices;
};
BOOST_DESCRIBE_STRUCT(order, (), (customer, prices))

struct receipt {
  int total = 0;
};
BOOST_DESCRIBE_STRUCT(receipt, (), (total))

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
