// SPDX-License-Identifier: Apache-2.0
#include "worker/node/report.hpp"

#include "protocol/bounds.hpp"

#include <string>
#include <utility>
#include <vector>

namespace codeq::worker {

namespace {

/// Space for the longest mark that `cut_error_text` appends.
constexpr std::size_t mark_bytes_max = 48;

disposition after_stop(disposition said, stop_cause stop) {
  if (stop == stop_cause::none || said == disposition::completed)
    return said;
  if (stop == stop_cause::cancelled)
    return disposition::cancelled;
  bool stays = said == disposition::failed_permanently || said == disposition::limited;
  return stays ? said : disposition::abandon;
}

duration delay_max(disposition said) {
  return said == disposition::limited ? limits::limit_closed_max : limits::retry_max;
}

/// Turns a report with a delay outside its range into a failure that says so.
void check_delay(report& made) {
  auto most = delay_max(made.what);
  if (!made.delay || (*made.delay >= duration{0} && *made.delay <= most))
    return;
  auto what = made.what == disposition::limited ? "limited for " : "nack with a delay of ";
  made.what = disposition::failed;
  made.text = what + std::to_string(made.delay->count()) + " ms, which is outside 0.."
              + std::to_string(most.count()) + " ms: " + made.text;
  made.delay.reset();
}

bool has_oversized_result(disposition what, std::size_t bytes) {
  return what == disposition::completed && bytes > limits::result_bytes_max;
}

std::string oversized_result(std::size_t bytes) {
  return "the result has " + std::to_string(bytes) + " bytes, over the limit of "
         + std::to_string(limits::result_bytes_max);
}

std::string refused_follow_ups(const std::string& why) {
  return cut_error_text("completed, but its follow-ups were refused: " + why);
}

/// The same without follow-ups and costs. @pre it is no completion
outcome bare_outcome(const outcome& answer) {
  auto text = cut_error_text(answer.text());
  switch (answer.what()) {
  case disposition::completed:
  case disposition::cancelled:
    break;
  case disposition::failed:
    return outcome::failed(std::move(text));
  case disposition::failed_permanently:
    return outcome::failed_permanently(std::move(text));
  case disposition::nack:
    return answer.delay() ? outcome::nack(*answer.delay(), std::move(text))
                          : outcome::nack(std::move(text));
  case disposition::abandon:
    return outcome::abandon();
  case disposition::limited:
    return outcome::limited(*answer.delay(), answer.limit_name(), std::move(text));
  }
  return outcome::completed(std::move(text));
}

/// Only a completion has follow-ups.
outcome without_follow_ups(const outcome& answer) {
  auto bare = bare_outcome(answer);
  for (const auto& cost : answer.costs())
    bare.cost(cost.name, cost.cost);
  return bare;
}

void add_follow_ups(
  report& made, const std::vector<task_spec>& tasks, std::string_view tenant) {
  if (made.what != disposition::completed || tasks.empty())
    return;
  auto encoded = encode_follow_ups(tasks, tenant);
  if (encoded)
    made.follow_ups = std::move(*encoded);
  else
    fail_for_follow_ups(made, encoded.error().context);
}

} // namespace

result<std::shared_ptr<const protocol::encoded_tasks>>
encode_follow_ups(const std::vector<task_spec>& tasks, std::string_view tenant) {
  if (auto ok = protocol::check_follow_up_count(tasks.size()); !ok)
    return ok.error();
  auto encoded = protocol::encoded_tasks::encode(tasks, "follow-up", tenant);
  if (!encoded)
    return encoded.error();
  if (auto ok = protocol::check_follow_up_bytes(encoded->request_bytes()); !ok)
    return ok.error();
  return std::make_shared<const protocol::encoded_tasks>(std::move(*encoded));
}

void fail_for_follow_ups(report& made, const std::string& why) {
  made.what = disposition::failed;
  made.follow_ups.reset();
  made.text = refused_follow_ups(why);
}

bool has_content(const report& made) {
  return made.what == disposition::completed || !made.limit_name.empty() || !made.costs.empty();
}

void fail_for_content(report& made, const std::string& why) {
  if (made.limit_name.empty() && made.costs.empty())
    return fail_for_follow_ups(made, why);
  made.what = disposition::failed;
  made.text = cut_error_text("the outcome was refused: " + why);
  made.delay.reset();
  made.follow_ups.reset();
  made.limit_name.clear();
  made.costs.clear();
}

report make_report(const lease_key& key, const held_lease& lease, outcome answer) {
  report made{key, lease.seq, answer.what(), answer.delay(), true, {}, {}, {}};
  made.text = answer.take_text();
  if (has_oversized_result(answer.what(), made.text.size())) {
    made.what = disposition::failed_permanently;
    made.text = oversized_result(made.text.size());
  }
  check_delay(made);
  made.limit_name = answer.limit_name();
  made.costs = answer.costs();
  add_follow_ups(made, answer.follow_ups(), lease.tenant);
  made.what = after_stop(made.what, lease.stop);
  bool goes_on = made.what != disposition::completed && made.what != disposition::cancelled;
  if (goes_on && lease.line)
    made.checkpoint = lease.line->unsaved().latest();
  if (made.what != disposition::completed)
    made.text = cut_error_text(std::move(made.text));
  return made;
}

outcome within_limits(outcome answer) {
  if (has_oversized_result(answer.what(), answer.text().size()))
    return outcome::failed_permanently(oversized_result(answer.text().size()));
  if (answer.what() != disposition::completed)
    return without_follow_ups(answer);
  if (answer.follow_ups().empty())
    return answer;
  // The worker knows the tenant of those that name none; for their limits it does not matter.
  auto encoded = encode_follow_ups(answer.follow_ups(), protocol::default_tenant);
  return encoded ? answer : outcome::failed(refused_follow_ups(encoded.error().context));
}

report make_unstarted(const lease_key& key, sequence seq) {
  return {key, seq, disposition::abandon, std::nullopt, false, {}, {}, {}};
}

std::string cut_error_text(std::string text) {
  if (text.size() <= limits::error_text_bytes_max)
    return text;
  auto mark = "... [cut from " + std::to_string(text.size()) + " bytes]";
  text.resize(limits::error_text_bytes_max - mark_bytes_max);
  return text + mark;
}

} // namespace codeq::worker
