// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace codeq::http {

/// Generates the ids of requests, on one thread. The ids are unique, but not secret.
class request_ids {
public:
  explicit request_ids(std::uint64_t seed) : bits_(seed) {}

  /// The client's id when it may be echoed, else a new one of 32 hexadecimal digits.
  [[nodiscard]] std::string id_for(std::string_view given);

private:
  std::mt19937_64 bits_;
};

} // namespace codeq::http
