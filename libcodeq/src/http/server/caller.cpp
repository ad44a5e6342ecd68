// SPDX-License-Identifier: Apache-2.0
#include "http/server/caller.hpp"

#include <algorithm>

namespace codeq::http {

bool caller::has_scope(std::string_view scope) const {
  auto one = security::parse_scope(scope);
  return is_admin || (one && scopes.has(*one));
}

bool caller::may_use(std::string_view queue) const {
  return all_queues || std::find(queues.begin(), queues.end(), queue) != queues.end();
}

std::shared_ptr<const caller> single_user() {
  caller user{"worker-dev", "default"};
  user.is_producer = true;
  user.is_worker = true;
  user.is_admin = true;
  user.sees_all_tenants = true;
  user.sees_metrics = true;
  return std::make_shared<const caller>(std::move(user));
}

} // namespace codeq::http
