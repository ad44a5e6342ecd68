// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/bounds.hpp"
#include "protocol/convert.hpp"
#include "protocol/run_convert.hpp"

namespace codeq::protocol {

namespace {

error wrong_shard(std::string_view what, shard_id owner, shard_place place) {
  return out_of_range(
    what,
    std::to_string(value(place.shard)),
    std::to_string(value(owner)) + " of " + std::to_string(place.shard_count));
}

/// Checks that the tasks of the run belong to the shard.
result<void> check_run_place(const core::enqueue_run& run, shard_place place) {
  if (auto ok = protocol::check_place(run.queue, run.group, run.key, place); !ok)
    return ok;
  if (run.limits.empty())
    return {};
  const auto& name = run.group.empty() ? run.key : run.group;
  auto owner = core::shard_of_task(run.queue, name, run.limits, place.shard_count);
  if (*owner != place.shard)
    return wrong_shard("the shard of a limit key", *owner, place);
  return {};
}

struct enqueue_input {
  const bytes& body;
  timestamp now;
  shard_place place;
};

result<core::enqueue> read_enqueue(schema::EnqueueRequest::Reader reader, enqueue_input in) {
  core::enqueue c;
  c.request = {
    encoding::read_producer(reader.getProducer()), reader.getNumber(), reader.getAnsweredBelow()};
  if (c.request.number == 0 || c.request.answered_below > c.request.number)
    return malformed("request numbers start at 1 and answered_below is not above them");
  if (is_internal(c.request.producer))
    return malformed("producer ids whose high half is 0 are the shards' own");
  auto count = reader.getTasks().getEnds().size();
  if (auto ok = check_count("tasks per request", count, 1, limits::enqueue_tasks_max); !ok)
    return ok.error();
  auto runs = read_runs(in.body, {reader.getRuns(), reader.getTasks(), {}}, in.now);
  if (!runs)
    return runs.error();
  for (const auto& r : *runs)
    if (auto ok = check_run_place(r, in.place); !ok)
      return ok.error();
  c.runs = std::move(*runs);
  return c;
}

} // namespace

result<void> check_place(
  const queue_address& queue, std::string_view group, std::string_view key, shard_place place) {
  if (group.empty() && key.empty())
    return {};
  auto owner = core::shard_of_name(queue, group.empty() ? key : group, place.shard_count);
  if (owner == place.shard)
    return {};
  return wrong_shard(group.empty() ? "the shard of a key" : "the shard of a group", owner, place);
}

result<std::uint64_t> number_of(const enqueue_request& message) {
  return message.read([](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
}

std::uint64_t number_of(const heartbeat_request& message) {
  const auto number =
    message.read([](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
  return number ? *number : 0;
}

result<shard_id> checked_shard(std::uint64_t number, std::size_t shard_count) {
  if (number >= shard_count)
    return error{errc::protocol_error, "no shard " + std::to_string(number)};
  return static_cast<shard_id>(number);
}

result<enqueue_outline> outline_of(const enqueue_request& message, std::size_t shard_count) {
  return message.read([&](auto reader) -> result<enqueue_outline> {
    const auto shard = checked_shard(reader.getShard(), shard_count);
    if (!shard)
      return shard.error();
    return enqueue_outline{
      reader.getNumber(),
      encoding::read_producer(reader.getProducer()),
      *shard,
      reader.getTasks().getEnds().size()};
  });
}

result<producer_id> finished_session_of(const goodbye& message) {
  return message.read([](auto reader) -> result<producer_id> {
    return encoding::read_producer(reader.getFinished());
  });
}

result<core::enqueue>
to_command(const enqueue_request& message, core::peer_id peer, timestamp now, shard_place place) {
  auto command = message.read([&](auto reader) {
    return read_enqueue(reader, {message.body(), now, place});
  });
  if (command)
    command->peer = peer;
  return command;
}

} // namespace codeq::protocol
