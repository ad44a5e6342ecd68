// SPDX-License-Identifier: Apache-2.0
// Enqueues a task with one header, which codeqctl has no option for, and prints its id. Usage:
// e2e_headers ADDRESS QUEUE NAME VALUE_BYTES
#include "codeq/producer.hpp"

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: e2e_headers ADDRESS QUEUE NAME VALUE_BYTES\n";
    return 2;
  }
  auto producer = codeq::producer::connect({.coordinators = {argv[1]}, .name = "e2e-headers"});
  if (!producer) {
    std::cerr << "e2e_headers: " << codeq::to_string(producer.error()) << '\n';
    return 1;
  }
  codeq::task_spec task;
  task.queue = argv[2];
  task.headers[argv[3]] = std::string(std::stoul(argv[4]), 'v');
  auto added = (*producer)->enqueue(task);
  if (!added) {
    std::cerr << "e2e_headers: " << codeq::to_string(added.error()) << '\n';
    return 1;
  }
  std::cout << codeq::to_string(added->id) << '\n';
  return 0;
}
