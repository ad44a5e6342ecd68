// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/message.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace codeq::http {

/// Decides which web pages of other origins may call the gateway from a browser (CORS); pure.
class cors_policy {
public:
  /// Allows no origin.
  cors_policy() = default;

  /// Allows these origins (`https://name:port`); `*` stands for every origin.
  explicit cors_policy(std::vector<std::string> origins);

  /// True when the origin is allowed by its name.
  [[nodiscard]] bool names(std::string_view origin) const;

  /// True when the origin is allowed.
  [[nodiscard]] bool allows(std::string_view origin) const;

  /// Adds the header fields that let a page of that origin read the answer, if the origin is
  /// allowed. `origin` is empty when the request came from no page.
  void admit(std::string_view origin, response& answer) const;

  /// The answer to a preflight for a path with these methods, before `admit`.
  [[nodiscard]] static response preflight(const std::string& methods);

private:
  std::vector<std::string> origins_;
  bool allows_all_ = false;
};

} // namespace codeq::http
