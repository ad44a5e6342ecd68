// SPDX-License-Identifier: Apache-2.0
#include "worker/report.hpp"

#include "protocol/bounds.hpp"

#include <string>
#include <utility>
#include <vector>

namespace codeq::worker {

namespace {

/// Room for the longest mark that `cut_error_text` appends.
constexpr std::size_t mark_bytes_max = 48;

disposition as_said(outcome::kind what) {
  switch (what) {
  case outcome::kind::completed:
    return disposition::completed;
  case outcome::kind::failed:
    return disposition::failed;
  case outcome::kind::failed_permanently:
    return disposition::failed_permanently;
  case outcome::kind::nack:
    return disposition::nack;
  case outcome::kind::abandon:
    return disposition::abandon;
  }
  return disposition::failed;
}

/// What the answer is worth when the handler was told to stop before it came.
disposition after_stop(disposition said, stop_cause stop) {
  if (stop == stop_cause::none || said == disposition::completed)
    return said;
  if (stop == stop_cause::cancelled)
    return disposition::cancelled;
  return said == disposition::failed_permanently ? said : disposition::abandon;
}

bool is_valid_delay(std::optional<duration> delay) {
  return !delay || (*delay >= duration{0} && *delay <= limits::retry_max);
}

/// The follow-ups as they travel. Errors: say which one is over which limit.
result<std::shared_ptr<const protocol::encoded_tasks>>
encode_follow_ups(const std::vector<task_spec>& tasks) {
  if (auto ok = protocol::check_follow_up_count(tasks.size()); !ok)
    return ok.error();
  auto encoded = protocol::encoded_tasks::encode(tasks, "follow-up");
  if (!encoded)
    return encoded.error();
  if (auto ok = protocol::check_follow_up_bytes(encoded->request_bytes()); !ok)
    return ok.error();
  return std::make_shared<const protocol::encoded_tasks>(std::move(*encoded));
}

void add_follow_ups(report& made, const std::vector<task_spec>& tasks) {
  if (made.what != disposition::completed || tasks.empty())
    return;
  auto encoded = encode_follow_ups(tasks);
  if (encoded)
    made.follow_ups = std::move(*encoded);
  else
    fail_for_follow_ups(made, encoded.error().context);
}

} // namespace

void fail_for_follow_ups(report& made, const std::string& why) {
  made.what = disposition::failed;
  made.follow_ups.reset();
  made.text = cut_error_text("completed, but its follow-ups were refused: " + why);
}

report make_report(const lease_key& key, const held_lease& lease, outcome answer) {
  report made{key, lease.seq, as_said(answer.what()), answer.delay(), true, answer.text(), {}};
  if (made.what == disposition::completed && made.text.size() > limits::result_bytes_max) {
    made.what = disposition::failed_permanently;
    made.text = "the result has " + std::to_string(made.text.size()) + " bytes, over the limit of "
                + std::to_string(limits::result_bytes_max);
  }
  if (!is_valid_delay(made.delay)) {
    made.what = disposition::failed;
    made.text = "nack with a delay of " + std::to_string(made.delay->count())
                + " ms, which is outside 0.." + std::to_string(limits::retry_max.count())
                + " ms: " + made.text;
    made.delay.reset();
  }
  add_follow_ups(made, answer.follow_ups());
  made.what = after_stop(made.what, lease.stop);
  if (made.what != disposition::completed)
    made.text = cut_error_text(std::move(made.text));
  return made;
}

report make_unstarted(const lease_key& key, sequence seq) {
  return {key, seq, disposition::abandon, std::nullopt, false, {}, {}};
}

std::string cut_error_text(std::string text) {
  if (text.size() <= limits::error_text_bytes_max)
    return text;
  auto mark = "... [cut from " + std::to_string(text.size()) + " bytes]";
  text.resize(limits::error_text_bytes_max - mark_bytes_max);
  return text + mark;
}

} // namespace codeq::worker
