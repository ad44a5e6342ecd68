// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "encoding/limit_structs.hpp"
#include "encoding/schema_enums.hpp"
#include "protocol/shared_data.hpp"
#include "protocol/version.hpp"
#include "worker/node/wire.hpp"

#include <algorithm>
#include <string>

namespace codeq::worker {

namespace {

schema::LeasePhase to_schema(lease_phase phase) {
  return phase == lease_phase::queued ? schema::LeasePhase::QUEUED : schema::LeasePhase::RUNNING;
}

void fill_beat(schema::HeartbeatRequest::Beat::Builder line, const beat& from) {
  line.setSeq(from.seq);
  line.setToken(value(from.key.token));
  line.setPhase(to_schema(from.phase));
  line.setProgressed(from.progressed);
  line.setExtendMs(static_cast<std::uint64_t>(from.extend.count()));
}

protocol::heartbeat_request make_heartbeat(std::span<const beat> beats, std::uint64_t number) {
  return protocol::heartbeat_request::build(
    [&](schema::HeartbeatRequest::Builder root) {
      root.setShard(value(beats.front().key.shard));
      root.setNumber(number);
      auto lines = root.initLeases(static_cast<unsigned>(beats.size()));
      for (unsigned i = 0; i < lines.size(); ++i)
        fill_beat(lines[i], beats[i]);
    },
    beats.size() * 4 + 16);
}

void fill_progress(schema::HeartbeatRequest::Progress::Builder to, const progress_of& from) {
  to.setSeq(from.lease.seq);
  to.setToken(value(from.lease.key.token));
  to.setPercent(static_cast<std::uint8_t>(from.line->percent));
  to.setNote(from.line->note);
}

void fill_checkpoint(schema::LeaseCheckpoint::Builder to, const progress_of& from) {
  to.setSeq(from.lease.seq);
  to.setToken(value(from.lease.key.token));
  to.setNumber(from.checkpoint->number);
  to.setData(protocol::data_of(from.checkpoint->data.view()));
}

std::size_t checkpoint_bytes(const progress_of& said) {
  return said.checkpoint ? said.checkpoint->data.size() : 0;
}

protocol::heartbeat_request
make_progress_of_shard(std::span<const progress_of> said, std::uint64_t number) {
  auto has_line = [](const progress_of& each) { return each.line.has_value(); };
  auto count = std::count_if(said.begin(), said.end(), has_line);
  auto has_checkpoint = [](const progress_of& each) { return each.checkpoint.has_value(); };
  auto checkpoint_count = std::count_if(said.begin(), said.end(), has_checkpoint);
  return protocol::heartbeat_request::build([&](schema::HeartbeatRequest::Builder root) {
    root.setShard(value(said.front().lease.key.shard));
    root.setNumber(number);
    auto beats = root.initLeases(static_cast<unsigned>(said.size()));
    auto lines = root.initProgress(static_cast<unsigned>(count));
    auto checkpoints = root.initCheckpoints(static_cast<unsigned>(checkpoint_count));
    unsigned next = 0;
    unsigned next_snapshot = 0;
    for (unsigned i = 0; i < beats.size(); ++i) {
      fill_beat(beats[i], said[i].lease);
      if (said[i].line)
        fill_progress(lines[next++], said[i]);
      if (said[i].checkpoint)
        fill_checkpoint(checkpoints[next_snapshot++], said[i]);
    }
  });
}

void fill_report(schema::ResultRequest::Report::Builder line, const report& made) {
  line.setSeq(made.seq);
  line.setToken(value(made.key.token));
  line.setDisposition(encoding::to_schema(made.what));
  line.setDelayMs(made.delay ? made.delay->count() : -1);
  line.setStarted(made.started);
  if (made.checkpoint.number != 0) {
    line.setCheckpointNumber(made.checkpoint.number);
    line.setCheckpoint(protocol::data_of(made.checkpoint.data.view()));
  }
  if (made.follow_ups)
    made.follow_ups->write_follow_ups(line.initFollowUps());
  if (!made.limit_name.empty())
    line.setLimitName(made.limit_name);
  if (!made.costs.empty())
    encoding::write_limits(line.initCosts(static_cast<unsigned>(made.costs.size())), made.costs);
}

void fill_texts(schema::Packed::Builder packed, const outbox::batch& batch, std::size_t total) {
  auto ends = packed.initEnds(static_cast<unsigned>(batch.reports.size()));
  auto data = packed.initBytes(static_cast<unsigned>(total));
  std::size_t at = 0;
  for (unsigned i = 0; i < ends.size(); ++i) {
    const auto& text = batch.reports[i]->text;
    std::copy(text.begin(), text.end(), reinterpret_cast<char*>(data.begin()) + at);
    at += text.size();
    ends.set(i, static_cast<std::uint32_t>(at));
  }
}

void fill_queues(
  capnp::List<schema::QueueAddress>::Builder to,
  const std::string& tenant,
  std::span<const std::string> queues) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setTenant(tenant);
    to[i].setQueue(queues[i]);
  }
}

/// Writes names and patterns into the lists of queues and prefixes of a hello or a claim.
template <class Builder>
void fill_patterns(
  Builder root, const std::string& tenant, std::span<const std::string> queues) {
  std::vector<std::string> names;
  std::vector<std::string> prefixes;
  for (const auto& text : queues)
    if (text.ends_with('*'))
      prefixes.push_back(text.substr(0, text.size() - 1));
    else
      names.push_back(text);
  fill_queues(root.initQueues(static_cast<unsigned>(names.size())), tenant, names);
  if (!prefixes.empty())
    fill_queues(root.initPrefixes(static_cast<unsigned>(prefixes.size())), tenant, prefixes);
}

} // namespace

std::vector<protocol::heartbeat_request>
make_heartbeats(std::vector<beat> beats, std::uint64_t number) {
  auto by_shard = [](const beat& a, const beat& b) { return a.key < b.key; };
  std::sort(beats.begin(), beats.end(), by_shard);
  std::vector<protocol::heartbeat_request> made;
  for (std::size_t begin = 0; begin < beats.size();) {
    auto end = begin;
    while (end < beats.size() && beats[end].key.shard == beats[begin].key.shard
           && end - begin < tuning::beats_per_request_max)
      ++end;
    made.push_back(make_heartbeat(std::span(beats).subspan(begin, end - begin), number));
    begin = end;
  }
  return made;
}

std::vector<protocol::heartbeat_request>
make_progress(std::vector<progress_of> said, std::uint64_t number) {
  auto by_shard = [](const auto& a, const auto& b) { return a.lease.key < b.lease.key; };
  std::sort(said.begin(), said.end(), by_shard);
  std::vector<protocol::heartbeat_request> made;
  for (std::size_t begin = 0; begin < said.size();) {
    auto end = begin;
    std::size_t bytes = 0;
    while (end < said.size() && said[end].lease.key.shard == said[begin].lease.key.shard
           && bytes + checkpoint_bytes(said[end]) <= tuning::checkpoint_bytes_per_request_max)
      bytes += checkpoint_bytes(said[end++]);
    made.push_back(make_progress_of_shard(std::span(said).subspan(begin, end - begin), number));
    begin = end;
  }
  return made;
}

std::vector<protocol::resume_request>
make_resumes(const std::vector<beat>& held, std::size_t shards) {
  std::vector<std::vector<const beat*>> by_shard(shards);
  for (const auto& lease : held)
    if (value(lease.key.shard) < shards)
      by_shard[value(lease.key.shard)].push_back(&lease);
  std::vector<protocol::resume_request> made;
  for (std::size_t shard = 0; shard < shards; ++shard)
    made.push_back(make_resume(static_cast<shard_id>(shard), by_shard[shard]));
  return made;
}

protocol::resume_request make_resume(
  shard_id shard, const std::vector<const beat*>& held, replication::epoch_number epoch) {
  return protocol::resume_request::build([&](schema::ResumeRequest::Builder root) {
    root.setShard(value(shard));
    root.setEpoch(epoch);
    auto lines = root.initLeases(static_cast<unsigned>(held.size()));
    for (unsigned i = 0; i < lines.size(); ++i) {
      lines[i].setSeq(held[i]->seq);
      lines[i].setToken(value(held[i]->key.token));
    }
  });
}

protocol::result_request make_results(const outbox::batch& batch) {
  std::size_t text_bytes = 0;
  std::size_t total = 0;
  for (const auto* made : batch.reports) {
    text_bytes += made->text.size();
    total += made->byte_size();
  }
  return protocol::result_request::build(
    [&](schema::ResultRequest::Builder root) {
      root.setShard(value(batch.shard));
      auto lines = root.initReports(static_cast<unsigned>(batch.reports.size()));
      for (unsigned i = 0; i < lines.size(); ++i)
        fill_report(lines[i], *batch.reports[i]);
      fill_texts(root.initTexts(), batch, text_bytes);
    },
    batch.reports.size() * 6 + total / sizeof(capnp::word) + 32);
}

protocol::claim_request make_claim(std::size_t credits, std::size_t batch_tasks) {
  return protocol::claim_request::build(
    [&](schema::ClaimRequest::Builder root) {
      root.setCredits(static_cast<std::uint32_t>(credits));
      root.setBatchTasks(static_cast<std::uint32_t>(batch_tasks));
    },
    8);
}

protocol::claim_request make_take_back(std::size_t credits) {
  return protocol::claim_request::build(
    [&](schema::ClaimRequest::Builder root) {
      root.setTakeBack(static_cast<std::uint32_t>(credits));
    },
    8);
}

protocol::claim_request make_reach(bool reaches_all) {
  using reach = schema::ClaimRequest::Reach;
  return protocol::claim_request::build(
    [&](schema::ClaimRequest::Builder root) {
      root.setReach(reaches_all ? reach::ALL : reach::SOME);
    },
    8);
}

protocol::claim_request
make_queue_change(
  const std::string& tenant,
  std::span<const std::string> queues,
  std::span<const std::string> without) {
  return protocol::claim_request::build([&](schema::ClaimRequest::Builder root) {
    root.setSetsQueues(true);
    fill_patterns(root, tenant, queues);
    if (!without.empty())
      fill_queues(root.initWithout(static_cast<unsigned>(without.size())), tenant, without);
  });
}

protocol::hello make_hello(
  const worker_identity& self,
  const std::string& tenant,
  std::span<const std::string> queues,
  const std::string& token) {
  return protocol::hello::build([&](schema::Hello::Builder root) {
    root.setMinVersion(protocol::version);
    root.setMaxVersion(protocol::version);
    root.setRole(schema::Role::WORKER);
    root.setName(self.name);
    root.setIncarnation(self.incarnation);
    root.setTakesMap(true);
    root.setToken({reinterpret_cast<const capnp::byte*>(token.data()), token.size()});
    fill_patterns(root, tenant, queues);
  });
}

} // namespace codeq::worker
