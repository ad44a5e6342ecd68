// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "security/principal.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::security {

/// The principals by their tokens. Immutable, so that threads can share it; a changed file becomes
/// a new table.
class token_table {
public:
  token_table() = default;

  /// @pre the digests differ
  explicit token_table(std::vector<principal> principals);

  /// The bearer of that token; null when the token is unknown. Does not check whether it expired.
  [[nodiscard]] std::shared_ptr<const principal> authenticate(std::string_view bearer) const;

  /// The principal of a token by its digest; null when there is none.
  [[nodiscard]] std::shared_ptr<const principal> find(const token_digest& digest) const;

  /// The principals with that subject, of any tenant.
  [[nodiscard]] std::vector<std::shared_ptr<const principal>>
  find_subject(std::string_view subject) const;

  /// The tokens' bearers in the order of the file.
  [[nodiscard]] const std::vector<std::shared_ptr<const principal>>& principals() const noexcept {
    return principals_;
  }

private:
  std::vector<std::shared_ptr<const principal>> principals_;
  /// Keyed by the first bytes of the digest; candidates are then compared as a whole.
  std::multimap<std::uint64_t, std::size_t> places_;
  std::multimap<std::string, std::size_t, std::less<>> subjects_;
};

/// Parses the text of a token file: one token per line, as `field=value` separated by blanks; `#`
/// begins a comment. Fields: `sha256`, `subject`, `tenant`, `role`, for a worker `queues` (names
/// separated by commas, or `*`) and `scopes` (left out: all of them), `expires` (RFC 3339; left
/// out: never), and `rate-producer`, `rate-claim`, `rate-admin` as `PER_SECOND` or
/// `PER_SECOND:BURST`. Errors: `invalid_argument` and `too_large` name line, field and what is
/// allowed; they never quote a text that may be a token.
[[nodiscard]] result<token_table> parse_tokens(std::string_view text);

/// The line of a principal in a token file, without the newline.
[[nodiscard]] std::string to_line(const principal& who);

/// `PER_SECOND` or `PER_SECOND:BURST`; the default burst is one second's amount.
[[nodiscard]] result<rate> parse_rate(std::string_view text);

/// Checks that the fields of a principal fit together and are within bounds. Errors:
/// `invalid_argument`, `too_large`.
[[nodiscard]] result<void> check(const principal& who);

[[nodiscard]] std::string_view to_string(role what) noexcept;
[[nodiscard]] result<role> parse_role(std::string_view text);

/// Names separated by commas, or `*`. Accepts any text; `check` validates the names.
[[nodiscard]] std::vector<std::string> split_names(std::string_view text);

} // namespace codeq::security
