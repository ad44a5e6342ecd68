// SPDX-License-Identifier: Apache-2.0
#include "worker/call_handler.hpp"

#include <exception>
#include <string>

namespace codeq::worker {

outcome call_handler(const handler_function& function, const task& attempt) {
  try {
    return function(attempt);
  } catch (const std::exception& e) {
    return outcome::failed(std::string("exception: ") + e.what());
  } catch (...) {
    return outcome::failed("unknown exception");
  }
}

} // namespace codeq::worker
