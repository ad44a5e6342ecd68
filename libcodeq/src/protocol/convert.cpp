// SPDX-License-Identifier: Apache-2.0
#include "protocol/convert.hpp"

#include "codeq/limits.hpp"

#include "encoding/shared_structs.hpp"
#include "protocol/bounds.hpp"
#include "protocol/shared_data.hpp"

namespace codeq::protocol {

namespace {

error too_many(const char* what, std::size_t found, std::size_t limit) {
  return {
    errc::too_large,
    std::to_string(found) + " " + what + " in one request; the limit is " + std::to_string(limit)};
}

result<core::lease_report> read_report(schema::ResultRequest::Report::Reader from, bytes text) {
  core::lease_report r;
  r.seq = from.getSeq();
  r.token = static_cast<fencing_token>(from.getToken());
  r.started = from.getStarted();
  if (from.getDisposition() > schema::Disposition::CANCELLED)
    return malformed("an unknown disposition");
  r.how = static_cast<core::disposition>(from.getDisposition());
  if (r.how == core::disposition::nack && from.getDelayMs() >= 0)
    r.delay = duration{from.getDelayMs()};
  if (r.delay && *r.delay > limits::retry_max)
    return malformed(
      "a nack's delay is above " + std::to_string(limits::retry_max.count()) + " ms");
  bool is_result = r.how == core::disposition::completed;
  auto limit = is_result ? limits::result_bytes_max : limits::error_text_bytes_max;
  if (text.size() > limit)
    return malformed(
      std::string(is_result ? "result" : "error text") + " has " + std::to_string(text.size())
      + " bytes; the limit is " + std::to_string(limit));
  r.text = std::move(text);
  return r;
}

} // namespace

result<core::heartbeat> to_command(const heartbeat_request& message, core::peer_id peer) {
  return message.read([&](auto reader) -> result<core::heartbeat> {
    core::heartbeat c{peer, {}};
    auto leases = reader.getLeases();
    if (leases.size() > limits::beats_per_request_max)
      return too_many("beats", leases.size(), limits::beats_per_request_max);
    c.beats.reserve(leases.size());
    for (auto beat : leases)
      c.beats.push_back(
        {beat.getSeq(),
         static_cast<fencing_token>(beat.getToken()),
         beat.getPhase() == schema::LeasePhase::QUEUED,
         beat.getProgressed()});
    return c;
  });
}

result<core::report> to_command(const result_request& message, core::peer_id peer) {
  return message.read([&](auto reader) -> result<core::report> {
    core::report c{peer, {}};
    auto reports = reader.getReports();
    if (reports.size() > limits::reports_per_request_max)
      return too_many("reports", reports.size(), limits::reports_per_request_max);
    auto sizes = encoding::read_sizes(reader.getTexts());
    if (!sizes || sizes->size() != reports.size())
      return malformed("the texts do not fit the reports");
    auto texts = share(message.body(), reader.getTexts().getBytes());
    std::size_t at = 0;
    for (capnp::uint i = 0; i < reports.size(); ++i) {
      auto r = read_report(reports[i], texts.slice(at, (*sizes)[i]));
      if (!r)
        return r.error();
      at += (*sizes)[i];
      c.reports.push_back(std::move(*r));
    }
    return c;
  });
}

result<core::resume> to_command(
  const resume_request& message,
  core::peer_id peer,
  const std::shared_ptr<const worker_identity>& worker) {
  return message.read([&](auto reader) -> result<core::resume> {
    core::resume c{peer, worker, {}};
    auto leases = reader.getLeases();
    if (leases.size() > limits::holdings_per_request_max)
      return too_many("leases", leases.size(), limits::holdings_per_request_max);
    for (auto lease : leases)
      c.leases.push_back({lease.getSeq(), static_cast<fencing_token>(lease.getToken())});
    return c;
  });
}

result<core::await_tasks> to_command(const await_request& message, core::peer_id peer) {
  return message.read([&](auto reader) -> result<core::await_tasks> {
    auto seqs = reader.getSeqs();
    if (seqs.size() > limits::awaited_tasks_per_request_max)
      return too_many("awaited tasks", seqs.size(), limits::awaited_tasks_per_request_max);
    core::await_tasks c{peer, {}};
    c.tasks.reserve(seqs.size());
    for (auto seq : seqs)
      c.tasks.push_back(seq);
    return c;
  });
}

result<node_introduction> to_introduction(const hello& message) {
  return message.read([](auto reader) -> result<node_introduction> {
    node_introduction n;
    n.role = reader.getRole();
    n.identity = {encoding::read_text(reader.getName()), reader.getIncarnation()};
    n.min_version = reader.getMinVersion();
    n.max_version = reader.getMaxVersion();
    if (n.role > schema::Role::OPERATOR)
      return malformed("an unknown role");
    if (auto ok = check_name("name", n.identity.name); !ok)
      return ok.error();
    if (reader.getQueues().size() > limits::queues_per_worker_max)
      return too_many("queues", reader.getQueues().size(), limits::queues_per_worker_max);
    for (auto queue : reader.getQueues()) {
      n.queues.push_back(encoding::read_queue(queue));
      if (auto ok = check_queue(n.queues.back()); !ok)
        return ok.error();
    }
    return n;
  });
}

} // namespace codeq::protocol
