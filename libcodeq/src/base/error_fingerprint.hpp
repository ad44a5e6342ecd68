// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace codeq::base {

/// Maximum size of a fingerprint in bytes.
inline constexpr std::size_t fingerprint_bytes_max = 256;

/// An error text without what differs between errors of one kind: each word that contains a digit
/// (numbers, ids, addresses, times) or consists of at least eight hexadecimal digits becomes `#`,
/// and adjacent ones become one. Ends at the first line's end or at `fingerprint_bytes_max`.
[[nodiscard]] std::string fingerprint_of(std::string_view error_text);

} // namespace codeq::base
