// SPDX-License-Identifier: Apache-2.0
#include "coordinator/replica/neighbour_wire.hpp"

#include "base/assert.hpp"
#include "coordinator/replica/permit_wire.hpp"
#include "encoding/operator_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/shared_data.hpp"
#include "storage/records/record_codec.hpp"

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::coordinator {

namespace {

/// Words of a message beside its lists and bodies, and of a run of follow-ups beside its tasks.
constexpr std::size_t fixed_words = 64;
constexpr std::size_t run_words = 128;

constexpr std::size_t setting_words = 16;

std::string record_of(const core::carried_queue& one) {
  return storage::encode(core::queue_configured{0, one.resumed_at, one.queue, one.settings});
}

std::string record_of(const core::carried_limit& one) {
  return storage::encode(core::limit_defined{0, {}, one.limit, one.definition});
}

const std::string& name_of(const core::carried_queue& one) {
  return one.queue.queue;
}

const std::string& name_of(const core::carried_limit& one) {
  return one.limit.name;
}

const std::string& tenant_of(const core::carried_queue& one) {
  return one.queue.tenant;
}

const std::string& tenant_of(const core::carried_limit& one) {
  return one.limit.tenant;
}

template <class Carried>
void write(
  capnp::List<schema::NeighbourMessage::Setting>::Builder to, const std::vector<Carried>& all) {
  for (capnp::uint i = 0; i < all.size(); ++i) {
    to[i].setTenant(tenant_of(all[i]));
    to[i].setName(name_of(all[i]));
    to[i].setRecord(protocol::data_of(record_of(all[i])));
  }
}

template <class Carried>
std::size_t words_of(const std::vector<Carried>& all) {
  std::size_t bytes = 0;
  for (const auto& one : all)
    bytes += tenant_of(one).size() + name_of(one).size() + record_of(one).size();
  return all.size() * setting_words + bytes / sizeof(capnp::word);
}

void write_tasks(capnp::List<std::uint64_t>::Builder to, const std::vector<sequence>& tasks) {
  for (capnp::uint i = 0; i < tasks.size(); ++i)
    to.set(i, tasks[i]);
}

std::vector<sequence> read_tasks(capnp::List<std::uint64_t>::Reader from) {
  std::vector<sequence> tasks;
  tasks.reserve(from.size());
  for (auto seq : from)
    tasks.push_back(seq);
  return tasks;
}

/// Writes one command into the union.
struct command_writer {
  schema::NeighbourMessage::Builder out;
  shard_id to;

  void operator()(const core::take_follow_ups& c) {
    auto r = out.initFollowUps();
    r.setNumber(c.number);
    r.setAnsweredBelow(c.answered_below);
    core::follow_ups_sent record{c.number, {}, {}};
    for (const auto& run : c.runs)
      record.tasks.push_back({to, run});
    r.setRecord(protocol::data_of(storage::encode(record)));
  }

  void operator()(const core::confirm_follow_ups& c) {
    auto r = out.initTaken();
    r.setNumber(c.number);
    write_tasks(r.initTasks(static_cast<capnp::uint>(c.tasks.size())), c.tasks);
  }

  void operator()(const core::watch_ends& c) {
    write_tasks(out.initWatchEnds(static_cast<capnp::uint>(c.tasks.size())), c.tasks);
  }

  void operator()(const core::note_ends& c) {
    auto list = out.initEnds(static_cast<capnp::uint>(c.ends.size()));
    for (capnp::uint i = 0; i < c.ends.size(); ++i) {
      list[i].setTask(c.ends[i].seq);
      list[i].setHow(encoding::to_schema(c.ends[i].how));
    }
  }

  void operator()(const core::cancel& c) { out.setCancel(c.seq); }

  void operator()(const core::adopt_settings& c) {
    auto r = out.initSettings();
    r.setVersion(c.version);
    r.setPart(c.part);
    r.setIsLast(c.is_last);
    write(r.initQueues(static_cast<capnp::uint>(c.queues.size())), c.queues);
    write(r.initLimits(static_cast<capnp::uint>(c.limits.size())), c.limits);
  }

  void operator()(const core::settings_adopted& c) { out.setSettingsTaken(c.version); }

  void operator()(const core::pause_queue& c) {
    auto r = out.initPause();
    encoding::write_queue(r.initQueue(), c.queue);
    r.setReason({c.breaker_reason.data(), c.breaker_reason.size()});
  }

  void operator()(const core::ask_permits& c) { write_permits(out.initAskPermits(), c); }

  void operator()(const core::give_permits& c) { write_permits(out.initGivePermits(), c); }

  template <class Command>
  void operator()(const Command&) {
    CODEQ_ASSERT(!"a command that is not one between shards");
  }
};

result<core::command>
read(schema::NeighbourMessage::FollowUps::Reader in, shard_id from, shard_id to) {
  auto record = storage::decode_follow_ups(protocol::string_of(in.getRecord()));
  if (!record)
    return record.error();
  core::take_follow_ups taken{from, in.getNumber(), in.getAnsweredBelow(), {}};
  for (auto& task : record->tasks) {
    if (task.shard != to)
      return error{errc::protocol_error, "a follow-up of another shard than the message is for"};
    taken.runs.push_back(std::move(task.run));
  }
  if (taken.runs.empty())
    return error{errc::protocol_error, "a message has no follow-ups"};
  return core::command(std::move(taken));
}

result<core::command>
read(capnp::List<schema::NeighbourMessage::End>::Reader in, shard_id from) {
  core::note_ends noted{from, {}};
  for (auto end : in) {
    if (!encoding::is_known<occurrence_state>(end.getHow()))
      return error{errc::protocol_error, "a message tells an end of an unknown kind"};
    noted.ends.push_back({end.getTask(), encoding::from_schema<occurrence_state>(end.getHow())});
  }
  return core::command(std::move(noted));
}

result<core::command> read(schema::NeighbourMessage::Settings::Reader in, shard_id from) {
  core::adopt_settings all{from, in.getVersion(), {}, {}, in.getPart(), in.getIsLast()};
  const auto count = in.getQueues().size() + in.getLimits().size();
  if (count > core::carried_part_max)
    return error{
      errc::protocol_error,
      "a message carries " + std::to_string(count) + " settings, at most "
        + std::to_string(core::carried_part_max) + " are allowed"};
  for (auto one : in.getQueues()) {
    const queue_address queue{
      encoding::read_text(one.getTenant()), encoding::read_text(one.getName())};
    auto record = storage::decode_queue(protocol::string_of(one.getRecord()), queue);
    if (!record)
      return record.error();
    all.queues.push_back({queue, record->settings, record->at});
  }
  for (auto one : in.getLimits()) {
    const limit_address limit{
      encoding::read_text(one.getTenant()), encoding::read_text(one.getName())};
    auto record = storage::decode_limit(protocol::string_of(one.getRecord()), limit);
    if (!record)
      return record.error();
    if (!record->definition)
      return error{errc::protocol_error, "a message carries a limit without a definition"};
    all.limits.push_back({limit, *record->definition});
  }
  return core::command(std::move(all));
}

result<core::command> read(schema::NeighbourMessage::Pause::Reader in) {
  core::pause_queue c{0, 0, encoding::read_queue(in.getQueue()), true};
  c.breaker_reason = encoding::read_text(in.getReason());
  if (c.breaker_reason.empty())
    return error{errc::protocol_error, "a message pauses a queue without a reason"};
  return core::command(std::move(c));
}

result<core::command> read(schema::NeighbourMessage::Reader in, shard_id from, shard_id to) {
  using kind = schema::NeighbourMessage;
  switch (in.which()) {
  case kind::FOLLOW_UPS:
    return read(in.getFollowUps(), from, to);
  case kind::TAKEN:
    return core::command(core::confirm_follow_ups{
      from, in.getTaken().getNumber(), read_tasks(in.getTaken().getTasks())});
  case kind::WATCH_ENDS:
    return core::command(core::watch_ends{from, read_tasks(in.getWatchEnds())});
  case kind::ENDS:
    return read(in.getEnds(), from);
  case kind::CANCEL:
    return core::command(core::cancel{0, 0, in.getCancel()});
  case kind::SETTINGS:
    return read(in.getSettings(), from);
  case kind::SETTINGS_TAKEN:
    return core::command(core::settings_adopted{from, in.getSettingsTaken()});
  case kind::PAUSE:
    return read(in.getPause());
  case kind::ASK_PERMITS:
    return read_permits(in.getAskPermits(), from);
  case kind::GIVE_PERMITS:
    return read_permits(in.getGivePermits(), from);
  }
  return error{errc::protocol_error, "a message between shards has an unknown kind"};
}

} // namespace

void write_neighbour(
  schema::NeighbourMessage::Builder out, shard_id to, const neighbour_message& m) {
  out.setShard(value(m.from));
  out.setEpoch(m.epoch);
  std::visit(command_writer{out, to}, m.what);
}

std::size_t neighbour_words(const neighbour_message& m) {
  auto words = fixed_words;
  if (const auto* c = std::get_if<core::take_follow_ups>(&m.what))
    for (const auto& run : c->runs)
      words += run_words + run.tasks.count() + run.tasks.body.size() / sizeof(capnp::word);
  if (const auto* c = std::get_if<core::confirm_follow_ups>(&m.what))
    words += c->tasks.size();
  if (const auto* c = std::get_if<core::watch_ends>(&m.what))
    words += c->tasks.size();
  if (const auto* c = std::get_if<core::note_ends>(&m.what))
    words += 2 * c->ends.size();
  if (const auto* c = std::get_if<core::adopt_settings>(&m.what))
    words += words_of(c->queues) + words_of(c->limits);
  if (const auto* c = std::get_if<core::ask_permits>(&m.what))
    words += permit_words(*c);
  if (const auto* c = std::get_if<core::give_permits>(&m.what))
    words += permit_words(*c);
  return words;
}

result<neighbour_message> read_neighbour(schema::NeighbourMessage::Reader in, shard_id to) {
  const shard_id from{in.getShard()};
  auto what = read(in, from, to);
  if (!what)
    return what.error();
  return neighbour_message{from, in.getEpoch(), std::move(*what)};
}

} // namespace codeq::coordinator
