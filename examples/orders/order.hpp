// SPDX-License-Identifier: Apache-2.0
#pragma once

// The payloads and results of queue `orders`, for both sides: the handler and the producer.
#include "codeq/json_codec.hpp"

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
// [end readme]
