// SPDX-License-Identifier: Apache-2.0
#include "core/commands/named_keys.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace codeq::core {

namespace {

void add_name(named_keys& named, const enqueue_run& r) {
  if (!r.key.empty())
    named.names.push_back({r.queue, r.group, r.key});
}

named_keys name_each_once(named_keys named) {
  std::sort(named.names.begin(), named.names.end());
  auto end = std::unique(named.names.begin(), named.names.end());
  named.names.erase(end, named.names.end());
  return named;
}

named_keys names_in(peer_id peer, const std::vector<enqueue_run>& runs) {
  named_keys named{peer, {}};
  for (const auto& r : runs)
    add_name(named, r);
  return name_each_once(std::move(named));
}

named_keys name_in(peer_id peer, const std::shared_ptr<const task_key>& key) {
  return {peer, key ? std::vector{*key} : std::vector<task_key>{}};
}

struct name_finder {
  named_keys operator()(const enqueue& c) const { return names_in(c.peer, c.runs); }

  named_keys operator()(const take_follow_ups& c) const { return names_in(0, c.runs); }

  named_keys operator()(const report& c) const {
    named_keys named{c.peer, {}};
    for (const auto& r : c.reports)
      for (const auto& task : r.follow_ups)
        add_name(named, task.run);
    return name_each_once(std::move(named));
  }

  named_keys operator()(const cancel& c) const { return name_in(c.peer, c.key); }

  named_keys operator()(const promote& c) const { return name_in(c.peer, c.key); }

  named_keys operator()(const describe_task& c) const { return name_in(c.peer, c.key); }

  template <class Other>
  named_keys operator()(const Other&) const {
    return {};
  }
};

} // namespace

named_keys named_keys_of(const command& c) {
  return std::visit(name_finder{}, c);
}

} // namespace codeq::core
