// SPDX-License-Identifier: Apache-2.0
// Reads prices from standard input, enqueues an order of them, and prints the total of its receipt.
// Usage: place_order ADDRESS:PORT CUSTOMER
#include "codeq/producer.hpp"

#include "order.hpp"

#include <iostream>

// [begin readme]
static codeq::result<receipt> place(codeq::producer& producer, const order& wanted) {
  auto task = producer.enqueue({.queue = "orders", .payload = codeq::encode(wanted)});
  auto ended = task ? producer.await(task->id, std::chrono::seconds(30)) : task.error();
  return codeq::result_of<receipt>(ended);
}

// [end readme]

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: place_order ADDRESS:PORT CUSTOMER\n";
    return 2;
  }
  order wanted{argv[2], {}};
  for (int price = 0; std::cin >> price;) {
    wanted.prices.push_back(price);
  }
  auto producer = codeq::producer::connect({.coordinators = {argv[1]}});
  auto paid = producer ? place(**producer, wanted) : producer.error();
  if (!paid) {
    std::cerr << "place_order: " << codeq::to_string(paid.error()) << '\n';
    return 1;
  }
  std::cout << paid->total << '\n';
  return 0;
}
