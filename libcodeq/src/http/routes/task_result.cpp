// SPDX-License-Identifier: Apache-2.0
#include "http/routes/task_result.hpp"

#include "base/text_encoding.hpp"
#include "http/routes/route_steps.hpp"

#include <charconv>

namespace codeq::http {

namespace {

error invalid(std::string text) {
  return {errc::invalid_argument, std::move(text)};
}

/// The artifacts as they came, checked; empty when there are none.
result<std::string> read_artifacts(json_object& body) {
  auto all = body.elements("artifacts");
  if (!body.ok())
    return invalid("invalid request body");
  for (auto one : all) {
    auto artifact = json_object::parse(one);
    if (!artifact)
      return invalid("invalid request body");
    auto name = artifact->text("name");
    auto url = artifact->text("url");
    auto content = artifact->text("contentBase64");
    bool is_typed = !artifact->has("contentType") || !artifact->text("contentType").empty();
    if (!is_typed || !artifact->ok())
      return invalid("invalid request body");
    if (name.empty())
      return invalid("artifact name is required");
    if (url.empty() == content.empty())
      return invalid("artifact " + name + " must have either url or contentBase64");
    if (!base::is_base64(content))
      return invalid("artifact " + name + ": contentBase64 is not base64");
  }
  return all.empty() ? std::string() : std::string(body.raw("artifacts"));
}

/// What the body says of the attempt's end; its task and token are still to be found.
result<attempt_end> read_end(json_object& body) {
  attempt_end end;
  auto status = body.text("status");
  auto reason = body.text("error");
  bool is_permanent = body.flag("permanent").value_or(false);
  auto artifacts = read_artifacts(body);
  if (!artifacts)
    return artifacts.error();
  if (!body.ok())
    return invalid("invalid request body");
  if (status == "COMPLETED") {
    end.how = disposition::completed;
    end.text = body.has("result") ? std::string(body.raw("result")) : std::string();
    if (!artifacts->empty())
      end.text = stored_result(end.text, *artifacts);
    return end;
  }
  if (status != "FAILED")
    return invalid("invalid status");
  if (reason.empty())
    return invalid("error required when status=FAILED");
  end.how = is_permanent ? disposition::failed_permanently : disposition::failed;
  end.text = std::move(reason);
  return end;
}

using recorded = std::function<void(result<result_record>)>;

/// Tells what the task is after its attempt failed.
void show_failure(gateway_context& context, result_record record, const recorded& done) {
  auto show = [record, done](const result<task_detail>& task) mutable {
    record.state = task_state::dead;
    // It is stored whether or not anybody can tell what it led to.
    if (!task)
      return done(record);
    record.will_retry = !is_terminal(task->status.state);
    if (*record.will_retry)
      record.retry_at = task->status.eligible_at;
    done(record);
  };
  context.desk.describe({record.id, {}}, false, std::move(show));
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
  context.desk.describe({record.id, {}}, false, std::move(show));
}

void report(gateway_context& context, const attempt_end& end, const recorded& done) {
  auto record_end = [&context, end, done](const error& how) {
    bool is_taken = how.code == errc::none || how.code == errc::already;
    if (!is_taken)
      return done(how);
    result_record record;
    record.id = end.task;
    record.at = context.desk.now();
    record.error_text = end.text;
    if (end.how != disposition::completed)
      return show_failure(context, record, done);
    if (how.code == errc::already)
      return show_stored(context, record, done);
    record.result = end.text;
    done(record);
  };
  context.desk.report(end, std::move(record_end));
}

} // namespace

result<lease_wish> lease_meant(json_object& body, bool needs_token) {
  auto text = body.text("fencingToken");
  if (!body.ok())
    return invalid("invalid fencingToken");
  if (text.empty()) {
    if (needs_token)
      return invalid("fencingToken is required");
    return lease_wish{};
  }
  std::uint64_t token = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), token);
  if (failure != std::errc{} || end != text.data() + text.size())
    return invalid("invalid fencingToken");
  return lease_wish{fencing_token{token}};
}

result<fencing_token> token_of(const task_detail& task, const lease_wish& wish, const caller& by) {
  const auto& status = task.status;
  bool is_leased = status.state == task_state::leased;
  // The shard knows whether it is the repeat of a report that ended the lease.
  if (!is_leased && wish.token && *wish.token == status.token)
    return status.token;
  if (!is_leased)
    return error{errc::stale_lease, "not-in-progress"};
  bool is_holder = status.worker == worker_name_of(by.tenant, by.subject);
  if (!is_holder || (wish.token && *wish.token != status.token))
    return error{errc::unauthorized, "not-owner"};
  return status.token;
}

void submit_result(
  gateway_context& context,
  const exchange_ptr& call,
  const std::string& id,
  json_object& body,
  std::function<void(result<result_record>)> done) {
  auto end = read_end(body);
  if (!end)
    return done(end.error());
  auto wish = lease_meant(body, context.needs_token);
  if (!wish)
    return done(wish.error());
  auto go = [&context, call, end = std::move(*end), wish = *wish, done = std::move(done)](
              const result<task_detail>& task) mutable {
    if (!task)
      return done(task.error());
    auto token = token_of(*task, wish, *call->by);
    if (!token)
      return done(token.error());
    end.task = task->status.id;
    end.token = *token;
    report(context, end, done);
  };
  find_own(context, call, id, false, std::move(go));
}

} // namespace codeq::http
