// SPDX-License-Identifier: Apache-2.0
#include "ctl/known_queue.hpp"

#include "http/json/json_reader.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace codeq::ctl {

namespace {

bool is_matched(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*'))
    return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

/// A worker of many queues is shown with some of them.
bool may_serve(const worker_info& worker, const queue_address& queue) {
  return worker.queue_count > worker.queues.size()
         || std::any_of(worker.queues.begin(), worker.queues.end(), [&](const queue_address& one) {
              // Without a tenant the command means a default that only the coordinator knows.
              const auto is_of_tenant = queue.tenant.empty() || one.tenant == queue.tenant;
              return is_of_tenant && is_matched(one.queue, queue.queue);
            });
}

/// The same of a worker in a gateway's answer, which names queues of the token's tenant.
bool may_serve(std::string_view worker, const std::string& queue) {
  auto object = http::json_object::parse(worker);
  if (!object)
    return false;
  const auto queues = object->elements("queues");
  return static_cast<std::size_t>(object->integer("queue_count").value_or(0)) > queues.size()
         || std::any_of(queues.begin(), queues.end(), [&](std::string_view one) {
              auto named = http::json_object::parse(one);
              return named && is_matched(named->text("queue"), queue);
            });
}

/// True also when the workers are not shown.
bool has_worker(operator_api& api, const queue_address& queue) {
  const auto got = api.workers();
  if (!got)
    return true;
  if (const auto* list = std::get_if<worker_list>(&*got)) {
    const auto& all = list->workers;
    return std::any_of(all.begin(), all.end(), [&](const worker_info& one) {
      return may_serve(one, queue);
    });
  }
  auto all = http::json_object::parse(std::get<document>(*got).json);
  const auto workers = all ? all->elements("workers") : std::vector<std::string_view>();
  return std::any_of(workers.begin(), workers.end(), [&](std::string_view one) {
    return may_serve(one, queue.queue);
  });
}

} // namespace

bool serves(const worker_info& worker, const queue_address& queue) {
  return std::any_of(worker.queues.begin(), worker.queues.end(), [&](const queue_address& one) {
    return one.tenant == queue.tenant && is_matched(one.queue, queue.queue);
  });
}

error no_such_queue(const queue_address& given, const std::string& tenant) {
  const auto is_default_meant = given.tenant.empty() && tenant == default_tenant;
  return {
    errc::unknown_queue,
    "tenant " + tenant + " has no queue `" + given.queue + "`"
      + std::string(is_default_meant ? other_tenant_advice : "")};
}

result<void> check_known(operator_api& api, const queue_address& queue) {
  const auto got = api.explain_queue(queue);
  const auto* why = got ? std::get_if<queue_explanation>(&*got) : nullptr;
  const auto is_unknown = got ? why && !why->exists && why->missing_shards.empty()
                              : got.error().code == errc::unknown_queue;
  if (!is_unknown || has_worker(api, queue))
    return {};
  return why ? no_such_queue(queue, why->queue.tenant) : got.error();
}

bool is_empty(const document& said) {
  auto object = http::json_object::parse(said.json);
  if (!object)
    return false;
  const auto tasks = object->raw("tasks");
  const auto has_none = object->raw("changed") == "0" || object->raw("exists") == "false"
                        || object->raw("queues") == "[]";
  return has_none || tasks == "0" || tasks == "[]";
}

} // namespace codeq::ctl
