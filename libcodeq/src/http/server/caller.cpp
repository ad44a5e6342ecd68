// SPDX-License-Identifier: Apache-2.0
#include "http/server/caller.hpp"

#include <algorithm>

namespace codeq::http {

namespace {

bool holds(const std::vector<std::string>& all, std::string_view one) {
  return all.empty() || std::find(all.begin(), all.end(), one) != all.end();
}

} // namespace

bool caller::has_scope(std::string_view scope) const {
  return is_admin || holds(scopes, scope);
}

bool caller::may_use(std::string_view queue) const {
  return holds(queues, queue);
}

std::shared_ptr<const caller> single_user() {
  caller user{"worker-dev", "default"};
  user.is_producer = true;
  user.is_worker = true;
  user.is_admin = true;
  user.sees_all_tenants = true;
  return std::make_shared<const caller>(std::move(user));
}

} // namespace codeq::http
