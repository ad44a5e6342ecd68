// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "ctl/command_options.hpp"
#include "ctl/gateway.hpp"
#include "ctl/http_answers.hpp"
#include "ctl/http_queries.hpp"
#include "ctl/operator_api.hpp"
#include "http/json/json_reader.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

using std::chrono::steady_clock;

error not_possible(const std::string& what) {
  return {errc::unsupported, what + " is not possible over --http; it takes --coordinator"};
}

/// The answer as commands print it, for a command that takes a `T` from a node port.
template <class T>
std::string printed(const std::string& json) {
  constexpr auto is_of_schedules =
    std::is_same_v<T, schedule_answer> || std::is_same_v<T, schedule_info>
    || std::is_same_v<T, std::vector<schedule_info>>
    || std::is_same_v<T, std::vector<schedule_time>>
    || std::is_same_v<T, std::vector<schedule_occurrence>>;
  constexpr auto is_of_workers =
    std::is_same_v<T, worker_list> || std::is_same_v<T, drained_worker>;
  if constexpr (std::is_same_v<T, coordinator_stats>)
    return counts_as_printed(json);
  else if constexpr (std::is_same_v<T, change_outcome>)
    return outcome_as_printed(json);
  else if constexpr (is_of_schedules)
    return as_printed(json, answer_form::schedules);
  else
    return as_printed(json, is_of_workers ? answer_form::workers : answer_form::tasks);
}

/// Client of an HTTP gateway.
class http_api final : public operator_api {
public:
  http_api(std::string url, operator_options options, std::string tenant)
    : url_(std::move(url)), options_(std::move(options)), tenant_(std::move(tenant)) {}

  answer<task_status> status(const task_target& task) override {
    if (auto ok = check_tenant(task); !ok)
      return ok.error();
    return ask("GET", path_with(task, {}));
  }

  answer<change_outcome> change(const task_target& task, task_change what) override {
    if (auto ok = check_tenant(task); !ok)
      return ok.error();
    if (what == task_change::cancel || what == task_change::promote)
      return ask("POST", path_with(task, what == task_change::cancel ? "/cancel" : "/promote"));
    base::json_writer json;
    json.begin_object().begin_array("ids").text(to_string(std::get<task_id>(task)));
    json.end_array().end_object();
    auto path = path_of(what == task_change::redrive ? dead_change::redrive : dead_change::purge);
    return ask("POST", path, json.take());
  }

  answer<change_outcome> force(task_id task, force_kind how, const std::string& text) override {
    base::json_writer json;
    json.begin_object();
    if (how == force_kind::revoke)
      json.field("how", "revoke");
    if (how == force_kind::fail)
      json.field("how", "fail").field("error", text);
    if (how == force_kind::complete) {
      json.field("how", "complete");
      if (http::is_json(text))
        json.key("result").raw(text);
      else if (!text.empty())
        json.field("result", text);
    }
    json.end_object();
    return ask("POST", "/admin/tasks/" + to_string(task) + "/force", json.take());
  }

  answer<task_explanation> explain(task_id task) override {
    return ask("GET", path_of(task) + "/explain");
  }

  answer<task_timeline> events(task_id task) override {
    auto told = ask("GET", path_of(task) + "/events").text;
    if (!told)
      return told.error();
    return {document{events_as_printed(told->json, task)}};
  }

  answer<queue_info> show_queue(const queue_address& queue) override {
    return ask_of(queue, "GET", "/settings");
  }

  answer<queue_explanation> explain_queue(const queue_address& queue) override {
    return ask_of(queue, "GET", "/explain");
  }

  answer<queue_info>
  configure_queue(const queue_address& queue, const queue_changes& changes) override {
    return ask_of(queue, "PUT", "/settings", to_gateway_json(changes));
  }

  answer<queue_info> pause_queue(const queue_address& queue, bool paused) override {
    return ask_of(queue, "POST", paused ? "/pause" : "/resume");
  }

  answer<fairness_page> fairness(
    const queue_address& queue,
    const std::optional<std::string>& after,
    std::size_t limit) override {
    auto from = after ? "&after=" + http::escape(*after) : std::string();
    return ask_of(queue, "GET", "/fairness?limit=" + std::to_string(limit) + from);
  }

  answer<task_page> list(const task_filter& filter, const page_request& page) override {
    if (auto ok = check_tenant(filter.tenant); !ok)
      return ok.error();
    constexpr auto most = limits::http_listed_tasks_max;
    if (page.limit > most)
      return error{errc::unsupported, "over --http --limit may be at most " + std::to_string(most)};
    bool is_dead = filter.state == task_state::dead;
    auto query = is_dead ? dead_query(filter) : task_query(filter);
    if (page.order == list_order::oldest_first)
      query += "&order=oldest";
    if (!page.after.empty())
      query += "&after=" + http::escape(page.after);
    auto path = is_dead ? "/admin/dead?limit=" : "/tasks?limit=";
    return ask("GET", path + std::to_string(page.limit) + query);
  }

  answer<std::uint64_t> change_dead(const dead_filter& filter, dead_change what) override {
    if (auto ok = check_tenant(filter.tenant); !ok)
      return ok.error();
    base::json_writer json;
    json.begin_object();
    auto fields = fields_of(filter);
    for (const auto& [name, value] : fields)
      json.field(name, value);
    if (fields.empty() && what == dead_change::purge)
      json.field("all", true);
    if (filter.is_dry_run)
      json.field("dryRun", true);
    json.field("limit", filter.limit).field("rate", filter.rate).end_object();
    return ask("POST", path_of(what), json.take());
  }

  answer<dead_summary> summarize_dead(const dead_filter& filter) override {
    if (auto ok = check_tenant(filter.tenant); !ok)
      return ok.error();
    std::string query;
    for (const auto& [name, value] : fields_of(filter))
      query += (query.empty() ? '?' : '&') + name + "=" + http::escape(value);
    return ask("GET", "/admin/dead/summary" + query);
  }

  answer<std::uint64_t> purge_queue(const queue_address& queue) override {
    return ask_of(queue, "POST", "/purge");
  }

  answer<std::uint64_t> purge_tenant(const std::string& tenant) override {
    return not_possible("tenant purge");
  }

  result<document> start_operation(const operation_start& what) override {
    if (auto ok = check_tenant(what.filter.tenant); !ok)
      return ok.error();
    return ask("POST", "/admin/operations", body_of(what)).text;
  }

  result<document> operations(const std::string& tenant) override {
    if (auto ok = check_tenant(tenant); !ok)
      return ok.error();
    return ask("GET", "/admin/operations").text;
  }

  result<document> change_operation(const std::string& id, operation_step what) override {
    auto path = "/admin/operations/" + http::escape(id);
    switch (what) {
    case operation_step::show:
      return ask("GET", path).text;
    case operation_step::pause:
      return ask("POST", path + "/pause").text;
    case operation_step::resume:
      return ask("POST", path + "/resume").text;
    case operation_step::cancel:
      break;
    }
    return ask("POST", path + "/cancel").text;
  }

  answer<schedule_answer>
  set_schedule(const schedule_address& name, const schedule_spec& spec) override {
    return put_schedule(name, spec, {});
  }

  answer<schedule_answer>
  change_schedule(const schedule_address& name, schedule_action what) override {
    switch (what) {
    case schedule_action::pause:
      return ask_of(name, "POST", "/pause");
    case schedule_action::resume:
      return ask_of(name, "POST", "/resume");
    case schedule_action::remove:
      return ask_of(name, "DELETE", {});
    case schedule_action::run:
      break;
    }
    return ask_of(name, "POST", "/run");
  }

  answer<schedule_answer>
  backfill_schedule(const schedule_address& name, timestamp from, timestamp until) override {
    base::json_writer json;
    json.begin_object()
      .field("from", base::to_rfc3339(from))
      .field("until", base::to_rfc3339(until))
      .end_object();
    return ask_of(name, "POST", "/backfill", json.take());
  }

  answer<schedule_info> show_schedule(const schedule_address& name) override {
    return ask_of(name, "GET", {});
  }

  answer<schedule_info> next_of(const schedule_address& name, std::uint32_t count) override {
    return ask_of(name, "GET", "/next?count=" + std::to_string(count));
  }

  answer<std::vector<schedule_time>> preview_schedule(
    const schedule_address& name, const schedule_spec& spec, std::uint32_t) override {
    return put_schedule(name, spec, "?dryRun=true");
  }

  answer<std::vector<schedule_occurrence>> schedule_history(const schedule_address& name) override {
    return ask_of(name, "GET", "/history");
  }

  answer<std::vector<schedule_info>> list_schedules(const std::string& tenant) override {
    if (auto ok = check_tenant(tenant); !ok)
      return ok.error();
    base::json_writer all;
    all.begin_object().begin_array("schedules");
    std::string after;
    do {
      auto page = next_schedules(after);
      if (!page)
        return page.error();
      auto read = http::json_object::parse(page->json);
      if (!read)
        return unreadable_answer();
      for (auto schedule : read->elements("schedules"))
        all.raw(schedule);
      after = read->text("after");
    } while (!after.empty());
    all.end_array().end_object();
    return {document{printed<std::vector<schedule_info>>(all.take())}};
  }

  answer<limit_info> set_limit(
    const limit_address& name, const limit_definition& definition, bool is_dry_run) override {
    auto path = path_of(name) + (is_dry_run ? "?dryRun=true" : "");
    return ask_of(name, "PUT", path, to_gateway_json(definition));
  }

  answer<limit_info> show_limit(const limit_address& name) override {
    return ask_of(name, "GET", path_of(name));
  }

  answer<limit_info> delete_limit(const limit_address& name) override {
    return ask_of(name, "DELETE", path_of(name));
  }

  answer<limit_list> list_limits(const std::string& tenant) override {
    return ask_of(limit_address{tenant, {}}, "GET", "/admin/limits");
  }

  answer<limit_keys_page>
  limit_keys(const limit_address& name, const limit_keys_request& page) override {
    return ask_of(name, "GET", path_of(name, page));
  }

  answer<limit_key_info>
  close_limit_key(const limit_address& name, const std::string& key, duration how_long) override {
    base::json_writer json;
    json.begin_object().field("for", std::to_string(how_long.count()) + "ms").end_object();
    return ask_of(name, "POST", path_of(name, key, "/close"), json.take());
  }

  answer<limit_key_info>
  open_limit_key(const limit_address& name, const std::string& key) override {
    return ask_of(name, "POST", path_of(name, key, "/open"));
  }

  answer<coordinator_stats> stats() override { return ask("GET", "/admin/queues?as=list"); }

  answer<coordinator_stats> stats_of(const queue_address& queue) override {
    if (!queue.queue.empty())
      return ask_of(queue, "GET", {});
    if (auto ok = check_tenant(queue.tenant); !ok)
      return ok.error();
    return stats();
  }

  answer<worker_list> workers() override { return ask("GET", "/admin/workers"); }

  answer<drained_worker> drain_worker(const std::string& name, bool is_drained) override {
    return ask(
      "POST", "/admin/workers/" + http::escape(name) + (is_drained ? "/drain" : "/resume"));
  }

  answer<cluster_status> cluster() override { return ask("GET", "/admin/cluster"); }

  answer<cluster_status> change_cluster(const cluster_change& change) override {
    if (change.what == cluster_change::kind::balance)
      return ask("POST", "/admin/cluster/balance");
    const auto is_forced = change.what == cluster_change::kind::force_primary;
    if (change.what != cluster_change::kind::move && !is_forced)
      return ask(
        "POST",
        "/admin/cluster/nodes/" + http::escape(change.node)
          + (change.what == cluster_change::kind::drain ? "/drain" : "/undrain"));
    base::json_writer json;
    json.begin_object().field("to", change.node);
    if (is_forced)
      json.field("confirm", change.confirm);
    json.end_object();
    return ask(
      "POST",
      "/admin/cluster/shards/" + std::to_string(value(change.shard))
        + (is_forced ? "/force-primary" : "/move"),
      json.take());
  }

  answer<audit_page> audit(const audit_filter& filter) override {
    if (auto ok = check_tenant(filter.tenant); !ok)
      return ok.error();
    auto path = "/admin/audit?limit=" + std::to_string(filter.limit);
    if (filter.since != timestamp{})
      path += "&since=" + http::escape(base::to_rfc3339(filter.since));
    if (filter.after)
      path += "&after=" + to_string(*filter.after);
    return ask("GET", path);
  }

  result<backup_status> back_up() override { return not_possible("backup"); }

  result<cluster_backup> back_up_cluster(const std::filesystem::path&) override {
    return not_possible("backup");
  }

  result<std::vector<backup_info>> backups() override { return not_possible("backups"); }

  answer<std::string> log_level(const std::string& level) override {
    if (level.empty())
      return ask("GET", "/admin/log-level");
    base::json_writer json;
    json.begin_object().field("level", level).end_object();
    return ask("PUT", "/admin/log-level", json.take());
  }

  result<void> prepare_enqueue() override { return open(); }

  [[nodiscard]] bool sends_webhooks() const override { return true; }

  result<void> enqueue(const enqueue_request& request, const added& told) override {
    if (auto ready = open(); !ready)
      return ready;
    if (auto ok = check_tenant(request.task.tenant); !ok)
      return ok;
    auto text = to_gateway_json(request.task, request.webhook);
    if (!text)
      return text.error();
    auto batch = std::clamp<std::size_t>(
      limits::http_body_bytes_max / text->size(), 1, limits::http_batch_tasks_max);
    for (std::size_t done = 0; done < request.copies; done += batch)
      if (auto ok = enqueue_copies(*text, std::min(batch, request.copies - done), told); !ok)
        return ok;
    return {};
  }

  /// Repeats the request each minute, since a gateway waits no longer.
  result<task_end> await(task_id task, std::optional<duration> wait) override {
    using std::chrono::seconds;
    if (auto ready = open(); !ready)
      return ready.error();
    auto until = steady_clock::now() + wait.value_or(duration{0});
    for (;;) {
      auto left = std::chrono::ceil<seconds>(until - steady_clock::now());
      auto most = std::chrono::duration_cast<seconds>(limits::http_wait_max);
      auto waited = std::clamp(left, seconds(0), most).count();
      auto answer =
        gateway_->wait_for(path_of(task) + "/result?waitSeconds=" + std::to_string(waited));
      if (answer)
        return read_end(task, *answer);
      if (!answer.error().context.starts_with("HTTP 404: result not found"))
        return answer.error();
      if (steady_clock::now() >= until)
        return task_end{};
    }
  }

  result<task_end> watch(task_id task, duration wait, progressed told) override {
    return not_possible("watch");
  }

  [[nodiscard]] bool tells_progress() const override { return false; }

  error cause_of(const error& reason) override { return reason; }

private:
  /// Requests can only refer to the token's own tenant.
  [[nodiscard]] result<void> check_tenant(const std::string& given) const {
    const auto& tenant = given.empty() ? tenant_ : given;
    if (tenant.empty() || tenant == "default")
      return {};
    return not_possible("a tenant (--tenant or CODEQ_TENANT) other than the token's");
  }

  [[nodiscard]] result<void> check_tenant(const task_target& task) const {
    const auto* key = std::get_if<task_key>(&task);
    return key ? check_tenant(key->queue.tenant) : result<void>();
  }

  result<void> open() {
    if (gateway_)
      return {};
    auto opened = gateway::open(url_, options_);
    if (!opened)
      return opened.error();
    gateway_ = std::move(*opened);
    return {};
  }

  /// The answer to a request; converts to the answer of any type.
  struct said {
    result<document> text;

    template <class T>
    operator answer<T>() && { // NOLINT(google-explicit-constructor)
      if (!text)
        return text.error();
      return {document{printed<T>(text->json)}};
    }
  };

  said ask(std::string_view method, const std::string& path, std::string body = {}) {
    if (auto ready = open(); !ready)
      return {ready.error()};
    auto got = gateway_->ask(method, path, std::move(body));
    if (!got)
      return {got.error()};
    return {document{std::move(*got)}};
  }

  /// Sends a request for a queue of the token's tenant.
  said ask_of(
    const queue_address& queue,
    std::string_view method,
    const std::string& path,
    std::string body = {}) {
    if (auto ok = check_tenant(queue.tenant); !ok)
      return {ok.error()};
    return ask(method, path_of(queue) + path, std::move(body));
  }

  /// Sends a request for a schedule of the token's tenant.
  said ask_of(
    const schedule_address& name,
    std::string_view method,
    const std::string& path,
    std::string body = {}) {
    if (auto ok = check_tenant(name.tenant); !ok)
      return {ok.error()};
    return ask(method, "/schedules/" + http::escape(name.name) + path, std::move(body));
  }

  /// Sends a request for limits of the token's tenant.
  said ask_of(
    const limit_address& name,
    std::string_view method,
    const std::string& path,
    std::string body = {}) {
    if (auto ok = check_tenant(name.tenant); !ok)
      return {ok.error()};
    return ask(method, path, std::move(body));
  }

  /// The page of the list behind that name.
  result<document> next_schedules(const std::string& after) {
    auto path = "/schedules?limit=" + std::to_string(limits::schedules_listed_max);
    add_parameter(path, "after", after);
    return ask("GET", path).text;
  }

  said
  put_schedule(const schedule_address& name, const schedule_spec& spec, const std::string& query) {
    auto task = to_gateway_json(spec.task);
    if (!task)
      return {task.error()};
    base::json_writer json;
    json.begin_object()
      .field("rule", spec.rule)
      .field("misfire", to_string(spec.misfire))
      .field("catchUp", std::to_string(spec.catch_up.count()) + "ms")
      .field("overlap", to_string(spec.overlap));
    json.key("task").raw(*task).end_object();
    return ask_of(name, "PUT", query, json.take());
  }

  /// Adds `count` copies of a task in one request.
  result<void> enqueue_copies(const std::string& task, std::size_t count, const added& told) {
    base::json_writer body;
    body.begin_object().begin_array("tasks");
    for (std::size_t i = 0; i < count; ++i)
      body.raw(task);
    body.end_array().end_object();
    auto answer = gateway_->ask("POST", "/tasks/batch", body.take());
    if (!answer)
      return answer.error();
    std::vector<enqueued_task> accepted;
    auto taken = take_ids(*answer, accepted);
    told(accepted);
    return taken;
  }

  std::string url_;
  operator_options options_;
  /// The tenant of the environment; empty: none.
  std::string tenant_;
  std::optional<gateway> gateway_;
};

} // namespace

std::unique_ptr<operator_api>
make_http_api(std::string url, operator_options options, std::string tenant) {
  return std::make_unique<http_api>(std::move(url), std::move(options), std::move(tenant));
}

} // namespace codeq::ctl
