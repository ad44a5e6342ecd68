// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"
#include "base/tuning.hpp"
#include "config/access_options.hpp"
#include "ctl/operator_api.hpp"
#include "ctl/queue_settings.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

/// Enough time to reach a running coordinator.
constexpr duration reach_timeout{500};

/// Why there is no connection, with the option that helps.
error no_connection(const error& why) {
  auto advised = config::with_advice(why);
  if (why.context.find(base::http_peer_words) != std::string::npos)
    advised.context += "; for this address there is --http http://HOST:PORT";
  return advised;
}

/// Number of copies of a task that fit into one request.
std::size_t batch_of(const task_spec& task) {
  // The size of headers is limited; the other fields are small by comparison.
  auto task_bytes = task.payload.size() + limits::headers_bytes_max;
  return std::min(limits::enqueue_tasks_max, tuning::frame_bytes_max / task_bytes);
}

/// Adds copies of a task in one request.
result<std::vector<enqueued_task>>
enqueue_copies(producer& to, const task_spec& task, std::size_t count, duration wait) {
  std::vector<enqueued_task> added;
  for (const auto& answer : to.enqueue(std::vector<task_spec>(count, task), wait)) {
    // Copies share key and group, so they are one part, all or none.
    if (!answer)
      return answer.error();
    added.push_back(*answer);
  }
  return added;
}

/// Starts a backup and waits until it has ended.
result<backup_status> back_up_at(operator_client& client) {
  constexpr auto pause = std::chrono::milliseconds(200);
  auto status = client.backup();
  if (status && !status->node.empty())
    return error{
      errc::invalid_argument,
      "coordinator " + status->node
        + " is one of a cluster, and its backup alone cannot be restored; back up the cluster with "
          "--cluster FILE"};
  if (status)
    status = client.start_backup();
  while (status && status->state == backup_state::running) {
    std::this_thread::sleep_for(pause);
    status = client.backup();
  }
  if (!status || status->state == backup_state::done)
    return status;
  if (status->state == backup_state::none)
    return error{errc::going_away, "the coordinator was started anew before the backup was whole"};
  return error{errc::unavailable, status->problem};
}

/// As many pages as the limit needs, in one.
result<task_page>
list_at(operator_client& client, const task_filter& filter, const page_request& wanted) {
  task_page all;
  all.after = wanted.after;
  do {
    auto page = wanted;
    page.limit = std::min(wanted.limit - all.tasks.size(), limits::listed_page_max);
    page.after = all.after;
    auto found = client.list(filter, page);
    if (!found)
      return found;
    std::move(found->tasks.begin(), found->tasks.end(), std::back_inserter(all.tasks));
    all.after = std::move(found->after);
    std::vector<shard_id> missing;
    std::set_union(
      all.missing.begin(),
      all.missing.end(),
      found->missing.begin(),
      found->missing.end(),
      std::back_inserter(missing));
    all.missing = std::move(missing);
  } while (!all.after.empty() && all.tasks.size() < wanted.limit);
  return all;
}

/// The refusal to read the settings of a queue, for a change of them.
error refused_change(error reason) {
  if (base::is_refused_with(reason, base::inspectors_only_words))
    reason.context = "this takes an admin's token";
  if (is_retryable(reason.code))
    reason.context += base::nothing_changed;
  return reason;
}

/// Changes the settings of a queue that `changes` names.
result<queue_info>
configure_at(operator_client& client, const queue_address& queue, const queue_changes& changes) {
  if (changes.are_of_weights()) {
    auto changed = client.change_weights(queue, changes.fairness_weights);
    // Coordinators of earlier versions take whole settings only. A repeated change is harmless.
    if (changed || changed.error().code != errc::unsupported)
      return changed;
  }
  auto before = client.show_queue(queue);
  if (!before)
    return refused_change(before.error());
  return client.configure_queue(
    queue, changes.applied_to(before->config), changes.weights_beside(*before));
}

error takes_gateway() {
  return {errc::unsupported, "operations are not possible over --coordinator; they take --http"};
}

/// Client of a coordinator's node port.
class node_api final : public operator_api {
public:
  node_api(operator_options options, std::string tenant)
    : options_(std::move(options)), tenant_(std::move(tenant)) {}

  answer<task_status> status(const task_target& task) override {
    return ask([&](operator_client& client) {
      return std::visit([&](const auto& named) { return client.status(whole(named)); }, task);
    });
  }

  answer<change_outcome> change(const task_target& task, task_change what) override {
    return ask([&](operator_client& client) {
      return std::visit([&](const auto& named) { return client.change(whole(named), what); }, task);
    });
  }

  answer<change_outcome> force(task_id task, force_kind how, const std::string& text) override {
    return ask([&](operator_client& client) { return client.force(task, how, text); });
  }

  answer<task_explanation> explain(task_id task) override {
    return ask([&](operator_client& client) { return client.explain(task); });
  }

  answer<task_timeline> events(task_id task) override {
    return ask([&](operator_client& client) { return client.events(task); });
  }

  answer<queue_info> show_queue(const queue_address& queue) override {
    return ask([&](operator_client& client) { return client.show_queue(whole(queue)); });
  }

  answer<queue_explanation> explain_queue(const queue_address& queue) override {
    return ask([&](operator_client& client) { return client.explain_queue(whole(queue)); });
  }

  answer<queue_info>
  configure_queue(const queue_address& queue, const queue_changes& changes) override {
    return ask(
      [&](operator_client& client) { return configure_at(client, whole(queue), changes); });
  }

  answer<queue_info> pause_queue(const queue_address& queue, bool paused) override {
    return ask([&](operator_client& client) { return client.pause_queue(whole(queue), paused); });
  }

  answer<fairness_page> fairness(
    const queue_address& queue,
    const std::optional<std::string>& after,
    std::size_t limit) override {
    return ask(
      [&](operator_client& client) { return client.fairness(whole(queue), after, limit); });
  }

  answer<task_page> list(const task_filter& filter, const page_request& page) override {
    return ask([&](operator_client& client) { return list_at(client, whole(filter), page); });
  }

  answer<std::uint64_t> change_dead(const dead_filter& filter, dead_change what) override {
    return ask([&](operator_client& client) { return client.change_dead(whole(filter), what); });
  }

  answer<dead_summary> summarize_dead(const dead_filter& filter) override {
    return ask([&](operator_client& client) { return client.summarize_dead(whole(filter)); });
  }

  answer<std::uint64_t> purge_queue(const queue_address& queue) override {
    return ask([&](operator_client& client) { return client.purge_queue(whole(queue)); });
  }

  answer<std::uint64_t> purge_tenant(const std::string& tenant) override {
    return ask([&](operator_client& client) { return client.purge_tenant(tenant); });
  }

  result<document> start_operation(const operation_start&) override { return takes_gateway(); }

  result<document> operations(const std::string&) override { return takes_gateway(); }

  result<document> change_operation(const std::string&, operation_step) override {
    return takes_gateway();
  }

  answer<schedule_answer>
  set_schedule(const schedule_address& name, const schedule_spec& spec) override {
    return ask([&](operator_client& client) {
      return client.set_schedule(whole(name), whole_spec(name, spec));
    });
  }

  answer<schedule_answer>
  change_schedule(const schedule_address& name, schedule_action what) override {
    return ask([&](operator_client& client) { return client.change_schedule(whole(name), what); });
  }

  answer<schedule_answer>
  backfill_schedule(const schedule_address& name, timestamp from, timestamp until) override {
    return ask([&](operator_client& client) {
      return client.backfill_schedule(whole(name), from, until);
    });
  }

  answer<schedule_info> show_schedule(const schedule_address& name) override {
    return next_of(name, 1);
  }

  answer<schedule_info> next_of(const schedule_address& name, std::uint32_t count) override {
    return ask([&](operator_client& client) { return client.show_schedule(whole(name), count); });
  }

  answer<std::vector<schedule_time>> preview_schedule(
    const schedule_address& name, const schedule_spec& spec, std::uint32_t count) override {
    return ask([&](operator_client& client) {
      return client.preview_schedule(whole(name), whole_spec(name, spec), count);
    });
  }

  answer<std::vector<schedule_occurrence>>
  schedule_history(const schedule_address& name) override {
    return ask([&](operator_client& client) { return client.schedule_history(whole(name)); });
  }

  answer<std::vector<schedule_info>> list_schedules(const std::string& tenant) override {
    return ask([&](operator_client& client) {
      return client.list_schedules(whole(schedule_address{tenant, {}}).tenant);
    });
  }

  answer<limit_info> set_limit(
    const limit_address& name, const limit_definition& definition, bool is_dry_run) override {
    return ask([&](operator_client& client) {
      return is_dry_run ? client.preview_limit(whole(name), definition)
                        : client.set_limit(whole(name), definition);
    });
  }

  answer<limit_info> show_limit(const limit_address& name) override {
    return ask([&](operator_client& client) { return client.show_limit(whole(name)); });
  }

  answer<limit_info> delete_limit(const limit_address& name) override {
    return ask([&](operator_client& client) { return client.delete_limit(whole(name)); });
  }

  answer<limit_list> list_limits(const std::string& tenant) override {
    return ask([&](operator_client& client) {
      return client.list_limits(whole(limit_address{tenant, {}}).tenant);
    });
  }

  answer<limit_keys_page>
  limit_keys(const limit_address& name, const limit_keys_request& page) override {
    return ask([&](operator_client& client) { return client.limit_keys(whole(name), page); });
  }

  answer<limit_key_info>
  close_limit_key(const limit_address& name, const std::string& key, duration how_long) override {
    return ask([&](operator_client& client) {
      return client.close_limit_key(whole(name), key, how_long);
    });
  }

  answer<limit_key_info>
  open_limit_key(const limit_address& name, const std::string& key) override {
    return ask([&](operator_client& client) { return client.open_limit_key(whole(name), key); });
  }

  answer<coordinator_stats> stats() override {
    return ask([&](operator_client& client) { return client.stats(); });
  }

  answer<coordinator_stats> stats_of(const queue_address& queue) override {
    return ask([&](operator_client& client) {
      auto stats = client.stats();
      if (!stats)
        return stats;
      auto wanted = whole(queue);
      stats->gauges.clear();
      std::erase_if(stats->queues, [&](const queue_stats& one) {
        return one.queue.tenant != wanted.tenant
               || (!wanted.queue.empty() && one.queue.queue != wanted.queue);
      });
      return stats;
    });
  }

  answer<worker_list> workers() override {
    return ask([&](operator_client& client) { return client.workers(); });
  }

  answer<drained_worker> drain_worker(const std::string& name, bool is_drained) override {
    return ask([&](operator_client& client) -> result<drained_worker> {
      if (auto ok = client.drain_worker(name, is_drained); !ok)
        return ok.error();
      return drained_worker{name, is_drained};
    });
  }

  answer<cluster_status> cluster() override {
    return ask([&](operator_client& client) { return client.cluster(); });
  }

  answer<cluster_status> change_cluster(const cluster_change& change) override {
    return ask([&](operator_client& client) { return client.change_cluster(change); });
  }

  answer<audit_page> audit(const audit_filter& filter) override {
    return ask([&](operator_client& client) { return client.audit(filter); });
  }

  result<backup_status> back_up() override {
    if (auto ready = connect(); !ready)
      return ready.error();
    return back_up_at(*client_);
  }

  result<cluster_backup> back_up_cluster(const std::filesystem::path& file) override {
    if (auto ready = connect(); !ready)
      return ready.error();
    return client_->back_up_cluster(file);
  }

  answer<std::string> log_level(const std::string& level) override {
    return ask([&](operator_client& client) { return client.log_level(level); });
  }

  result<std::vector<backup_info>> backups() override {
    if (auto ready = connect(); !ready)
      return ready.error();
    return client_->backups();
  }

  result<void> prepare_enqueue() override {
    if (producer_)
      return {};
    // It tells at once why no coordinator can be reached, and the token's tenant.
    if (auto ready = connect(); !ready)
      return ready;
    producer_options options;
    options.coordinators = options_.coordinators;
    options.name = "codeqctl";
    options.access = options_.access;
    auto connected = producer::connect(std::move(options));
    if (!connected)
      return connected.error();
    producer_ = std::move(*connected);
    return {};
  }

  [[nodiscard]] bool sends_webhooks() const override { return false; }

  result<void> enqueue(const enqueue_request& request, const added& told) override {
    if (auto ready = prepare_enqueue(); !ready)
      return ready;
    const auto task = whole(request.task);
    const auto batch = batch_of(task);
    for (std::size_t done = 0; done < request.copies; done += batch) {
      auto tasks =
        enqueue_copies(*producer_, task, std::min(batch, request.copies - done), options_.timeout);
      if (!tasks)
        return cause_of(tasks.error());
      told(*tasks);
    }
    return {};
  }

  result<task_end> await(task_id task, std::optional<duration> wait) override {
    if (wait)
      return watch(task, *wait, {});
    if (auto ready = connect(); !ready)
      return ready.error();
    auto now = client_->status(task);
    if (!now)
      return now.error();
    return task_end{ended_task{now->id, now->state, now->attempt, now->result, now->error_text}};
  }

  result<task_end> watch(task_id task, duration wait, progressed told) override {
    if (auto ready = prepare_enqueue(); !ready)
      return ready.error();
    auto ended = producer_->watch(task, std::move(told), wait);
    if (ended)
      return task_end{std::move(*ended)};
    if (ended.error().code == errc::timeout || ended.error().code == errc::disconnected)
      return task_end{
        .late = error{
          errc::timeout,
          "task " + to_string(task) + " has not ended within " + std::to_string(wait.count())
            + " ms"}};
    return ended.error();
  }

  [[nodiscard]] bool tells_progress() const override { return true; }

  error cause_of(const error& reason) override {
    if (reason.code != errc::timeout)
      return reason;
    // Otherwise it would go on logging its own connection attempts.
    producer_.reset();
    auto options = options_;
    options.timeout = reach_timeout;
    auto reached = operator_client::connect(std::move(options));
    return reached ? reason : reached.error();
  }

private:
  result<void> connect() {
    if (client_)
      return {};
    auto connected = operator_client::connect(options_);
    if (!connected)
      return no_connection(connected.error());
    client_ = std::move(*connected);
    return {};
  }

  /// Calls `question` with the connected client.
  template <class Question>
  auto ask(const Question& question)
    -> answer<typename std::invoke_result_t<Question, operator_client&>::value_type> {
    if (auto ready = connect(); !ready)
      return ready.error();
    auto got = question(*client_);
    if (!got)
      return with_tenant_advice(got.error());
    return {std::move(*got)};
  }

  /// The same address, filter or task, with the default tenant if it names none. @pre connected
  template <class Named>
  [[nodiscard]] Named whole(Named named) {
    if constexpr (requires { named.queue.tenant; })
      fill(named.queue.tenant);
    else if constexpr (requires { named.tenant; })
      fill(named.tenant);
    return named;
  }

  /// The same for the spec of a schedule, whose task belongs to the schedule's tenant.
  [[nodiscard]] schedule_spec whole_spec(const schedule_address& name, schedule_spec spec) {
    spec.task.tenant = whole(name).tenant;
    return spec;
  }

  void fill(std::string& tenant) {
    if (!tenant.empty())
      return;
    tenant = tenant_.empty() ? client_->tenant() : tenant_;
    is_default_meant_ = tenant_.empty() && tenant == default_tenant;
  }

  /// For a name that the default tenant does not have, which nobody asked for.
  [[nodiscard]] error with_tenant_advice(error reason) const {
    const auto is_unknown = reason.code == errc::unknown_queue || reason.code == errc::unknown_limit
                            || reason.code == errc::unknown_schedule;
    if (is_default_meant_ && is_unknown)
      reason.context += other_tenant_advice;
    return reason;
  }

  operator_options options_;
  /// The tenant of the environment; empty: none.
  std::string tenant_;
  /// Neither the command, the environment nor the token names the tenant.
  bool is_default_meant_ = false;
  std::unique_ptr<operator_client> client_;
  std::unique_ptr<producer> producer_;
};

} // namespace

std::unique_ptr<operator_api> make_node_api(operator_options options, std::string tenant) {
  return std::make_unique<node_api>(std::move(options), std::move(tenant));
}

} // namespace codeq::ctl
