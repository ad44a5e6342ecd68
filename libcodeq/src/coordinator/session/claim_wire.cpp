// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/claim_wire.hpp"

#include "codeq/limits.hpp"

#include "encoding/shared_structs.hpp"
#include "protocol/bounds.hpp"
#include "protocol/error_code.hpp"
#include "protocol/shared_data.hpp"

#include <algorithm>
#include <string>

namespace codeq::coordinator {

namespace {

using step_builder = schema::ClaimAt::Builder;
using news_builder = schema::ClaimNews::Builder;
using news_kind = schema::ClaimNews::Credits::What;
using address_list = capnp::List<schema::QueueAddress>;

constexpr std::pair<credit_news::kind, news_kind> news_kinds[] = {
  {credit_news::kind::drained, news_kind::DRAINED},
  {credit_news::kind::has_work, news_kind::HAS_WORK},
  {credit_news::kind::returned, news_kind::RETURNED},
  {credit_news::kind::outranked, news_kind::OUTRANKED}};

template <class Builder>
void write_place(Builder to, const claim_place& place) {
  to.setClaim(place.claim);
  to.setAttachment(place.attachment);
  to.setShard(value(place.shard));
}

template <class Reader>
claim_place read_place(Reader from) {
  return {from.getClaim(), from.getAttachment(), shard_id{from.getShard()}};
}

void write_addresses(address_list::Builder to, const std::vector<queue_address>& queues) {
  for (capnp::uint i = 0; i < to.size(); ++i)
    encoding::write_queue(to[i], queues[i]);
}

capnp::uint size_of(const std::vector<queue_address>& queues) {
  return static_cast<capnp::uint>(queues.size());
}

void write_step(step_builder to, const claim_attached& step) {
  auto attach = to.initAttach();
  attach.setWorker(step.worker->name);
  attach.setIncarnation(step.worker->incarnation);
  write_addresses(attach.initQueues(size_of(step.queues)), step.queues);
  write_addresses(attach.initPrefixes(size_of(step.prefixes)), step.prefixes);
}

void write_step(step_builder to, const core::claim& step) {
  auto credits = to.initCredits();
  credits.setCount(step.credits);
  credits.setLeaseMs(static_cast<std::uint64_t>(step.lease.count()));
  credits.setRoomBytes(static_cast<std::uint64_t>(std::max(std::int64_t{0}, step.bytes)));
  credits.setReachesAll(step.reaches_all);
}

void write_step(step_builder to, const core::revoke_credits& step) {
  to.setRevoke(step.credits);
}

void write_step(step_builder to, const claim_question& step) {
  to.setQuestion(step.number);
}

void write_step(step_builder to, const claim_received& step) {
  to.setReceived(step.messages);
}

void write_step(step_builder to, const claim_detached&) {
  to.setDetach();
}

/// A prefix may be empty, a name may not.
result<std::vector<queue_address>>
read_addresses(address_list::Reader from, std::size_t most, bool are_prefixes) {
  if (from.size() > most)
    return protocol::malformed(
      std::to_string(from.size()) + " queues of a claim; the limit is " + std::to_string(most));
  std::vector<queue_address> queues;
  for (auto queue : from) {
    queues.push_back(encoding::read_queue(queue));
    const auto& [tenant, name] = queues.back();
    auto ok = protocol::check_name("tenant", tenant);
    if (ok && !(are_prefixes && name.empty()))
      ok = protocol::check_name("queue", name);
    if (!ok)
      return ok.error();
  }
  return queues;
}

result<claim_step> read_attach(schema::ClaimAt::Attach::Reader from) {
  auto queues = read_addresses(from.getQueues(), limits::queues_per_worker_max, false);
  auto prefixes =
    read_addresses(from.getPrefixes(), limits::queue_patterns_per_worker_max, true);
  if (!queues || !prefixes)
    return (queues ? prefixes : queues).error();
  if (queues->empty() && prefixes->empty())
    return protocol::malformed("a claim from no queue");
  // It is made of the names of a tenant and a subject.
  constexpr auto worker_bytes_max = 3 * limits::name_bytes_max;
  if (auto ok = protocol::check_size("worker", from.getWorker().size(), worker_bytes_max); !ok)
    return ok.error();
  auto worker = std::make_shared<const worker_identity>(
    worker_identity{encoding::read_text(from.getWorker()), from.getIncarnation()});
  return claim_step{claim_attached{std::move(worker), std::move(*queues), std::move(*prefixes)}};
}

result<claim_step> read_credits(schema::ClaimAt::Credits::Reader from) {
  constexpr auto lease_most = static_cast<std::uint64_t>(duration{limits::lease_max}.count());
  if (from.getCount() > limits::slots_max || from.getLeaseMs() > lease_most)
    return protocol::malformed(
      "a claim of " + std::to_string(from.getCount()) + " tasks for "
      + std::to_string(from.getLeaseMs()) + " ms; the limits are "
      + std::to_string(limits::slots_max) + " and " + std::to_string(lease_most));
  constexpr auto room_most = static_cast<std::uint64_t>(core::unbounded_bytes);
  return claim_step{core::claim{
    0, from.getCount(), duration{static_cast<duration::rep>(from.getLeaseMs())}, 0,
    static_cast<std::int64_t>(std::min(from.getRoomBytes(), room_most)),
    from.getReachesAll()}};
}

result<claim_step> read_step(schema::ClaimAt::Reader from) {
  switch (from.which()) {
  case schema::ClaimAt::ATTACH:
    return read_attach(from.getAttach());
  case schema::ClaimAt::CREDITS:
    return read_credits(from.getCredits());
  case schema::ClaimAt::REVOKE:
    return claim_step{core::revoke_credits{0, from.getRevoke()}};
  case schema::ClaimAt::QUESTION:
    return claim_step{claim_question{from.getQuestion()}};
  case schema::ClaimAt::RECEIVED:
    return claim_step{claim_received{from.getReceived()}};
  case schema::ClaimAt::DETACH:
    return claim_step{claim_detached{}};
  }
  return protocol::malformed("an unknown step of a claim");
}

void write_event(news_builder to, const credit_news& news) {
  auto credits = to.initCredits();
  const auto* kind = std::find_if(
    std::begin(news_kinds), std::end(news_kinds),
    [&](const auto& pair) { return pair.first == news.what; });
  credits.setWhat(kind->second);
  credits.setCount(news.credits);
  credits.setBy(value(news.by));
  credits.setPriority(news.priority);
  credits.setBeingRead(news.being_read);
}

void write_event(news_builder to, const claim_tasks& tasks) {
  auto written = to.initTasks();
  written.setBatch(protocol::data_of(tasks.batch.view()));
  written.setBytes(tasks.room);
  written.setTellsMore(tasks.more.has_value());
  written.setMore(tasks.more.value_or(false));
  written.setWasRead(tasks.was_read);
}

void write_event(news_builder to, const claim_answer& answer) {
  auto written = to.initAnswer();
  written.setNumber(answer.number);
  written.setAwaitsSlots(answer.awaits_slots);
  written.setLacksCopies(answer.lacks_copies);
}

void write_event(news_builder to, const claim_left& left) {
  auto written = to.initLeft();
  written.setCode(protocol::to_schema(left.reason.code));
  written.setContext(left.reason.context);
}

result<claim_event> read_credit_news(shard_id shard, schema::ClaimNews::Credits::Reader from) {
  const auto* kind = std::find_if(
    std::begin(news_kinds), std::end(news_kinds),
    [&](const auto& pair) { return pair.second == from.getWhat(); });
  if (kind == std::end(news_kinds))
    return protocol::malformed("unknown news of credits");
  credit_news news{shard, kind->first, from.getCount()};
  news.by = shard_id{from.getBy()};
  news.priority = from.getPriority();
  news.being_read = from.getBeingRead();
  return claim_event{news};
}

result<claim_event> read_event(const bytes& body, schema::ClaimNews::Reader from) {
  switch (from.which()) {
  case schema::ClaimNews::CREDITS:
    return read_credit_news(shard_id{from.getShard()}, from.getCredits());
  case schema::ClaimNews::TASKS: {
    auto tasks = from.getTasks();
    auto more = tasks.getTellsMore() ? std::optional{tasks.getMore()} : std::nullopt;
    return claim_event{claim_tasks{
      protocol::share(body, tasks.getBatch()), tasks.getBytes(), more, tasks.getWasRead()}};
  }
  case schema::ClaimNews::ANSWER: {
    auto answer = from.getAnswer();
    return claim_event{
      claim_answer{answer.getNumber(), answer.getAwaitsSlots(), answer.getLacksCopies()}};
  }
  case schema::ClaimNews::LEFT: {
    auto left = from.getLeft();
    return claim_event{claim_left{
      {protocol::from_schema(left.getCode()), encoding::read_text(left.getContext())}}};
  }
  }
  return protocol::malformed("unknown news of a claim");
}

/// The number of tasks of a batch that was just written.
std::uint32_t count_tasks(const protocol::wire_frame& frame) {
  auto batch = protocol::task_batch::parse(frame.body);
  auto sum = batch->read([](auto reader) -> result<std::uint32_t> {
    std::uint32_t tasks = 0;
    for (auto run : reader.getRuns())
      tasks += run.getCount();
    return tasks;
  });
  return *sum;
}

} // namespace

protocol::claim_at make_claim_at(const claim_place& at, const claim_step& step) {
  return protocol::claim_at::build([&](auto message) {
    write_place(message, at);
    std::visit([&](const auto& one) { write_step(message, one); }, step);
  });
}

result<std::pair<claim_place, claim_step>>
read_claim_at(const protocol::claim_at& message, std::size_t shard_count) {
  return message.read([&](auto reader) -> result<std::pair<claim_place, claim_step>> {
    auto place = read_place(reader);
    if (value(place.shard) >= shard_count)
      return protocol::malformed(
        "a claim at shard " + std::to_string(value(place.shard)) + " of "
        + std::to_string(shard_count) + " shards");
    auto step = read_step(reader);
    if (!step)
      return step.error();
    return std::pair{place, std::move(*step)};
  });
}

protocol::claim_news make_claim_news(const claim_place& to, const claim_event& what) {
  constexpr std::size_t other_words = 64;
  const auto* tasks = std::get_if<claim_tasks>(&what);
  return protocol::claim_news::build(
    [&](auto message) {
      write_place(message, to);
      std::visit([&](const auto& one) { write_event(message, one); }, what);
    },
    (tasks ? tasks->batch.size() / sizeof(capnp::word) : 0) + other_words);
}

void write_claim_tasks(
  const claim_place& to, const task_delivery& tasks, const claim_tasks_writer& write) {
  std::vector<bytes> batches;
  std::vector<std::uint32_t> counts;
  protocol::write_tasks(
    tasks.shard, tasks.granted, tasks.bodies,
    [&](const protocol::wire_frame& frame) {
      batches.push_back(frame.body);
      counts.push_back(count_tasks(frame));
    });
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const bool is_last = i + 1 == batches.size();
    claim_tasks part{std::move(batches[i])};
    part.room = is_last ? tasks.granted.bytes : 0;
    part.more = is_last ? tasks.more : std::nullopt;
    part.was_read = !tasks.more.has_value();
    write(counts[i], make_claim_news(to, part).to_wire());
  }
}

result<std::pair<claim_place, claim_event>> read_claim_news(const protocol::claim_news& message) {
  return message.read([&](auto reader) -> result<std::pair<claim_place, claim_event>> {
    auto event = read_event(message.body(), reader);
    if (!event)
      return event.error();
    return std::pair{read_place(reader), std::move(*event)};
  });
}

std::vector<core::task_lease> granted_leases(const core::tasks_granted& granted) {
  std::vector<core::task_lease> leases;
  for (const auto& run : granted.runs)
    for (std::uint32_t i = 0; i < run.count; ++i)
      leases.push_back({run.first + i, static_cast<fencing_token>(value(run.first_token) + i)});
  return leases;
}

} // namespace codeq::coordinator
