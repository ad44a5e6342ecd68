// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace codeq::base {

/// The addresses that count as one remote: an IPv4 address alone, an IPv6 address with its /64,
/// which a single host may use in full. Text that is no address stands for itself.
[[nodiscard]] std::string remote_block_of(const std::string& address);

} // namespace codeq::base
