// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace codeq::http {

/// Addresses as text.
using host_addresses = std::vector<std::string>;

/// Asks the system for the addresses of a host; blocks. Errors: `disconnected`.
[[nodiscard]] result<host_addresses> look_up_host(const std::string& host);

/// Finds the addresses of hosts, each on a thread of its own, since a look-up blocks and cannot be
/// interrupted. Tenants share the threads fairly; a host that is asked for again while it is looked
/// up is looked up once. Thread-safe; look-ups that have begun outlive it.
class host_resolver {
public:
  using look_up_function = std::function<result<host_addresses>(const std::string&)>;
  using done_function = std::function<void(const result<host_addresses>&)>;

  explicit host_resolver(look_up_function look_up = &look_up_host);
  ~host_resolver();
  host_resolver(const host_resolver&) = delete;
  host_resolver& operator=(const host_resolver&) = delete;

  struct question {
    std::string tenant;
    std::string host;
    /// Nobody wants the answer after so long.
    duration timeout{0};
  };

  /// Calls `done` once, on some thread. Errors: of the look-up; `timeout` when it did not begin in
  /// time.
  void resolve(const question& wanted, done_function done);

private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

} // namespace codeq::http
