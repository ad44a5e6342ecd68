// SPDX-License-Identifier: Apache-2.0
// The part of `session` that tells operators the counts of queues and workers. However many
// requests wait, the shards are asked once at a time.
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "coordinator/session/session.hpp"
#include "coordinator/session/stats_sum.hpp"
#include "coordinator/shard/access.hpp"
#include "protocol/operator_convert.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace codeq::coordinator {

namespace {

using counts_result = result<base::coordinator_counts>;

/// A larger frame would end the connection, with all that others have asked for on it.
result<void> check_frame(std::size_t bytes) {
  if (bytes <= tuning::frame_bytes_max)
    return {};
  return error{
    errc::too_large,
    "the answer is " + std::to_string(bytes) + " bytes; it must be at most "
      + std::to_string(tuning::frame_bytes_max) + "; ask with the token of one tenant"};
}

} // namespace

template <class S>
void session::ask_for_counts(const protocol::frame<S>& m, bool with_leases) {
  auto number = m.read([](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
  if (!number)
    return refuse(number.error());
  auto& open = with_leases ? workers_requests_ : stats_requests_;
  auto ok = count_request();
  if (ok && options_.bearer)
    ok = access::check_inspector(*options_.bearer);
  if (ok)
    ok = check_room(open);
  if (!ok)
    return port_.send(protocol::make_refusal<S>(*number, ok.error()).to_wire());
  open.waiting.push_back(*number);
  gather_counts(open, with_leases);
}

result<void> session::check_room(const count_requests& open) {
  constexpr auto most = limits::counts_waiting_max;
  if (open.size() < most)
    return {};
  port_.note_limit("counts_waiting_max", most);
  return error{
    errc::overloaded,
    std::to_string(most) + " requests of this connection for these counts wait already; "
      + "counts_waiting_max=" + std::to_string(most)};
}

void session::gather_counts(count_requests& open, bool with_leases) {
  if (!open.asked.empty() || open.waiting.empty())
    return;
  open.asked = std::exchange(open.waiting, {});
  port_.gather_stats(with_leases);
}

template <class S, class Reply>
void session::send_counts(std::uint64_t number, const Reply& reply) {
  auto frame = reply.to_wire();
  auto ok = check_frame(frame.body.size());
  if (ok)
    ok = take_answer(frame.body.size());
  if (!ok)
    frame = protocol::make_refusal<S>(number, ok.error()).to_wire();
  port_.send(frame);
}

void session::take_request(const protocol::stats_request& m) {
  ask_for_counts(m, false);
}

void session::take_request(const protocol::workers_request& m) {
  auto wish = protocol::read_workers_request(m);
  if (!wish)
    return refuse(wish.error());
  if (wish->worker.empty())
    return ask_for_counts(m, true);
  answer_workers(wish->number, drain_worker(*wish));
  // It counts for this request only, also when nothing was changed.
  acting_for_.reset();
}

base::coordinator_counts session::visible_part(const base::coordinator_counts& all) const {
  const auto* bearer = options_.bearer.get();
  if (bearer == nullptr || bearer->is_of_all_tenants()) {
    auto part = all;
    for (const auto& [name, value] : port_.gauges())
      part.gauges[name] += value;
    return part;
  }
  // Gauges belong to the process and thus to all tenants.
  base::coordinator_counts part;
  part.shards = all.shards;
  std::copy_if(
    all.queues.begin(),
    all.queues.end(),
    std::back_inserter(part.queues),
    [bearer](const base::queue_counts& q) { return bearer->sees(q.queue.tenant); });
  return part;
}

void session::tell_stats(const result<base::coordinator_counts>& counts) {
  const auto shown = counts ? counts_result(visible_part(*counts)) : counts_result(counts.error());
  for (auto number : std::exchange(stats_requests_.asked, {}))
    answer_stats(number, shown);
  gather_counts(stats_requests_, false);
}

void session::answer_stats(
  std::uint64_t number, const result<base::coordinator_counts>& counts) {
  if (!counts)
    return port_.send(
      protocol::make_refusal<schema::StatsRequest>(number, counts.error()).to_wire());
  send_counts<schema::StatsRequest>(number, protocol::make_stats_reply(number, *counts));
}

void session::tell_workers(const result<base::coordinator_counts>& counts) {
  result<std::vector<base::worker_counts>> shown(std::vector<base::worker_counts>{});
  if (!counts)
    shown = counts.error();
  else if (options_.bearer && !options_.bearer->is_of_all_tenants())
    shown = workers_of(options_.bearer->tenant, counts->workers);
  else
    shown = counts->workers;
  if (shown) {
    limit_shown(*shown);
    port_.mark_drained(*shown);
  }
  for (auto number : std::exchange(workers_requests_.asked, {}))
    answer_workers(number, shown);
  gather_counts(workers_requests_, true);
}

void session::answer_workers(
  std::uint64_t number, const result<std::vector<base::worker_counts>>& workers) {
  if (!workers)
    return port_.send(
      protocol::make_refusal<schema::WorkersRequest>(number, workers.error()).to_wire());
  send_counts<schema::WorkersRequest>(number, protocol::make_workers_reply(number, *workers));
}

} // namespace codeq::coordinator
