// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace codeq::schedule {

/// Writes a zone file of version 2, whose block of version 1 is empty.
struct zone_bytes {
  struct turn {
    std::int64_t at = 0;
    unsigned char type = 0;
  };

  std::vector<turn> turns{};
  std::vector<std::int32_t> offsets{0};
  std::string footer{};
  std::uint32_t leaps = 0;

  [[nodiscard]] std::string text() const {
    std::string all = header(0, 0, 0) + header(turns.size(), offsets.size(), leaps);
    for (const auto& each : turns)
      append(all, static_cast<std::uint64_t>(each.at), 8);
    for (const auto& each : turns)
      all.push_back(static_cast<char>(each.type));
    for (auto each : offsets) {
      append(all, static_cast<std::uint32_t>(each), 4);
      all += std::string(2, '\0');
    }
    all += std::string("LMT\0", 4) + std::string(12 * leaps, '\0');
    return all + "\n" + footer + "\n";
  }

private:
  static void append(std::string& to, std::uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
      to.push_back(static_cast<char>(value >> shift & 0xff));
  }

  static std::string header(std::size_t turns, std::size_t types, std::uint32_t leaps) {
    std::string all = "TZif2" + std::string(15, '\0');
    for (std::size_t count : {std::size_t{0}, std::size_t{0}, std::size_t{leaps}, turns, types,
                              std::size_t{types == 0 ? 0u : 4u}})
      append(all, count, 4);
    return all;
  }
};

} // namespace codeq::schedule
