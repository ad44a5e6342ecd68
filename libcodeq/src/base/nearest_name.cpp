// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace codeq::base {

namespace {

/// A longer name is not compared.
constexpr std::size_t compared_bytes_max = 64;
/// Letters that a name needs to be recognized as the beginning, or as a part, of another one.
constexpr std::size_t beginning_bytes_min = 3;
constexpr std::size_t part_bytes_min = 4;
constexpr std::size_t beginning_cost = 1;
constexpr std::size_t part_cost = 3;
constexpr std::size_t not_near = std::numeric_limits<std::size_t>::max();

/// Lower-case letters and digits of a name; `max_attempts` and `maxAttempts` are the same.
std::string plain(std::string_view name) {
  std::string letters;
  for (char c : name)
    if (c != '_' && c != '-')
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

/// The number of letters to insert, delete, replace, or swap with their neighbor.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped)
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::move(last);
    last = std::move(row);
  }
  return last[b.size()];
}

/// How many mistakes a name of that length may have.
std::size_t distance_max(std::size_t letters) {
  if (letters < 4)
    return 1;
  return letters < 8 ? 2 : 3;
}

/// How far the names are apart; `not_near` for names that nobody mistakes for each other.
std::size_t cost_of(std::string_view unknown, std::string_view known) {
  auto distance = edit_distance(unknown, known);
  bool is_beginning = unknown.size() >= beginning_bytes_min && known.starts_with(unknown);
  if (is_beginning)
    return std::min(distance, beginning_cost);
  const auto& shorter = unknown.size() < known.size() ? unknown : known;
  const auto& longer = unknown.size() < known.size() ? known : unknown;
  bool is_part = shorter.size() >= part_bytes_min && longer.find(shorter) != longer.npos;
  if (is_part)
    return std::min(distance, part_cost);
  return distance <= distance_max(longer.size()) ? distance : not_near;
}

} // namespace

std::optional<std::string_view>
nearest_name(std::string_view unknown, std::span<const std::string_view> known) {
  if (unknown.empty() || unknown.size() > compared_bytes_max)
    return std::nullopt;
  auto letters = plain(unknown);
  std::optional<std::string_view> nearest;
  auto least = not_near;
  for (auto name : known) {
    auto cost = cost_of(letters, plain(name));
    if (cost >= least)
      continue;
    least = cost;
    nearest = name;
  }
  return nearest;
}

bool is_same_name(std::string_view a, std::string_view b) noexcept {
  auto is_same = [](char x, char y) { return (x == '-' ? '_' : x) == (y == '-' ? '_' : y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_same);
}

} // namespace codeq::base
