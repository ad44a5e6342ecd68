// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/assert.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace codeq::base {

/// A number of places that several owners share, as one of them sees it. The owner may take more
/// places as long as it has no more than are free afterwards. So one owner gets at most half of all
/// places, n greedy owners get one (n+1)-th each, and as many remain free for another one.
struct shared_places {
  std::uint64_t total = 0;
  /// The places that all owners have taken.
  std::uint64_t used = 0;
  /// The places that this owner has taken; 0 for an owner that may take all.
  std::uint64_t own = 0;

  [[nodiscard]] constexpr bool has_room(std::uint64_t amount = 1) const noexcept {
    return used <= total && own + amount <= total - used;
  }
};

/// Counts places that several owners share as `shared_places` says. Pure; used from one thread.
class fair_share {
public:
  explicit fair_share(std::uint64_t total) : total_(total) {}

  [[nodiscard]] bool has_room(const std::string& owner, std::uint64_t amount = 1) const {
    return shared_places{total_, used_, used_by(owner)}.has_room(amount);
  }

  /// Takes places if the owner may have them; false otherwise.
  [[nodiscard]] bool take(const std::string& owner, std::uint64_t amount = 1) {
    if (!has_room(owner, amount))
      return false;
    force(owner, amount);
    return true;
  }

  /// Takes places that cannot be refused, even if none is free.
  void force(const std::string& owner, std::uint64_t amount = 1) {
    if (amount == 0)
      return;
    owners_[owner] += amount;
    used_ += amount;
  }

  /// @pre the owner has that many places
  void give_back(const std::string& owner, std::uint64_t amount = 1) {
    if (amount == 0)
      return;
    auto at = owners_.find(owner);
    CODEQ_ASSERT(at != owners_.end() && at->second >= amount);
    at->second -= amount;
    used_ -= amount;
    if (at->second == 0)
      owners_.erase(at);
  }

  /// The owner to take a place from for the benefit of `owner`, which has less than an equal part
  /// of all places: the one that has most of them, and more than an equal part. Empty when there is
  /// none. Linear in the number of owners.
  [[nodiscard]] std::optional<std::string> debtor_of(const std::string& owner) const {
    if (owners_.empty())
      return std::nullopt;
    auto part = total_ / (owners_.size() + (owners_.contains(owner) ? 0 : 1));
    auto most = std::max_element(
      owners_.begin(), owners_.end(), [](auto& a, auto& b) { return a.second < b.second; });
    bool is_found = used_by(owner) < part && most->second > part;
    return is_found ? std::optional{most->first} : std::nullopt;
  }

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }

  [[nodiscard]] std::uint64_t used_by(const std::string& owner) const {
    auto at = owners_.find(owner);
    return at == owners_.end() ? 0 : at->second;
  }

private:
  std::uint64_t total_;
  std::uint64_t used_ = 0;
  std::map<std::string, std::uint64_t> owners_;
};

} // namespace codeq::base
