// SPDX-License-Identifier: Apache-2.0
#include "coordinator/replica/replica_wire.hpp"

#include "codeq/limits.hpp"

#include "coordinator/replica/neighbour_wire.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/bounds.hpp"
#include "protocol/frame.hpp"
#include "protocol/shared_data.hpp"
#include "replication.capnp.h"
#include "replication/bounds.hpp"
#include "storage/replica/packed_writes.hpp"

#include <map>
#include <string>
#include <utility>

namespace codeq::coordinator {

namespace bounds = replication::bounds;
using protocol::data_of;
using protocol::string_of;
using replication::position;
using replication::replica_id;

namespace {

constexpr std::size_t message_words = 128;

static_assert(
  static_cast<int>(copy_state::whole) == static_cast<int>(schema::ReplicaCopyState::WHOLE));

error refused(const char* what) {
  return {errc::protocol_error, std::string("a message of a replica has ") + what};
}

// Parts of messages.

void write(schema::ReplicaPosition::Builder to, position at) {
  to.setEpoch(at.epoch);
  to.setNumber(at.number);
}

position read(schema::ReplicaPosition::Reader from) {
  return {from.getEpoch(), from.getNumber()};
}

void write(schema::ReplicaCopyId::Builder to, const replication::copy_id& id) {
  to.setReplica(static_cast<std::uint64_t>(id.from));
  to.setIncarnation(id.incarnation);
  to.setNumber(id.number);
}

replication::copy_id read(schema::ReplicaCopyId::Reader from) {
  return {replica_id{from.getReplica()}, from.getIncarnation(), from.getNumber()};
}

void write(
  capnp::List<capnp::Data>::Builder to,
  shard_id shard,
  const std::vector<replication::entry>& entries) {
  for (capnp::uint i = 0; i < entries.size(); ++i)
    to.set(i, data_of(storage::encode(shard, entries[i])));
}

result<std::vector<replication::entry>>
read(capnp::List<capnp::Data>::Reader from, shard_id shard) {
  if (from.size() > bounds::message_entries)
    return refused("too many deltas");
  std::vector<replication::entry> entries;
  for (auto bytes : from) {
    auto e = storage::decode_entry(shard, string_of(bytes));
    if (!e)
      return e.error();
    entries.push_back(std::move(*e));
  }
  return entries;
}

void write(capnp::List<std::uint64_t>::Builder to, const std::vector<replica_id>& set) {
  for (capnp::uint i = 0; i < set.size(); ++i)
    to.set(i, static_cast<std::uint64_t>(set[i]));
}

result<std::vector<replica_id>> read(capnp::List<std::uint64_t>::Reader from) {
  if (from.size() > bounds::replicas)
    return refused("too many replicas");
  std::vector<replica_id> set;
  for (auto id : from)
    set.push_back(replica_id{id});
  return set;
}

// Messages.

/// Writes one message into the union.
struct message_writer {
  schema::ReplicaMessage::Builder to;
  shard_id shard;

  void operator()(const replication::append& m) {
    auto r = to.initAppend();
    r.setEpoch(m.epoch);
    r.setBeacon(m.beacon);
    r.setShardTimeMs(m.shard_time.time_since_epoch().count());
    write(r.initDeltas(static_cast<capnp::uint>(m.entries.size())), shard, m.entries);
  }

  void operator()(const replication::confirm& m) {
    auto r = to.initConfirm();
    r.setEpoch(m.epoch);
    r.setBeacon(m.beacon);
    write(r.initWritten(), m.written);
    r.setDoubtful(m.doubtful);
    r.setIncomplete(m.incomplete);
  }

  void operator()(const replication::reject& m) { to.initReject().setPromised(m.promised); }

  void operator()(const replication::copy_offer& m) {
    auto r = to.initCopyOffer();
    r.setEpoch(m.epoch);
    write(r.initId(), m.id);
    write(r.initLast(), m.log.last());
    auto begins = r.initBegins(static_cast<capnp::uint>(m.log.begins().size()));
    capnp::uint i = 0;
    for (const auto& [epoch, number] : m.log.begins())
      write(begins[i++], position{epoch, number});
  }

  void operator()(const replication::trust& m) {
    auto r = to.initTrust();
    r.setEpoch(m.epoch);
    write(r.initCommitted(), m.committed);
  }

  void operator()(const replication::collect& m) {
    auto r = to.initCollect();
    r.setEpoch(m.epoch);
    write(r.initLast(), m.last);
  }

  void operator()(const replication::collected& m) {
    auto r = to.initCollected();
    r.setEpoch(m.epoch);
    write(r.initLast(), m.last);
    write(r.initDeltas(static_cast<capnp::uint>(m.entries.size())), shard, m.entries);
    r.setGone(m.gone);
  }

  void operator()(const replication::question& m) { to.initQuestion().setNumber(m.number); }

  void operator()(const replication::answer& m) {
    auto r = to.initAnswer();
    r.setNumber(m.number);
    r.setPromised(m.promised);
    write(r.initLast(), m.last);
    r.setDoubtful(m.doubtful);
    r.setHearsPrimary(m.hears_primary);
  }

  void operator()(const replication::elected& m) {
    auto r = to.initElected();
    r.setVersion(m.value.version);
    r.setEpoch(m.value.epoch);
    r.setPrimary(static_cast<std::uint64_t>(m.value.primary));
    write(r.initInSync(static_cast<capnp::uint>(m.value.in_sync.size())), m.value.in_sync);
    write(r.initReplicas(static_cast<capnp::uint>(m.value.replicas.size())), m.value.replicas);
    r.setMinInSync(m.value.min_in_sync);
    r.setLossAccepted(m.value.condition == replication::shard_condition::loss_accepted);
  }

  void operator()(const replication::release& m) { to.initRelease().setEpoch(m.epoch); }

  void operator()(const copy_part& m) {
    auto r = to.initCopyPart();
    write(r.initId(), m.id);
    r.setNumber(m.number);
    r.setWrites(data_of(*m.packed));
    r.setIsLast(m.is_last);
  }

  void operator()(const copy_question& m) {
    auto r = to.initCopyQuestion();
    write(r.initId(), m.id);
    r.setParts(m.parts);
  }

  void operator()(const copy_answer& m) {
    auto r = to.initCopyAnswer();
    write(r.initId(), m.id);
    r.setParts(m.parts);
    r.setIsWhole(m.state == copy_state::whole);
    r.setState(static_cast<schema::ReplicaCopyState>(m.state));
    r.setArrived(m.arrived);
    r.setAsked(m.asked);
  }

  void operator()(const replication::message& m) { std::visit(*this, m); }

  void operator()(const copy_message& m) { std::visit(*this, m); }

  void operator()(const neighbour_message& m) { write_neighbour(to.initNeighbour(), shard, m); }
};

/// Messages are put in place, since GCC 12 warns of moved variants of variants.
using content = std::variant<replication::message, copy_message, neighbour_message>;

result<void> make(content& to, replication::message m) {
  to.emplace<replication::message>(std::move(m));
  return {};
}

result<void> make(content& to, copy_message m) {
  to.emplace<copy_message>(std::move(m));
  return {};
}

result<void> read(schema::NeighbourMessage::Reader from, shard_id shard, content& to) {
  auto m = read_neighbour(from, shard);
  if (!m)
    return m.error();
  to.emplace<neighbour_message>(std::move(*m));
  return {};
}

result<void> read(schema::ReplicaAppend::Reader from, shard_id shard, content& to) {
  auto entries = read(from.getDeltas(), shard);
  if (!entries)
    return entries.error();
  return make(to, replication::append{
    from.getEpoch(),
    from.getBeacon(),
    std::move(*entries),
    timestamp{duration{from.getShardTimeMs()}}});
}

result<void> read(schema::ReplicaCollected::Reader from, shard_id shard, content& to) {
  auto entries = read(from.getDeltas(), shard);
  if (!entries)
    return entries.error();
  return make(to, replication::collected{
    from.getEpoch(), read(from.getLast()), std::move(*entries), from.getGone()});
}

result<void> read(schema::ReplicaCopyOffer::Reader from, content& to) {
  const auto last = read(from.getLast());
  if (from.getBegins().size() > replication::epoch_index::epochs_max)
    return refused("too many epochs");
  std::map<replication::epoch_number, std::uint64_t> begins;
  for (auto start : from.getBegins())
    begins.emplace(start.getEpoch(), start.getNumber());
  for (const auto& [epoch, number] : begins)
    if (epoch > last.epoch || number > last.number)
      return refused("an epoch that begins after its last delta");
  return make(to, replication::copy_offer{
    from.getEpoch(), read(from.getId()), replication::epoch_index(std::move(begins), last)});
}

result<void> read(schema::ReplicaElected::Reader from, content& to) {
  auto in_sync = read(from.getInSync());
  auto replicas = read(from.getReplicas());
  if (!in_sync || !replicas)
    return (in_sync ? replicas : in_sync).error();
  replication::elected m;
  m.value.version = from.getVersion();
  m.value.epoch = from.getEpoch();
  m.value.primary = replica_id{from.getPrimary()};
  m.value.in_sync = std::move(*in_sync);
  m.value.replicas = std::move(*replicas);
  m.value.min_in_sync = from.getMinInSync();
  if (from.getLossAccepted())
    m.value.condition = replication::shard_condition::loss_accepted;
  return make(to, m);
}

result<void> read(schema::ReplicaCopyPart::Reader from, shard_id shard, content& to) {
  auto packed = string_of(from.getWrites());
  if (from.getIsLast() != packed.empty())
    return refused("a part of a copy without writes, or a last one with some");
  if (auto writes = storage::unpack(packed, shard); !writes)
    return writes.error();
  return make(to, copy_part{
    read(from.getId()),
    from.getNumber(),
    std::make_shared<const std::string>(std::move(packed)),
    from.getIsLast()});
}

result<void> read(schema::ReplicaCopyAnswer::Reader r, content& to) {
  if (r.getState() > schema::ReplicaCopyState::WHOLE)
    return refused("an unknown state of a copy");
  const auto state =
    r.getIsWhole() ? copy_state::whole : static_cast<copy_state>(r.getState());
  return make(
    to, copy_answer{read(r.getId()), state, r.getParts(), r.getArrived(), r.getAsked()});
}

result<void> read(schema::ReplicaConfirm::Reader r, content& to) {
  return make(to, replication::confirm{
    r.getEpoch(), r.getBeacon(), read(r.getWritten()), r.getDoubtful(), r.getIncomplete()});
}

result<void> read(schema::ReplicaAnswer::Reader r, content& to) {
  return make(to, replication::answer{
    r.getNumber(), r.getPromised(), read(r.getLast()), r.getDoubtful(), r.getHearsPrimary()});
}

result<void> read(schema::ReplicaMessage::Reader from, shard_id shard, content& to) {
  using kind = schema::ReplicaMessage;
  switch (from.which()) {
  case kind::APPEND:
    return read(from.getAppend(), shard, to);
  case kind::CONFIRM:
    return read(from.getConfirm(), to);
  case kind::REJECT:
    return make(to, replication::reject{from.getReject().getPromised()});
  case kind::COPY_OFFER:
    return read(from.getCopyOffer(), to);
  case kind::TRUST:
    return make(to, 
      replication::trust{from.getTrust().getEpoch(), read(from.getTrust().getCommitted())});
  case kind::COLLECT:
    return make(to, 
      replication::collect{from.getCollect().getEpoch(), read(from.getCollect().getLast())});
  case kind::COLLECTED:
    return read(from.getCollected(), shard, to);
  case kind::QUESTION:
    return make(to, replication::question{from.getQuestion().getNumber()});
  case kind::ANSWER:
    return read(from.getAnswer(), to);
  case kind::ELECTED:
    return read(from.getElected(), to);
  case kind::RELEASE:
    return make(to, replication::release{from.getRelease().getEpoch()});
  case kind::COPY_PART:
    return read(from.getCopyPart(), shard, to);
  case kind::COPY_QUESTION:
    return make(to, copy_question{
      read(from.getCopyQuestion().getId()), from.getCopyQuestion().getParts()});
  case kind::COPY_ANSWER:
    return read(from.getCopyAnswer(), to);
  case kind::NEIGHBOUR:
    return read(from.getNeighbour(), shard, to);
  }
  return refused("an unknown kind");
}

// News about ready tasks.

void write(schema::ReadyHeads::Builder to, const head_news& news) {
  to.setIsWhole(news.is_whole);
  auto heads = to.initHeads(static_cast<capnp::uint>(news.heads.size()));
  for (capnp::uint i = 0; i < news.heads.size(); ++i) {
    const auto& [queue, head] = news.heads[i];
    encoding::write_queue(heads[i].initQueue(), queue);
    if (!head)
      continue;
    const auto at = head->head.enqueued_at;
    heads[i].setIsReady(true);
    heads[i].setPriority(head->head.priority);
    heads[i].setIsTurn(core::is_turn(at));
    heads[i].setEnqueuedAtMs(core::is_turn(at) ? 0 : at.time_since_epoch().count());
    heads[i].setShard(value(head->shard));
  }
}

result<queue_head> read(schema::ReadyHead::Reader from) {
  queue_head read{encoding::read_queue(from.getQueue())};
  if (auto ok = protocol::check_queue(read.queue); !ok)
    return ok.error();
  if (!from.getIsReady())
    return read;
  const auto ms = from.getEnqueuedAtMs();
  const timestamp at{duration{ms}};
  if (from.getPriority() > limits::priority_max || ms < 0 || core::is_turn(at))
    return refused("a ready task out of bounds");
  read.head = core::rival_head{
    {from.getPriority(), from.getIsTurn() ? core::time_of_turn(0) : at},
    shard_id{from.getShard()}};
  return read;
}

result<head_news> read(schema::ReadyHeads::Reader from) {
  if (from.getHeads().size() > head_news::queues_max)
    return refused("too many ready tasks");
  head_news news;
  news.is_whole = from.getIsWhole();
  for (auto one : from.getHeads()) {
    auto head = read(one);
    if (!head)
      return head.error();
    news.heads.push_back(std::move(*head));
  }
  return news;
}

} // namespace

bytes encode(const shard_message& m) {
  const auto* told = std::get_if<neighbour_message>(&m.content);
  return protocol::frame<schema::ReplicaMessage>::build(
           [&](auto r) {
             r.setShard(value(m.shard));
             r.setFrom(static_cast<std::uint64_t>(m.from));
             r.setTo(static_cast<std::uint64_t>(m.to));
             std::visit(message_writer{r, m.shard}, m.content);
           },
           message_words + (told ? neighbour_words(*told) : 0))
    .body();
}

result<shard_message> decode_shard_message(const bytes& body) {
  auto parsed = protocol::frame<schema::ReplicaMessage>::parse(body);
  if (!parsed)
    return parsed.error();
  return parsed->read([](auto r) -> result<shard_message> {
    shard_message m;
    m.shard = shard_id{r.getShard()};
    m.from = replica_id{r.getFrom()};
    m.to = replica_id{r.getTo()};
    if (auto ok = read(r, m.shard, m.content); !ok)
      return ok.error();
    return m;
  });
}

bytes encode_frame(std::span<const bytes> messages, const head_news* news) {
  std::string all;
  for (const auto& m : messages)
    all += m.view();
  constexpr std::size_t head_words = 24;
  auto words = 16 + messages.size() + all.size() / sizeof(capnp::word)
               + (news ? news->heads.size() * head_words : 0);
  return protocol::frame<schema::ReplicaFrame>::build(
           [&](auto r) {
             auto ends = r.initEnds(static_cast<capnp::uint>(messages.size()));
             std::uint32_t end = 0;
             for (capnp::uint i = 0; i < messages.size(); ++i)
               ends.set(i, end += static_cast<std::uint32_t>(messages[i].size()));
             r.setMessages(data_of(all));
             if (news)
               write(r.initHeads(), *news);
           },
           words)
    .body();
}

result<replica_frame> decode_frame(const bytes& body) {
  auto parsed = protocol::frame<schema::ReplicaFrame>::parse(body);
  if (!parsed)
    return parsed.error();
  return parsed->read([&](auto r) -> result<replica_frame> {
    const auto all = protocol::share(body, r.getMessages());
    if (r.getEnds().size() > bounds::frame_messages)
      return refused("too many neighbours in its frame");
    replica_frame frame;
    std::uint32_t begin = 0;
    for (auto end : r.getEnds()) {
      if (end <= begin || end > all.size())
        return refused("an end outside of its frame");
      frame.messages.push_back(all.slice(begin, end - begin));
      begin = end;
    }
    if (begin != all.size())
      return refused("bytes that belong to no message behind it");
    if (!r.hasHeads())
      return frame;
    auto news = read(r.getHeads());
    if (!news)
      return news.error();
    frame.news = std::move(*news);
    return frame;
  });
}

} // namespace codeq::coordinator
