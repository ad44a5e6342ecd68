// SPDX-License-Identifier: Apache-2.0
#include "protocol/convert.hpp"

#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "core/commands/routing.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/bounds.hpp"
#include "protocol/shared_data.hpp"

#include <algorithm>

namespace codeq::protocol {

namespace {

error too_many(const char* what, std::size_t found, std::size_t limit) {
  return {
    errc::too_large,
    std::to_string(found) + " " + what + " in one request; the limit is " + std::to_string(limit)};
}

/// Errors: `protocol_error` for values that a correct node never sends.
result<void> check_extension(std::uint64_t extend_ms) {
  constexpr auto least = static_cast<std::uint64_t>(duration{limits::lease_min}.count());
  constexpr auto most = static_cast<std::uint64_t>(duration{limits::lease_max}.count());
  if (extend_ms == 0 || (extend_ms >= least && extend_ms <= most))
    return {};
  return malformed(
    "a beat extends by " + std::to_string(extend_ms) + " ms; it must be 0 or "
    + std::to_string(least) + ".." + std::to_string(most) + " ms");
}

/// Errors: `protocol_error` for values that a correct node never sends.
result<void> read_progress(
  capnp::List<schema::HeartbeatRequest::Progress>::Reader from,
  std::vector<core::lease_progress>& to) {
  if (from.size() > tuning::beats_per_request_max)
    return too_many("lines of progress", from.size(), tuning::beats_per_request_max);
  for (auto line : from) {
    if (line.getPercent() > 100)
      return malformed("progress of " + std::to_string(line.getPercent()) + " percent");
    if (line.getNote().size() > limits::progress_note_bytes_max)
      return malformed("a note on progress of " + std::to_string(line.getNote().size()) + " bytes");
    to.push_back(
      {line.getSeq(),
       static_cast<fencing_token>(line.getToken()),
       line.getPercent(),
       encoding::read_text(line.getNote())});
  }
  return {};
}

/// Errors: `protocol_error` for values that a correct node never sends.
result<void> read_checkpoints(
  const bytes& body,
  capnp::List<schema::LeaseCheckpoint>::Reader from,
  std::vector<core::lease_checkpoint>& to) {
  if (from.size() > tuning::beats_per_request_max)
    return too_many("checkpoints", from.size(), tuning::beats_per_request_max);
  for (auto line : from) {
    if (auto ok = check_size("checkpoint", line.getData().size(), limits::checkpoint_bytes_max);
        !ok)
      return malformed(ok.error().context);
    to.push_back(
      {line.getSeq(),
       {static_cast<fencing_token>(line.getToken()), line.getNumber()},
       share(body, line.getData())});
  }
  return {};
}

} // namespace

result<core::heartbeat> to_command(const heartbeat_request& message, core::peer_id peer) {
  return message.read([&](auto reader) -> result<core::heartbeat> {
    core::heartbeat c{peer, {}, {}, {}};
    auto leases = reader.getLeases();
    if (leases.size() > tuning::beats_per_request_max)
      return too_many("beats", leases.size(), tuning::beats_per_request_max);
    c.beats.reserve(leases.size());
    for (auto beat : leases) {
      if (auto ok = check_extension(beat.getExtendMs()); !ok)
        return ok.error();
      c.beats.push_back(
        {beat.getSeq(),
         static_cast<fencing_token>(beat.getToken()),
         beat.getPhase() == schema::LeasePhase::QUEUED,
         beat.getProgressed(),
         duration{static_cast<duration::rep>(beat.getExtendMs())}});
    }
    if (auto ok = read_progress(reader.getProgress(), c.progress); !ok)
      return ok.error();
    if (auto ok = read_checkpoints(message.body(), reader.getCheckpoints(), c.checkpoints); !ok)
      return ok.error();
    return c;
  });
}

result<split_heartbeat> split(const heartbeat_request& message) {
  return message.read([](auto reader) -> result<split_heartbeat> {
    auto rest = heartbeat_request::build([&](auto root) {
      root.setShard(reader.getShard());
      root.setLeases(reader.getLeases());
      root.setProgress(reader.getProgress());
      root.setNumber(reader.getNumber());
    });
    split_heartbeat parts{std::move(rest), shard_id{reader.getShard()}};
    for (auto line : reader.getCheckpoints())
      parts.checkpoints.push_back(
        {line.getSeq(), {static_cast<fencing_token>(line.getToken()), line.getNumber()}});
    return parts;
  });
}

std::uint32_t epoch_of(const resume_request& message) {
  auto epoch =
    message.read([](auto reader) -> result<std::uint32_t> { return reader.getEpoch(); });
  return epoch ? *epoch : 0;
}

result<core::resume> to_command(
  const resume_request& message,
  core::peer_id peer,
  const std::shared_ptr<const worker_identity>& worker) {
  return message.read([&](auto reader) -> result<core::resume> {
    core::resume c{peer, worker, {}};
    auto leases = reader.getLeases();
    if (leases.size() > tuning::holdings_per_request_max)
      return too_many("leases", leases.size(), tuning::holdings_per_request_max);
    for (auto lease : leases)
      c.leases.push_back({lease.getSeq(), static_cast<fencing_token>(lease.getToken())});
    return c;
  });
}

result<std::variant<core::await_tasks, core::stop_awaiting>>
to_command(const await_request& message, core::peer_id peer) {
  using wish = std::variant<core::await_tasks, core::stop_awaiting>;
  return message.read([&](auto reader) -> result<wish> {
    auto seqs = reader.getSeqs();
    if (seqs.size() > tuning::awaited_tasks_per_request_max)
      return too_many("awaited tasks", seqs.size(), tuning::awaited_tasks_per_request_max);
    std::vector<sequence> tasks;
    tasks.reserve(seqs.size());
    for (auto seq : seqs)
      tasks.push_back(seq);
    if (reader.getWithdraws())
      return wish{core::stop_awaiting{peer, std::move(tasks)}};
    return wish{core::await_tasks{peer, std::move(tasks), reader.getProgress()}};
  });
}

namespace {

/// A worker leaves out queues of which it holds a task.
constexpr std::size_t queues_left_out_max = 2 * limits::slots_max;

using queue_list = capnp::List<schema::QueueAddress>::Reader;

result<std::vector<queue_address>>
read_queues(const char* what, queue_list from, std::size_t most) {
  if (from.size() > most)
    return too_many(what, from.size(), most);
  std::vector<queue_address> queues;
  for (auto queue : from) {
    queues.push_back(encoding::read_queue(queue));
    if (auto ok = check_queue(queues.back()); !ok)
      return ok.error();
  }
  return queues;
}

result<std::vector<queue_address>> read_prefixes(queue_list from) {
  if (from.size() > limits::queue_patterns_per_worker_max)
    return too_many("prefixes", from.size(), limits::queue_patterns_per_worker_max);
  std::vector<queue_address> prefixes;
  for (auto prefix : from) {
    prefixes.push_back(encoding::read_queue(prefix));
    auto& [tenant, name] = prefixes.back();
    auto ok = check_name("tenant", tenant);
    if (ok && !name.empty())
      ok = check_name("prefix", name);
    if (!ok)
      return ok.error();
  }
  return prefixes;
}

} // namespace

result<claim_wish> read_claim(const claim_request& message) {
  return message.read([](auto reader) -> result<claim_wish> {
    claim_wish wish;
    wish.credits = reader.getCredits();
    wish.batch_tasks = reader.getBatchTasks();
    wish.take_back = reader.getTakeBack();
    if (const auto reach = reader.getReach(); reach != schema::ClaimRequest::Reach::SAME)
      wish.reaches_all = reach == schema::ClaimRequest::Reach::ALL;
    wish.lease = duration{static_cast<duration::rep>(reader.getLeaseMs())};
    bool is_in_range = wish.lease == duration{0}
                       || (wish.lease >= limits::lease_min && wish.lease <= limits::lease_max);
    if (!is_in_range)
      return malformed(
        "a claim's lease is " + std::to_string(wish.lease.count()) + " ms; it must be 0 or "
        + std::to_string(limits::lease_min.count()) + ".."
        + std::to_string(duration{limits::lease_max}.count()) + " ms");
    if (!reader.getSetsQueues())
      return wish;
    auto queues = read_queues("queues", reader.getQueues(), limits::queues_per_worker_max);
    auto prefixes = read_prefixes(reader.getPrefixes());
    auto without = read_queues("queues left out", reader.getWithout(), queues_left_out_max);
    for (const auto* part : {&queues, &prefixes, &without})
      if (!*part)
        return part->error();
    wish.queues = std::move(*queues);
    wish.prefixes = std::move(*prefixes);
    wish.without = std::move(*without);
    return wish;
  });
}

result<node_introduction> to_introduction(const hello& message) {
  return message.read([](auto reader) -> result<node_introduction> {
    node_introduction n;
    n.role = reader.getRole();
    n.identity = {encoding::read_text(reader.getName()), reader.getIncarnation()};
    n.min_version = reader.getMinVersion();
    n.max_version = reader.getMaxVersion();
    n.takes_map = reader.getTakesMap();
    n.token = string_of(reader.getToken());
    if (n.role > schema::Role::GATEWAY)
      return malformed("an unknown role");
    if (auto ok = check_name("name", n.identity.name); !ok)
      return ok.error();
    n.cluster = encoding::read_text(reader.getCluster());
    n.carries_copies = reader.getCopies();
    if (n.role == schema::Role::COORDINATOR)
      if (auto ok = check_name("cluster", n.cluster); !ok)
        return ok.error();
    auto queues = read_queues("queues", reader.getQueues(), limits::queues_per_worker_max);
    auto prefixes = read_prefixes(reader.getPrefixes());
    if (!queues || !prefixes)
      return (queues ? prefixes : queues).error();
    n.queues = std::move(*queues);
    n.prefixes = std::move(*prefixes);
    return n;
  });
}

} // namespace codeq::protocol
