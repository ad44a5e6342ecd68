// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace codeq::base {

/// The group of addresses that counts as one remote host: an IPv4 address by itself, an IPv6
/// address with its /64, since one host may use the whole /64. A text that is not an address is
/// returned unchanged.
[[nodiscard]] std::string remote_block_of(const std::string& address);

} // namespace codeq::base
