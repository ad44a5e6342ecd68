// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/message.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace codeq::http {

/// Which pages of other origins may call the gateway from a browser (CORS); pure.
class cors_policy {
public:
  /// None.
  cors_policy() = default;

  /// Pages of these origins (`https://name:port`); `*` stands for all.
  explicit cors_policy(std::vector<std::string> origins);

  /// True when the origin is allowed by its name.
  [[nodiscard]] bool names(std::string_view origin) const;

  /// True when the origin is allowed.
  [[nodiscard]] bool allows(std::string_view origin) const;

  /// Adds the header fields that let a page of that origin read the answer, if it may. An empty
  /// origin is no page's.
  void admit(std::string_view origin, response& answer) const;

  /// The answer to a preflight for a path with these methods, before `admit`.
  [[nodiscard]] static response preflight(const std::string& methods);

private:
  std::vector<std::string> origins_;
  bool allows_all_ = false;
};

} // namespace codeq::http
