// SPDX-License-Identifier: Apache-2.0
#include "protocol/cluster_convert.hpp"

#include "encoding/shared_structs.hpp"
#include "protocol/shared_data.hpp"

#include <utility>

namespace codeq::protocol {

namespace {

using encoding::read_text;

template <class List>
capnp::uint length_of(const List& list) {
  return static_cast<capnp::uint>(list.size());
}

void write_node(schema::ClusterReply::Node::Builder to, const cluster_node& node) {
  to.setName(text_of(node.name));
  to.setAddress(text_of(node.address));
  to.setHttpAddress(text_of(node.http_address));
  to.setZone(text_of(node.zone));
  to.setPresent(node.is_present);
  to.setDraining(node.is_draining);
  to.setFreeBytes(node.free_bytes);
  to.setRefusesTasks(node.refuses_tasks);
  to.setEtcdSilentMs(node.etcd_silent.count());
  auto unreached = to.initUnreached(length_of(node.unreached));
  for (capnp::uint i = 0; i < unreached.size(); ++i)
    unreached.set(i, text_of(node.unreached[i]));
}

cluster_node read_node(schema::ClusterReply::Node::Reader from) {
  cluster_node node;
  node.name = read_text(from.getName());
  node.address = read_text(from.getAddress());
  node.http_address = read_text(from.getHttpAddress());
  node.zone = read_text(from.getZone());
  node.is_present = from.getPresent();
  node.is_draining = from.getDraining();
  node.free_bytes = from.getFreeBytes();
  node.refuses_tasks = from.getRefusesTasks();
  node.etcd_silent = duration{from.getEtcdSilentMs()};
  for (auto other : from.getUnreached())
    node.unreached.push_back(read_text(other));
  return node;
}

void write_copy(schema::ClusterReply::Copy::Builder to, const cluster_copy& copy) {
  to.setNode(text_of(copy.node));
  to.setInSync(copy.is_in_sync);
  to.setKnown(copy.is_known);
  to.setEpoch(copy.epoch);
  to.setPosition(copy.position);
  to.setLag(copy.lag);
}

cluster_copy read_copy(schema::ClusterReply::Copy::Reader from) {
  return {
    read_text(from.getNode()),
    from.getInSync(),
    from.getKnown(),
    from.getEpoch(),
    from.getPosition(),
    from.getLag()};
}

void write_shard(schema::ClusterReply::Shard::Builder to, const cluster_shard& shard) {
  to.setShard(value(shard.shard));
  to.setPrimary(text_of(shard.primary));
  to.setServed(shard.is_served);
  to.setEpoch(shard.epoch);
  to.setWaitsFor(text_of(shard.waits_for));
  to.setPinned(text_of(shard.pinned));
  auto copies = to.initCopies(length_of(shard.copies));
  for (capnp::uint i = 0; i < copies.size(); ++i)
    write_copy(copies[i], shard.copies[i]);
}

cluster_shard read_shard(schema::ClusterReply::Shard::Reader from) {
  cluster_shard shard;
  shard.shard = shard_id{from.getShard()};
  shard.primary = read_text(from.getPrimary());
  shard.is_served = from.getServed();
  shard.epoch = from.getEpoch();
  shard.waits_for = read_text(from.getWaitsFor());
  shard.pinned = read_text(from.getPinned());
  for (auto copy : from.getCopies())
    shard.copies.push_back(read_copy(copy));
  return shard;
}

result<cluster_change> read_change(schema::ClusterRequest::Reader from) {
  using kind = cluster_change::kind;
  switch (from.which()) {
  case schema::ClusterRequest::SHOW:
    return cluster_change{};
  case schema::ClusterRequest::MOVE: {
    auto move = from.getMove();
    return cluster_change{kind::move, shard_id{move.getShard()}, read_text(move.getNode())};
  }
  case schema::ClusterRequest::DRAIN:
    return cluster_change{kind::drain, {}, read_text(from.getDrain())};
  case schema::ClusterRequest::UNDRAIN:
    return cluster_change{kind::undrain, {}, read_text(from.getUndrain())};
  case schema::ClusterRequest::BALANCE:
    return cluster_change{kind::balance, {}, {}};
  case schema::ClusterRequest::FORCE_PRIMARY: {
    auto force = from.getForcePrimary();
    return cluster_change{
      kind::force_primary, shard_id{force.getShard()}, read_text(force.getNode()), 0,
      read_text(force.getConfirm())};
  }
  }
  return error{errc::protocol_error, "an unknown change of the cluster"};
}

} // namespace

cluster_request make_cluster_request(std::uint64_t number, const cluster_change& change) {
  return cluster_request::build([&](auto r) {
    r.setNumber(number);
    r.setOperation(change.operation);
    switch (change.what) {
    case cluster_change::kind::none:
      return r.setShow();
    case cluster_change::kind::move: {
      auto move = r.initMove();
      move.setShard(value(change.shard));
      return move.setNode(text_of(change.node));
    }
    case cluster_change::kind::drain:
      return r.setDrain(text_of(change.node));
    case cluster_change::kind::undrain:
      return r.setUndrain(text_of(change.node));
    case cluster_change::kind::balance:
      return r.setBalance();
    case cluster_change::kind::force_primary: {
      auto force = r.initForcePrimary();
      force.setShard(value(change.shard));
      force.setNode(text_of(change.node));
      return force.setConfirm(text_of(change.confirm));
    }
    }
  });
}

result<asked_cluster> read_cluster_request(const cluster_request& message) {
  return message.read([](schema::ClusterRequest::Reader from) -> result<asked_cluster> {
    auto change = read_change(from);
    if (!change)
      return change.error();
    change->operation = from.getOperation();
    return asked_cluster{from.getNumber(), std::move(*change)};
  });
}

cluster_reply make_cluster_reply(std::uint64_t number, const cluster_status& status) {
  constexpr std::size_t shard_words = 64;
  return cluster_reply::build(
    [&](auto r) {
      r.setNumber(number);
      r.setName(text_of(status.name));
      r.setNode(text_of(status.node));
      r.setCopies(status.copies);
      r.setMinInSync(status.min_in_sync);
      auto nodes = r.initNodes(length_of(status.nodes));
      for (capnp::uint i = 0; i < nodes.size(); ++i)
        write_node(nodes[i], status.nodes[i]);
      auto shards = r.initShards(length_of(status.shards));
      for (capnp::uint i = 0; i < shards.size(); ++i)
        write_shard(shards[i], status.shards[i]);
    },
    (status.shards.size() + status.nodes.size() + 1) * shard_words);
}

result<cluster_status> read_cluster_status(const cluster_reply& message) {
  return message.read([](auto from) -> result<cluster_status> {
    cluster_status status;
    status.name = read_text(from.getName());
    status.node = read_text(from.getNode());
    status.copies = from.getCopies();
    status.min_in_sync = from.getMinInSync();
    for (auto node : from.getNodes())
      status.nodes.push_back(read_node(node));
    for (auto shard : from.getShards())
      status.shards.push_back(read_shard(shard));
    return status;
  });
}

acting_for make_acting_for(const core::command_origin& origin) {
  return acting_for::build([&](auto r) {
    r.setSubject(text_of(origin.subject));
    r.setTenant(text_of(origin.tenant));
    r.setRemote(text_of(origin.remote));
    r.setAudited(origin.is_audited);
    r.setOperation(origin.operation);
  });
}

result<core::command_origin> read_acting_for(const acting_for& message) {
  return message.read([](auto from) -> result<core::command_origin> {
    core::command_origin origin;
    origin.operation = from.getOperation();
    origin.subject = read_text(from.getSubject());
    origin.tenant = read_text(from.getTenant());
    origin.remote = read_text(from.getRemote());
    origin.is_audited = from.getAudited();
    return origin;
  });
}

} // namespace codeq::protocol
