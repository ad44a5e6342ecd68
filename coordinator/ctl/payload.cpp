// SPDX-License-Identifier: Apache-2.0
#include "ctl/payload.hpp"

#include "codeq/limits.hpp"

#include <array>
#include <cstdio>

namespace codeq::ctl {

std::string read_payload() {
  std::string text;
  std::array<char, 1 << 16> part{};
  while (text.size() <= limits::payload_bytes_max) {
    auto got = std::fread(part.data(), 1, part.size(), stdin);
    if (got == 0)
      break;
    text.append(part.data(), got);
  }
  return text;
}

} // namespace codeq::ctl
