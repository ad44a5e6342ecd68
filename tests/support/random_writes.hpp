// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/write_sets.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace codeq::test {

/// Random writes as shards would make them: keys of every kind, each written and removed as the
/// grammar in `storage/keys/keyspace.hpp` allows. Each group overwrites the store's record with its
/// own number, so that a state shows which group it comes after.
class random_writes {
public:
  struct shape {
    std::size_t sets_max = 4;
    std::size_t operations_max = 8;
    std::size_t value_bytes_max = 2000;
    /// Values repeat this; empty for random bytes.
    std::string value_part{};
  };

  random_writes(std::uint64_t seed, shape what);

  /// The next commit: a few write sets of different shards.
  [[nodiscard]] write_group next();

  /// Number of groups generated so far.
  [[nodiscard]] std::uint64_t made() const noexcept { return made_; }

  /// Number of the last group in `state`; 0 when there is none.
  [[nodiscard]] static std::uint64_t group_in(const contents& state);

  /// Continues from `state` as if it were the result of the earlier groups.
  void continue_from(const contents& state);

private:
  void add_operation(storage::write_set& set);
  [[nodiscard]] std::string random_value();

  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::mt19937_64 random_;
  shape shape_;
  std::uint64_t made_ = 0;
  std::uint64_t next_number_ = 1;
  /// Keys that exist and may be removed once.
  std::vector<std::string> removable_;
  /// Keys that exist and may be overwritten or removed.
  std::vector<std::string> overwritable_;
};

} // namespace codeq::test
