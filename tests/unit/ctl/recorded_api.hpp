// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ctl/operator_api.hpp"
#include "ctl/queue_settings.hpp"

#include <optional>
#include <string>

namespace codeq::test {

/// Records its requests, and answers with the values that the test sets, or with `{}`.
class recorded_api final : public ctl::operator_api {
public:
  /// Verb and arguments, one request per line.
  std::string asked;

  // Arguments that do not fit into a line.

  task_spec task;
  ctl::queue_changes changes;

  task_filter asked_for;
  dead_filter asked_for_dead;
  ctl::operation_start asked_for_operation;
  limit_definition defined;

  // Answers set by the test.

  std::optional<task_page> page;
  std::optional<dead_summary> kinds;
  std::optional<change_outcome> outcome;
  std::optional<coordinator_stats> counts;
  std::optional<queue_info> found_queue;
  std::optional<std::uint64_t> changed_dead;
  std::optional<audit_page> audited;
  std::optional<std::vector<worker_info>> found_workers;
  /// The shards that are missing in that list, and in that of limits.
  std::vector<shard_id> silent;
  std::optional<ctl::drained_worker> drained;
  std::optional<cluster_status> found_cluster;
  /// A gateway's answer about the cluster.
  std::string cluster_json = "{}";
  std::optional<std::vector<schedule_info>> found_schedules;
  schedule_spec schedule;
  std::optional<queue_explanation> explained;
  std::optional<task_explanation> why;
  std::optional<task_status> found;
  std::optional<limit_info> found_limit;
  std::optional<limit_keys_page> found_keys;
  std::optional<limit_key_info> closed_key;
  std::optional<fairness_page> found_fairness;
  std::vector<enqueued_task> tasks;
  ctl::task_end end;
  bool has_webhooks = false;

  ctl::answer<task_status> status(const ctl::task_target& task) override {
    auto got = said<task_status>("status " + text(task));
    return found ? ctl::answer<task_status>{*found} : got;
  }

  ctl::answer<change_outcome> change(const ctl::task_target& task, task_change what) override {
    ctl::answer<change_outcome> got =
      said<change_outcome>("change " + text(task) + " " + std::to_string(static_cast<int>(what)));
    if (outcome)
      return {*outcome};
    return got;
  }

  ctl::answer<change_outcome>
  force(task_id task, force_kind how, const std::string& text) override {
    return said<change_outcome>(
      "force " + to_string(task) + " " + std::to_string(static_cast<int>(how)) + " " + text);
  }

  ctl::answer<task_explanation> explain(task_id task) override {
    auto got = said<task_explanation>("explain " + to_string(task));
    return why ? ctl::answer<task_explanation>{*why} : got;
  }

  ctl::answer<task_timeline> events(task_id task) override {
    return said<task_timeline>("events " + to_string(task));
  }

  ctl::answer<queue_info> show_queue(const queue_address& queue) override {
    auto got = said<queue_info>("show_queue " + text(queue));
    return found_queue ? ctl::answer<queue_info>{*found_queue} : got;
  }

  ctl::answer<queue_explanation> explain_queue(const queue_address& queue) override {
    auto got = said<queue_explanation>("explain_queue " + text(queue));
    return explained ? ctl::answer<queue_explanation>{*explained} : got;
  }

  ctl::answer<queue_info>
  configure_queue(const queue_address& queue, const ctl::queue_changes& what) override {
    changes = what;
    auto got = said<queue_info>("configure_queue " + text(queue));
    return found_queue ? ctl::answer<queue_info>{*found_queue} : got;
  }

  ctl::answer<fairness_page> fairness(
    const queue_address& queue,
    const std::optional<std::string>& after,
    std::size_t limit) override {
    auto got = said<fairness_page>(
      "fairness " + text(queue) + (after ? " after '" + *after + "'" : std::string()) + " at most "
      + std::to_string(limit));
    return found_fairness ? ctl::answer<fairness_page>{*found_fairness} : got;
  }

  ctl::answer<queue_info> pause_queue(const queue_address& queue, bool paused) override {
    return said<queue_info>((paused ? "pause " : "resume ") + text(queue));
  }

  ctl::answer<task_page> list(const task_filter& filter, const page_request& of) override {
    asked_for = filter;
    auto state = filter.state ? std::string(to_string(*filter.state)) : "any";
    auto got = said<task_page>(
      "list " + text(queue_address{filter.tenant, filter.queue}) + " " + state
      + (filter.is_blocking ? " blocking" : "") + " limit " + std::to_string(of.limit)
      + (of.order == list_order::newest_first ? " newest" : " oldest")
      + (of.after.empty() ? "" : " after " + of.after));
    return page ? ctl::answer<task_page>{*page} : got;
  }

  ctl::answer<dead_summary> summarize_dead(const dead_filter& filter) override {
    asked_for_dead = filter;
    auto got = said<dead_summary>("summary " + text(queue_address{filter.tenant, filter.queue}));
    return kinds ? ctl::answer<dead_summary>{*kinds} : got;
  }

  ctl::answer<std::uint64_t> change_dead(const dead_filter& filter, dead_change what) override {
    asked_for_dead = filter;
    auto got = said<std::uint64_t>(
      (what == dead_change::redrive ? "redrive " : "purge ")
      + text(queue_address{filter.tenant, filter.queue}) + " limit " + std::to_string(filter.limit)
      + " rate " + std::to_string(filter.rate) + (filter.is_dry_run ? " dry" : ""));
    return changed_dead ? ctl::answer<std::uint64_t>{*changed_dead} : got;
  }

  ctl::answer<std::uint64_t> purge_queue(const queue_address& queue) override {
    return said<std::uint64_t>("purge_queue " + text(queue));
  }

  ctl::answer<std::uint64_t> purge_tenant(const std::string& tenant) override {
    return said<std::uint64_t>("purge_tenant " + tenant);
  }

  result<ctl::document> start_operation(const ctl::operation_start& what) override {
    asked_for_operation = what;
    asked += "start_operation " + text(queue_address{what.filter.tenant, what.filter.queue}) + "\n";
    return ctl::document{"{}"};
  }

  result<ctl::document> operations(const std::string& tenant) override {
    asked += "operations " + tenant + "\n";
    return ctl::document{"{}"};
  }

  result<ctl::document> change_operation(const std::string& id, ctl::operation_step what) override {
    asked += "operation " + id + " " + std::to_string(static_cast<int>(what)) + "\n";
    return ctl::document{"{}"};
  }

  ctl::answer<schedule_answer>
  set_schedule(const schedule_address& name, const schedule_spec& spec) override {
    schedule = spec;
    return said<schedule_answer>("set_schedule " + text(name));
  }

  ctl::answer<schedule_answer>
  change_schedule(const schedule_address& name, schedule_action what) override {
    return said<schedule_answer>(
      "change_schedule " + text(name) + " " + std::to_string(static_cast<int>(what)));
  }

  ctl::answer<schedule_answer>
  backfill_schedule(const schedule_address& name, timestamp from, timestamp until) override {
    return said<schedule_answer>(
      "backfill_schedule " + text(name) + " " + to_string(from) + " " + to_string(until));
  }

  ctl::answer<schedule_info> show_schedule(const schedule_address& name) override {
    return said<schedule_info>("show_schedule " + text(name));
  }

  ctl::answer<schedule_info> next_of(const schedule_address& name, std::uint32_t count) override {
    return said<schedule_info>("next_of " + text(name) + " " + std::to_string(count));
  }

  ctl::answer<std::vector<schedule_time>> preview_schedule(
    const schedule_address& name, const schedule_spec& spec, std::uint32_t count) override {
    schedule = spec;
    return said<std::vector<schedule_time>>(
      "preview_schedule " + text(name) + " " + std::to_string(count));
  }

  ctl::answer<std::vector<schedule_occurrence>>
  schedule_history(const schedule_address& name) override {
    return said<std::vector<schedule_occurrence>>("schedule_history " + text(name));
  }

  ctl::answer<std::vector<schedule_info>> list_schedules(const std::string& tenant) override {
    auto got = said<std::vector<schedule_info>>("list_schedules " + tenant);
    if (found_schedules)
      return {*found_schedules};
    return got;
  }

  ctl::answer<limit_info> set_limit(
    const limit_address& name, const limit_definition& definition, bool is_dry_run) override {
    defined = definition;
    return told_limit((is_dry_run ? "preview_limit " : "set_limit ") + text(name));
  }

  ctl::answer<limit_info> show_limit(const limit_address& name) override {
    return told_limit("show_limit " + text(name));
  }

  ctl::answer<limit_info> delete_limit(const limit_address& name) override {
    return told_limit("delete_limit " + text(name));
  }

  ctl::answer<limit_list> list_limits(const std::string& tenant) override {
    auto got = said<limit_list>("list_limits " + tenant);
    return found_limit ? ctl::answer<limit_list>{limit_list{{*found_limit}, silent}} : got;
  }

  ctl::answer<limit_keys_page>
  limit_keys(const limit_address& name, const limit_keys_request& of) override {
    auto got = said<limit_keys_page>(
      "limit_keys " + text(name) + (of.after ? " after '" + *of.after + "'" : std::string())
      + " at most " + std::to_string(of.limit) + (of.only_busy ? " busy" : ""));
    return found_keys ? ctl::answer<limit_keys_page>{*found_keys} : got;
  }

  ctl::answer<limit_key_info> close_limit_key(
    const limit_address& name, const std::string& key, duration how_long) override {
    auto got = said<limit_key_info>(
      "close " + text(name) + " '" + key + "' " + std::to_string(how_long.count()) + " ms");
    return closed_key ? ctl::answer<limit_key_info>{*closed_key} : got;
  }

  ctl::answer<limit_key_info>
  open_limit_key(const limit_address& name, const std::string& key) override {
    return said<limit_key_info>("open " + text(name) + " '" + key + "'");
  }

  ctl::answer<coordinator_stats> stats() override {
    auto got = said<coordinator_stats>("stats");
    if (counts)
      return {*counts};
    return got;
  }

  ctl::answer<coordinator_stats> stats_of(const queue_address& queue) override {
    auto got = said<coordinator_stats>("stats_of " + text(queue));
    return counts ? ctl::answer<coordinator_stats>{*counts} : got;
  }

  ctl::answer<cluster_status> cluster() override {
    (void)said<cluster_status>("cluster");
    if (found_cluster)
      return {*found_cluster};
    return {ctl::document{cluster_json}};
  }

  ctl::answer<cluster_status> change_cluster(const cluster_change& change) override {
    (void)said<cluster_status>(
      "change_cluster " + std::to_string(static_cast<int>(change.what)) + " "
      + std::to_string(value(change.shard)) + " " + change.node
      + (change.confirm.empty() ? "" : " ") + change.confirm);
    return {ctl::document{cluster_json}};
  }

  ctl::answer<worker_list> workers() override {
    auto got = said<worker_list>("workers");
    return found_workers ? ctl::answer<worker_list>{worker_list{*found_workers, silent}} : got;
  }

  ctl::answer<ctl::drained_worker>
  drain_worker(const std::string& name, bool is_drained) override {
    auto got = said<ctl::drained_worker>("drain_worker " + name + (is_drained ? " on" : " off"));
    if (drained)
      return {*drained};
    return got;
  }

  ctl::answer<audit_page> audit(const audit_filter& filter) override {
    auto after = filter.after ? std::to_string(filter.after->operation) : "none";
    auto got = said<audit_page>(
      "audit " + filter.tenant + " after " + after + " limit " + std::to_string(filter.limit));
    if (audited)
      return {*audited};
    return got;
  }

  result<std::vector<backup_info>> backups() override {
    asked += "backups\n";
    return std::vector<backup_info>{{3, timestamp{duration{1000}}, 4096, 7}};
  }

  result<backup_status> back_up() override {
    asked += "back_up\n";
    return backup_status{};
  }

  result<cluster_backup> back_up_cluster(const std::filesystem::path& file) override {
    asked += "back_up_cluster " + file.string() + "\n";
    return cluster_backup{"c", 1, {{"c1", 4, 4096, 7}}, {}};
  }

  ctl::answer<std::string> log_level(const std::string& level) override {
    return said<std::string>("log_level " + level);
  }

  result<void> prepare_enqueue() override { return {}; }

  [[nodiscard]] bool sends_webhooks() const override { return has_webhooks; }

  result<void> enqueue(const ctl::enqueue_request& given, const added& told) override {
    asked += "enqueue " + std::to_string(given.copies)
             + (given.webhook.empty() ? "" : " webhook " + given.webhook) + "\n";
    task = given.task;
    told(tasks);
    return {};
  }

  result<ctl::task_end> await(task_id task, std::optional<duration> wait) override {
    auto text = wait ? std::to_string(wait->count()) + " ms" : "not";
    asked += "await " + to_string(task) + " " + text + "\n";
    return end;
  }

  result<ctl::task_end> watch(task_id task, duration wait, progressed told) override {
    asked += "watch " + to_string(task) + " " + std::to_string(wait.count()) + " ms\n";
    return end;
  }

  [[nodiscard]] bool tells_progress() const override { return false; }

  error cause_of(const error& reason) override { return reason; }

private:
  ctl::answer<limit_info> told_limit(const std::string& line) {
    auto got = said<limit_info>(line);
    return found_limit ? ctl::answer<limit_info>{*found_limit} : got;
  }

  static std::string text(const limit_address& name) { return name.tenant + "/" + name.name; }

  static std::string text(const schedule_address& name) { return name.tenant + "/" + name.name; }

  static std::string text(const queue_address& queue) { return queue.tenant + "/" + queue.queue; }

  static std::string text(const ctl::task_target& task) {
    if (const auto* id = std::get_if<task_id>(&task))
      return to_string(*id);
    const auto& key = std::get<task_key>(task);
    return text(key.queue) + "/" + key.group + "/" + key.key;
  }

  template <class T>
  ctl::answer<T> said(const std::string& line) {
    asked += line + "\n";
    return {ctl::document{"{}"}};
  }
};

} // namespace codeq::test
