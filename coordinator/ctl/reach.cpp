// SPDX-License-Identifier: Apache-2.0
#include "ctl/reach.hpp"

#include "codeq/operator.hpp"

namespace codeq::ctl {

namespace {

/// Enough for a coordinator that is there.
constexpr duration reach_timeout{500};

} // namespace

error explain(const error& reason, const config::ctl_config& config) {
  if (reason.code != errc::timeout)
    return reason;
  auto reached = operator_client::connect({config.coordinators, reach_timeout, config.access});
  return reached ? reason : reached.error();
}

} // namespace codeq::ctl
