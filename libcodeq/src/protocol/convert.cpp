// SPDX-License-Identifier: Apache-2.0
#include "protocol/convert.hpp"

#include "codeq/limits.hpp"

#include "core/routing.hpp"
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

result<void> check_extension(std::uint64_t extend_ms) {
  constexpr auto least = static_cast<std::uint64_t>(limits::lease_min.count());
  constexpr auto most = static_cast<std::uint64_t>(limits::lease_max.count());
  if (extend_ms >= least && extend_ms <= most)
    return {};
  return error{
    errc::protocol_error,
    "a beat extends by " + std::to_string(extend_ms) + " ms; it must be 0 or "
      + std::to_string(least) + ".." + std::to_string(most) + " ms"};
}

} // namespace

result<core::heartbeat> to_command(const heartbeat_request& message, core::peer_id peer) {
  return message.read([&](auto reader) -> result<core::heartbeat> {
    core::heartbeat c{peer, {}};
    auto leases = reader.getLeases();
    if (leases.size() > limits::beats_per_request_max)
      return too_many("beats", leases.size(), limits::beats_per_request_max);
    c.beats.reserve(leases.size());
    for (auto beat : leases) {
      if (auto extend = beat.getExtendMs(); extend != 0)
        if (auto ok = check_extension(extend); !ok)
          return ok.error();
      c.beats.push_back(
        {beat.getSeq(),
         static_cast<fencing_token>(beat.getToken()),
         beat.getPhase() == schema::LeasePhase::QUEUED,
         beat.getProgressed(),
         duration{static_cast<duration::rep>(beat.getExtendMs())}});
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
    n.token = string_of(reader.getToken());
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
