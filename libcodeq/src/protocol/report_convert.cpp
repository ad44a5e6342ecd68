// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
#include "encoding/limit_structs.hpp"
#include "encoding/schema_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/bounds.hpp"
#include "protocol/convert.hpp"
#include "protocol/run_convert.hpp"
#include "protocol/shared_data.hpp"

namespace codeq::protocol {

namespace {

/// Input shared by all reports of a message.
struct report_input {
  const bytes& body;
  timestamp now;
  shard_place place;
};

/// The follow-ups of a completion, each with the shard that it belongs to.
result<std::vector<core::follow_up>>
read_follow_ups(const report_input& in, schema::FollowUps::Reader from) {
  if (auto ok = check_follow_up_count(from.getTasks().getEnds().size()); !ok)
    return ok.error();
  auto runs = read_runs(in.body, {from.getRuns(), from.getTasks(), "follow-up"}, in.now);
  if (!runs)
    return runs.error();
  std::vector<core::follow_up> tasks;
  std::size_t byte_count = 0;
  for (auto& run : *runs) {
    byte_count += run.tasks.body.size();
    auto shard = core::shard_of_follow_up(run, in.place.shard, in.place.shard_count);
    tasks.push_back({shard, std::move(run)});
  }
  if (auto ok = check_follow_up_bytes(byte_count); !ok)
    return ok.error();
  return tasks;
}

/// Errors: the reason why a well-formed report is refused.
result<void> check_bounds(const core::lease_report& r) {
  bool is_limited = r.how == disposition::limited;
  if (r.delay)
    if (auto ok = check_duration(
          is_limited ? "retry_after" : "a nack's delay",
          *r.delay,
          duration{0},
          is_limited ? limits::limit_closed_max : limits::retry_max);
        !ok)
      return ok;
  if (auto ok = check_costs(r.costs); !ok)
    return ok;
  auto handed_on = r.checkpoint.data.size();
  if (auto ok = check_size("checkpoint", handed_on, limits::checkpoint_bytes_max); !ok)
    return ok;
  bool is_result = r.how == disposition::completed;
  auto limit = is_result ? limits::result_bytes_max : limits::error_text_bytes_max;
  return check_size(is_result ? "result" : "error text", r.text.size(), limit);
}

result<core::lease_report>
read_report(const report_input& in, schema::ResultRequest::Report::Reader from, bytes text) {
  core::lease_report r;
  r.seq = from.getSeq();
  r.token = static_cast<fencing_token>(from.getToken());
  r.started = from.getStarted();
  if (!encoding::is_known<disposition>(from.getDisposition()))
    return malformed("an unknown disposition");
  r.how = encoding::from_schema<disposition>(from.getDisposition());
  bool has_delay = r.how == disposition::nack || r.how == disposition::limited;
  if (has_delay && from.getDelayMs() >= 0)
    r.delay = duration{from.getDelayMs()};
  if (r.how == disposition::limited)
    r.limit = encoding::read_text(from.getLimitName());
  // Checks the number first, so that nothing too long is copied.
  if (from.getCosts().size() > limits::task_limits_max)
    return malformed("more costs than a task has limits");
  r.costs = encoding::read_limits(from.getCosts());
  r.text = std::move(text);
  r.checkpoint = {
    r.seq, {r.token, from.getCheckpointNumber()}, share(in.body, from.getCheckpoint())};
  r.allowed = check_bounds(r);
  if (!r.allowed)
    return r;
  if (r.how != disposition::completed || !from.hasFollowUps())
    return r;
  auto follow_ups = read_follow_ups(in, from.getFollowUps());
  if (follow_ups)
    r.follow_ups = std::move(*follow_ups);
  else if (follow_ups.error().code == errc::protocol_error)
    return follow_ups.error();
  else
    r.allowed = follow_ups.error();
  return r;
}

result<core::report> read_reports(const report_input& in, schema::ResultRequest::Reader reader) {
  core::report c;
  auto reports = reader.getReports();
  if (reports.size() > limits::reports_per_request_max)
    return error{
      errc::too_large,
      std::to_string(reports.size()) + " reports in one request; the limit is "
        + std::to_string(limits::reports_per_request_max)};
  auto sizes = encoding::read_sizes(reader.getTexts());
  if (!sizes || sizes->size() != reports.size())
    return malformed("the texts do not fit the reports");
  auto texts = share(in.body, reader.getTexts().getBytes());
  std::size_t at = 0;
  for (capnp::uint i = 0; i < reports.size(); ++i) {
    auto r = read_report(in, reports[i], texts.slice(at, (*sizes)[i]));
    if (!r)
      return r.error();
    at += (*sizes)[i];
    c.reports.push_back(std::move(*r));
  }
  return c;
}

} // namespace

result<core::report>
to_command(const result_request& message, core::peer_id peer, timestamp now, shard_place place) {
  auto command = message.read([&](auto reader) {
    return read_reports({message.body(), now, place}, reader);
  });
  if (command)
    command->peer = peer;
  return command;
}

} // namespace codeq::protocol
