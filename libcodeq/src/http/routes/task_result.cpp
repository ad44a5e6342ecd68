// SPDX-License-Identifier: Apache-2.0
#include "http/routes/task_result.hpp"

#include "base/rfc3339.hpp"
#include "base/text_encoding.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/task_input.hpp"
#include "http/routes/route_steps.hpp"
#include "worker/node/report.hpp"

#include <charconv>

namespace codeq::http {

namespace {

/// A value as it came; empty when there is none.
std::string text_of(std::string_view raw) {
  return raw == "null" ? std::string() : std::string(raw);
}

result<void> check_artifact(const input& artifact) {
  auto name = artifact.text("name");
  auto content = artifact.text("contentBase64");
  if (artifact.has("url") == artifact.has("contentBase64"))
    return refuse_input({}, "artifact " + name + " must have either url or contentBase64");
  if (!base::is_base64(content))
    return refuse_input({}, "artifact " + name + ": contentBase64 is not base64");
  return {};
}

/// The follow-ups of a worker are a part of its completion. A token that enqueues by itself is held
/// to its queues in both, as with native workers.
result<void> check_follow_up(const task_spec& task, const caller& by, timestamp now) {
  if (auto ok = check_task(task, now); !ok)
    return ok;
  if (by.is_producer && !by.may_use(task.queue))
    return refuse_command(task.queue);
  return {};
}

/// The tasks that a completion adds.
result<std::shared_ptr<const protocol::encoded_tasks>>
read_follow_ups(const input& body, const caller& by, timestamp now) {
  std::vector<task_spec> tasks;
  for (const auto& fields : body.objects("followUps")) {
    tasks.push_back(make_task(fields, by.tenant));
    if (auto ok = check_follow_up(tasks.back(), by, now); !ok)
      return error{
        ok.error().code,
        "follow-up " + std::to_string(tasks.size() - 1) + ": " + ok.error().context};
  }
  if (tasks.empty())
    return std::shared_ptr<const protocol::encoded_tasks>();
  return worker::encode_follow_ups(tasks, by.tenant);
}

/// The end of the attempt as the body gives it, without task, token and follow-ups.
result<attempt_end> read_end(const input& body) {
  attempt_end end;
  for (const auto& artifact : body.objects("artifacts"))
    if (auto ok = check_artifact(artifact); !ok)
      return ok.error();
  if (body.text("status") == "COMPLETED") {
    if (body.has("error"))
      return refuse_input({}, "'error' is given with status=COMPLETED; only a failure has one");
    end.how = disposition::completed;
    bool has_artifacts = !body.objects("artifacts").empty();
    end.text = stored_result(
      text_of(body.raw("result")),
      has_artifacts ? body.raw("artifacts") : std::string_view());
    return end;
  }
  end.text = body.text("error");
  if (end.text.empty())
    return refuse_input("error required when status=FAILED", "'error' is required");
  if (!body.objects("followUps").empty())
    return refuse_input(
      {}, "'followUps' is given with status=FAILED; only a completion adds tasks");
  bool is_permanent = body.flag("permanent").value_or(false);
  end.how = is_permanent ? disposition::failed_permanently : disposition::failed;
  return end;
}

using recorded = std::function<void(result<result_record>)>;

/// Tells what the task is after its attempt failed.
void show_failure(gateway_context& context, result_record record, const recorded& done) {
  auto show = [record, done](const result<task_detail>& task) mutable {
    record.is_failure = true;
    record.state.reset();
    // It is stored whether or not anybody can tell what it led to.
    if (!task)
      return done(record);
    record.state = task->status.state;
    record.will_retry = !is_terminal(task->status.state);
    if (*record.will_retry)
      record.retry_at = task->status.eligible_at;
    done(record);
  };
  context.desk.describe({record.id, {}}, std::move(show));
}

/// Tells what was stored when the same report came before.
void show_stored(gateway_context& context, const result_record& record, const recorded& done) {
  auto show = [&context, record, done](const result<task_detail>& task) {
    if (!task)
      return done(task.error());
    add_last_change(context.desk, *task, [record, done](const task_detail& found) {
      auto stored = record;
      stored.result = found.status.result;
      stored.at = found.updated_at.value_or(record.at);
      done(stored);
    });
  };
  context.desk.describe({record.id, {}}, std::move(show));
}

void report(gateway_context& context, const attempt_end& end, const recorded& done) {
  auto record_end = [&context, end, done](const result<void>& how) {
    bool is_repeat = how.error().code == errc::already;
    if (!how && !is_repeat)
      return done(how.error());
    result_record record;
    record.id = end.task;
    record.at = context.desk.now();
    record.error_text = end.text;
    if (end.how != disposition::completed)
      return show_failure(context, record, done);
    if (is_repeat)
      return show_stored(context, record, done);
    record.result = end.text;
    done(record);
  };
  context.desk.report(end, std::move(record_end));
}

/// The refusal of a report on a task that nobody holds, in words if it has not ended.
error unclaimed(const task_status& task) {
  if (is_terminal(task.state))
    return {errc::stale_lease, "the task is not leased"};
  auto text = "not-in-progress: task " + quote(to_string(task.id)) + " is "
              + std::string(to_string(task.state));
  if (task.state == task_state::scheduled && task.eligible_at)
    text += " until " + base::to_rfc3339(*task.eligible_at);
  return {
    errc::stale_lease,
    text + ", and nobody holds a lease of it; POST /v1/codeq/tasks/claim leases tasks"};
}

} // namespace

result<lease_wish> lease_meant(const input& body, bool needs_token) {
  auto text = body.text("fencingToken");
  if (text.empty() && needs_token)
    return refuse_input("fencingToken is required", "'fencingToken' is required");
  if (text.empty())
    return lease_wish{};
  std::uint64_t token = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), token);
  if (failure != std::errc{} || end != text.data() + text.size())
    return refuse_input(
      token_field.refusal,
      describe_value("'fencingToken'", quote(text), "the one that the claim answered"));
  return lease_wish{fencing_token{token}};
}

result<fencing_token> token_of(const task_detail& task, const lease_wish& wish, const caller& by) {
  const auto& status = task.status;
  bool is_leased = status.state == task_state::leased;
  // The shard knows whether it is the repeat of a report that ended the lease.
  if (!is_leased && wish.token && *wish.token == status.token)
    return status.token;
  if (!is_leased)
    return unclaimed(status);
  bool is_holder = status.worker == worker_name_of(by.tenant, by.subject);
  if (!is_holder)
    return error{
      errc::unauthorized,
      "not-owner: the task is leased to worker " + quote(subject_of(status.worker))
        + "; the caller is worker " + quote(by.subject)};
  if (wish.token && *wish.token != status.token)
    return error{
      errc::unauthorized,
      "not-owner: "
        + describe_value(
          "'fencingToken'",
          quote(std::to_string(value(*wish.token))),
          "that of the task's latest claim")};
  return status.token;
}

namespace {

/// A report of the caller about a task.
struct own_report {
  std::string id;
  lease_wish wish;
  /// Its task and token are known once the lease is.
  attempt_end end;
  recorded done;
};

/// Ends the attempt of the lease that the caller holds of the task.
void report_own(gateway_context& context, const exchange_ptr& call, own_report own) {
  auto id = own.id;
  auto go = [&context, call, own = std::move(own)](const result<task_detail>& task) mutable {
    if (!task)
      return own.done(task.error());
    auto token = token_of(*task, own.wish, *call->by);
    if (!token)
      return own.done(token.error());
    own.end.task = task->status.id;
    own.end.token = *token;
    report(context, own.end, own.done);
  };
  find_own(context, call, id, false, std::move(go));
}

/// The same for a lease that was claimed here just now, which the report names. When it is over,
/// the task tells what became of it.
void report_recent(gateway_context& context, const exchange_ptr& call, own_report own) {
  auto end = own.end;
  auto finish = [&context, call, own = std::move(own)](const result<result_record>& how) {
    bool is_unclear =
      !how && (how.error().code == errc::stale_lease || how.error().code == errc::unknown_task);
    if (!is_unclear)
      return own.done(how);
    report_own(context, call, own);
  };
  report(context, end, std::move(finish));
}

} // namespace

void submit_result(
  gateway_context& context,
  const exchange_ptr& call,
  const std::string& id,
  const input& body,
  std::function<void(result<result_record>)> done) {
  auto end = read_end(body);
  if (!end)
    return done(end.error());
  auto follow_ups = read_follow_ups(body, *call->by, context.desk.now());
  if (!follow_ups)
    return done(follow_ups.error());
  end->follow_ups = std::move(*follow_ups);
  auto costs = read_costs(body);
  if (!costs)
    return done(costs.error());
  end->costs = std::move(*costs);
  auto wish = lease_meant(body, context.needs_token);
  if (!wish)
    return done(wish.error());
  own_report own{id, *wish, std::move(*end), std::move(done)};
  auto task = parse_task_id(id);
  auto lease = task ? context.leases.take(*task, *call->by) : std::nullopt;
  if (!lease || wish->token.value_or(lease->token) != lease->token)
    return report_own(context, call, std::move(own));
  own.end.task = lease->task;
  own.end.token = lease->token;
  report_recent(context, call, std::move(own));
}

} // namespace codeq::http
