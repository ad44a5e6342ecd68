// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace codeq::security {

/// The operations of a worker that its token can be limited to. codeQ's names begin with `codeq:`.
enum class scope : std::uint8_t { claim, heartbeat, abandon, nack, result, subscribe };

inline constexpr std::array<std::string_view, 6> scope_names{
  "codeq:claim",
  "codeq:heartbeat",
  "codeq:abandon",
  "codeq:nack",
  "codeq:result",
  "codeq:subscribe"};

/// The scope with that name; empty for any other text.
[[nodiscard]] std::optional<scope> parse_scope(std::string_view text);

/// A set of scopes; a new one is empty.
class scope_set {
public:
  [[nodiscard]] static constexpr scope_set all() noexcept {
    return scope_set((1u << scope_names.size()) - 1);
  }

  constexpr scope_set() = default;

  constexpr void add(scope one) noexcept { bits_ |= bit_of(one); }

  [[nodiscard]] constexpr bool has(scope one) const noexcept { return (bits_ & bit_of(one)) != 0; }

  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

  friend constexpr bool operator==(scope_set, scope_set) = default;

private:
  explicit constexpr scope_set(unsigned bits) : bits_(bits) {}

  [[nodiscard]] static constexpr unsigned bit_of(scope one) noexcept {
    return 1u << static_cast<unsigned>(one);
  }

  unsigned bits_ = 0;
};

/// Names separated by commas. Errors: `invalid_argument` for a name that is not a scope.
[[nodiscard]] result<scope_set> parse_scopes(std::string_view text);

/// The names with commas between them.
[[nodiscard]] std::string to_string(scope_set scopes);

} // namespace codeq::security
