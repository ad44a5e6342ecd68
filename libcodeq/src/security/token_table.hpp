// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "security/principal.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::security {

/// Who may come in, by the tokens that they bear. Immutable, so that it may be shared by all
/// threads; a changed file is a new table.
class token_table {
public:
  token_table() = default;

  /// @pre the digests differ
  explicit token_table(std::vector<principal> principals);

  /// Whoever bears that token; null when nobody does.
  [[nodiscard]] std::shared_ptr<const principal> authenticate(std::string_view bearer) const;

  /// The principal of a token by its digest; null when there is none.
  [[nodiscard]] std::shared_ptr<const principal> find(const token_digest& digest) const;

  /// In the order of the file.
  [[nodiscard]] const std::vector<std::shared_ptr<const principal>>& principals() const noexcept {
    return principals_;
  }

private:
  std::vector<std::shared_ptr<const principal>> principals_;
  /// By the beginning of the digest; those that share it are compared whole.
  std::multimap<std::uint64_t, std::size_t> places_;
};

/// Reads the text of a token file: a line a token, `field=value` with blanks between them, and `#`
/// before a remark. Fields: `sha256`, `subject`, `tenant`, `role` (producer, worker or admin),
/// `queues` (of a worker: names with commas, or `*`), and `rate-producer`, `rate-claim`,
/// `rate-admin` as `PER_SECOND` or `PER_SECOND:BURST`. Errors: `invalid_argument` and `too_large`
/// name line, field and what is allowed, and never quote what may be a token.
[[nodiscard]] result<token_table> parse_tokens(std::string_view text);

/// The line of a principal in a token file, without its end.
[[nodiscard]] std::string to_line(const principal& who);

/// `PER_SECOND` or `PER_SECOND:BURST`; without a burst it is one second's worth.
[[nodiscard]] result<rate> parse_rate(std::string_view text);

/// Checks that the fields of a principal fit each other and are in bounds. Errors:
/// `invalid_argument`, `too_large`.
[[nodiscard]] result<void> check(const principal& who);

[[nodiscard]] std::string_view to_string(role what) noexcept;
[[nodiscard]] result<role> parse_role(std::string_view text);

/// Names with commas between them, or `*`. Errors: none here, see `check`.
[[nodiscard]] std::vector<std::string> split_names(std::string_view text);

} // namespace codeq::security
