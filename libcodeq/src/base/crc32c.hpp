// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace codeq::base {

/// CRC-32C (Castagnoli) of bytes that follow others whose checksum is `before`. Uses the
/// instruction of the processor, if it has one.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

/// The same on processors without such an instruction.
[[nodiscard]] std::uint32_t crc32c_by_tables(std::string_view bytes, std::uint32_t before = 0);

} // namespace codeq::base
