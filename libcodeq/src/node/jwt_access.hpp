// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"

#include "security/jwt.hpp"
#include "security/key_source.hpp"

#include <functional>
#include <memory>

/// JWTs at a coordinator: their options, and the keys that verify them.
namespace codeq::node {

/// Errors: `invalid_argument` for options that name no issuer or audience, or an unknown claim or
/// role.
[[nodiscard]] result<security::jwt_rules> jwt_rules_of(const jwt_options& options);

/// Reads the keys of an issuer from a file or URL, again and again, on a thread of its own.
class key_refresher {
public:
  /// Reads the keys once before it returns. A server that does not answer then is no error, since
  /// tokens of the token file do not need it. Errors: `invalid_argument` for a URL that is not
  /// secure; `unavailable` or those of `security::parse_jwk_set` for a file that cannot be used.
  [[nodiscard]] static result<std::unique_ptr<key_refresher>> start(const jwt_options& options);

  /// Ends the thread without waiting for it, because a look-up of a host cannot be interrupted.
  ~key_refresher();
  key_refresher(const key_refresher&) = delete;
  key_refresher& operator=(const key_refresher&) = delete;

  [[nodiscard]] std::shared_ptr<const security::key_source> keys() const;

  /// From now on calls `on_change`, on any thread, when there are other keys than before; never
  /// after this object is destroyed.
  void notify(std::function<void()> on_change);

  /// Reads the keys now. Errors: the keys could not be read; the earlier ones stay in use.
  [[nodiscard]] result<void> refresh();

private:
  struct state;
  explicit key_refresher(std::shared_ptr<state> s) : state_(std::move(s)) {}

  std::shared_ptr<state> state_;
};

} // namespace codeq::node
