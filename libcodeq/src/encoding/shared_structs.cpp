// SPDX-License-Identifier: Apache-2.0
#include "encoding/shared_structs.hpp"

#include "encoding/schema_enums.hpp"

#include <cstring>

namespace codeq::encoding {

namespace {

std::uint64_t count_of(duration d) {
  return static_cast<std::uint64_t>(d.count());
}

duration duration_of(std::uint64_t ms) {
  return duration{static_cast<duration::rep>(ms)};
}

} // namespace

task_settings read_settings(schema::TaskSettings::Reader reader) {
  task_settings s;
  s.max_attempts = reader.getMaxAttempts();
  s.retry.kind = from_schema<retry_kind>(reader.getRetryKind());
  s.retry.base = duration_of(reader.getRetryBaseMs());
  s.retry.cap = duration_of(reader.getRetryCapMs());
  s.lease = duration_of(reader.getLeaseMs());
  s.run_timeout = duration_of(reader.getRunTimeoutMs());
  s.progress_timeout = duration_of(reader.getProgressTimeoutMs());
  s.retention = duration_of(reader.getRetentionMs());
  s.dead_retention = duration_of(reader.getDeadRetentionMs());
  s.when_dead = from_schema<on_dead>(reader.getOnDead());
  return s;
}

void write_settings(schema::TaskSettings::Builder builder, const task_settings& s) {
  // A value above the range stays above it after the conversion.
  builder.setMaxAttempts(
    static_cast<std::uint16_t>(std::min<std::uint32_t>(s.max_attempts, limits::attempts_max + 1)));
  builder.setRetryKind(to_schema(s.retry.kind));
  builder.setRetryBaseMs(count_of(s.retry.base));
  builder.setRetryCapMs(count_of(s.retry.cap));
  builder.setLeaseMs(count_of(s.lease));
  builder.setRunTimeoutMs(count_of(s.run_timeout));
  builder.setProgressTimeoutMs(count_of(s.progress_timeout));
  builder.setRetentionMs(count_of(s.retention));
  builder.setDeadRetentionMs(count_of(s.dead_retention));
  builder.setOnDead(to_schema(s.when_dead));
}

failure_breaker read_breaker(schema::FailureRules::Reader reader) {
  return {reader.getPausePercent(), duration_of(reader.getPauseWindowMs())};
}

std::map<std::string, std::uint32_t>
read_weights(capnp::List<schema::FairnessWeight>::Reader reader) {
  std::map<std::string, std::uint32_t> weights;
  for (auto one : reader) {
    auto key = one.getKey().asChars();
    weights[{key.begin(), key.size()}] = one.getWeight();
  }
  return weights;
}

void write_weights(
  capnp::List<schema::FairnessWeight>::Builder builder,
  const std::map<std::string, std::uint32_t>& weights) {
  capnp::uint i = 0;
  for (const auto& [key, weight] : weights) {
    auto to = builder[i++];
    to.setKey({reinterpret_cast<const kj::byte*>(key.data()), key.size()});
    to.setWeight(weight);
  }
}

std::size_t fairness_words(const queue_config& config) {
  constexpr std::size_t weight_words = 3;
  auto words = config.fairness_header.size() / sizeof(capnp::word);
  for (const auto& [key, weight] : config.fairness_weights)
    words += weight_words + key.size() / sizeof(capnp::word);
  return words;
}

void write_failure_rules(schema::FailureRules::Builder builder, const queue_config& config) {
  builder.setQuarantineAfter(static_cast<std::uint16_t>(config.quarantine_after));
  builder.setPausePercent(static_cast<std::uint8_t>(config.pause_when_failing.percent));
  builder.setPauseWindowMs(count_of(config.pause_when_failing.window));
}

queue_address read_queue(schema::QueueAddress::Reader reader) {
  return {read_text(reader.getTenant()), read_text(reader.getQueue())};
}

void write_queue(schema::QueueAddress::Builder builder, const queue_address& queue) {
  builder.setTenant({queue.tenant.data(), queue.tenant.size()});
  builder.setQueue({queue.queue.data(), queue.queue.size()});
}

producer_id read_producer(schema::ProducerId::Reader reader) {
  return {reader.getHigh(), reader.getLow()};
}

void write_producer(schema::ProducerId::Builder builder, const producer_id& producer) {
  builder.setHigh(producer.high);
  builder.setLow(producer.low);
}

std::vector<core::seq_run> read_runs(capnp::List<schema::SeqRun>::Reader reader) {
  std::vector<core::seq_run> runs;
  runs.reserve(reader.size());
  for (auto run : reader)
    runs.push_back({run.getFirst(), run.getCount()});
  return runs;
}

void write_runs(
  capnp::List<schema::SeqRun>::Builder builder, const std::vector<core::seq_run>& runs) {
  for (capnp::uint i = 0; i < runs.size(); ++i) {
    builder[i].setFirst(runs[i].first);
    builder[i].setCount(runs[i].count);
  }
}

std::optional<std::vector<std::uint32_t>> read_sizes(schema::Packed::Reader reader) {
  std::vector<std::uint32_t> sizes;
  auto ends = reader.getEnds();
  sizes.reserve(ends.size());
  std::uint32_t begin = 0;
  for (auto end : ends) {
    if (end < begin)
      return std::nullopt;
    sizes.push_back(end - begin);
    begin = end;
  }
  if (begin != reader.getBytes().size())
    return std::nullopt;
  return sizes;
}

void write_packed(schema::Packed::Builder builder, std::span<const core::encoded_tasks> pieces) {
  std::size_t count = 0;
  std::size_t byte_count = 0;
  for (const auto& piece : pieces) {
    count += piece.count();
    byte_count += piece.body.size();
  }
  auto data = builder.initBytes(static_cast<capnp::uint>(byte_count));
  auto ends = builder.initEnds(static_cast<capnp::uint>(count));
  auto* to = data.begin();
  capnp::uint index = 0;
  std::uint32_t end = 0;
  for (const auto& piece : pieces) {
    if (!piece.body.empty())
      std::memcpy(to, piece.body.data(), piece.body.size());
    to += piece.body.size();
    for (auto size : piece.sizes)
      ends.set(index++, end += size);
  }
}

void write_packed(schema::Packed::Builder builder, std::span<const bytes> strings) {
  std::size_t byte_count = 0;
  for (const auto& s : strings)
    byte_count += s.size();
  auto data = builder.initBytes(static_cast<capnp::uint>(byte_count));
  auto ends = builder.initEnds(static_cast<capnp::uint>(strings.size()));
  auto* to = data.begin();
  std::uint32_t end = 0;
  for (capnp::uint i = 0; i < strings.size(); ++i) {
    const auto& s = strings[i];
    if (!s.empty())
      std::memcpy(to, s.data(), s.size());
    to += s.size();
    ends.set(i, end += static_cast<std::uint32_t>(s.size()));
  }
}

} // namespace codeq::encoding
