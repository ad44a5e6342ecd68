// SPDX-License-Identifier: Apache-2.0
#include "base/remote_block.hpp"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

namespace codeq::base {

namespace {

constexpr std::size_t network_bytes = 8;

} // namespace

std::string remote_block_of(const std::string& address) {
  in6_addr parsed{};
  auto bare = address.substr(0, address.find('%'));
  if (::inet_pton(AF_INET6, bare.c_str(), &parsed) != 1)
    return address;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IN6_IS_ADDR_V4MAPPED(&parsed))
    return ::inet_ntop(AF_INET, &parsed.s6_addr[12], text.data(), text.size());
  std::fill(std::begin(parsed.s6_addr) + network_bytes, std::end(parsed.s6_addr), 0);
  return std::string(::inet_ntop(AF_INET6, &parsed, text.data(), text.size())) + "/64";
}

} // namespace codeq::base
