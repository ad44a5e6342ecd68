// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace codeq::http {

/// Addresses in text form.
using host_addresses = std::vector<std::string>;

/// Asks the system for the addresses of a host; blocks. Errors: `disconnected`.
[[nodiscard]] result<host_addresses> look_up_host(const std::string& host);

/// Finds the addresses of hosts. Each look-up has its own thread, since it blocks and cannot be
/// interrupted. Tenants share the threads fairly; requests for a host that is already being looked
/// up share that look-up. Thread-safe; running look-ups outlive the resolver.
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
    /// The answer is of no use after this time.
    duration timeout{0};
  };

  /// Calls `done` once, on any thread. Errors: the errors of the look-up; `timeout` when the
  /// look-up did not begin in time.
  void resolve(const question& wanted, done_function done);

private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

} // namespace codeq::http
