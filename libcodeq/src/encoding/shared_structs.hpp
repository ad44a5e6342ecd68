// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "common.capnp.h"
#include "core/commands/encoded_tasks.hpp"
#include "core/commands/event.hpp"
#include "core/commands/queue_settings.hpp"
#include "encoding/limit_structs.hpp"
#include "task.capnp.h"

#include <span>
#include <string>
#include <vector>

/// Conversions between schema structs and C++ values. They do not check bounds;
/// `protocol/convert.hpp` does. May throw `kj::Exception` on malformed input.
namespace codeq::encoding {

[[nodiscard]] inline std::string read_text(capnp::Text::Reader reader) {
  return {reader.cStr(), reader.size()};
}

[[nodiscard]] task_settings read_settings(schema::TaskSettings::Reader reader);
void write_settings(schema::TaskSettings::Builder builder, const task_settings& settings);

[[nodiscard]] failure_breaker read_breaker(schema::FailureRules::Reader reader);
void write_failure_rules(schema::FailureRules::Builder builder, const queue_config& config);

[[nodiscard]] std::map<std::string, std::uint32_t>
read_weights(capnp::List<schema::FairnessWeight>::Reader reader);
void write_weights(
  capnp::List<schema::FairnessWeight>::Builder builder,
  const std::map<std::string, std::uint32_t>& weights);

/// Upper bound of the words that the header and the weights of fairness keys take.
[[nodiscard]] std::size_t fairness_words(const queue_config& config);

/// Reads a `queue_config` without its weights of fairness keys.
template <class Reader>
[[nodiscard]] queue_config read_unweighted_config(Reader reader) {
  return {
    read_settings(reader.getDefaults()),
    reader.getMaxDepthWhole(),
    reader.getMaxLeasedWhole(),
    reader.getKeepPayload(),
    reader.getFailures().getQuarantineAfter(),
    read_breaker(reader.getFailures()),
    read_queue_limits(reader.getLimits()),
    read_text(reader.getFairnessHeader()),
    {},
    reader.getMaxLeased(),
    reader.getMaxDepth()};
}

/// Reads a `queue_config` from a message or record that has its fields.
template <class Reader>
[[nodiscard]] queue_config read_config(Reader reader) {
  auto config = read_unweighted_config(reader);
  config.fairness_weights = read_weights(reader.getFairnessWeights());
  return config;
}

template <class Builder>
void write_config(Builder builder, const queue_config& config) {
  write_settings(builder.initDefaults(), config.defaults);
  builder.setMaxDepth(config.max_depth_part);
  builder.setMaxDepthWhole(config.max_depth);
  builder.setMaxLeased(config.max_leased_part);
  builder.setMaxLeasedWhole(config.max_leased);
  builder.setKeepPayload(config.keep_payload);
  write_failure_rules(builder.initFailures(), config);
  if (!config.limits.empty())
    write_queue_limits(
      builder.initLimits(static_cast<capnp::uint>(config.limits.size())), config.limits);
  if (!config.fairness_header.empty())
    builder.setFairnessHeader({config.fairness_header.data(), config.fairness_header.size()});
  if (!config.fairness_weights.empty())
    write_weights(
      builder.initFairnessWeights(static_cast<capnp::uint>(config.fairness_weights.size())),
      config.fairness_weights);
}

[[nodiscard]] queue_address read_queue(schema::QueueAddress::Reader reader);
void write_queue(schema::QueueAddress::Builder builder, const queue_address& queue);

[[nodiscard]] producer_id read_producer(schema::ProducerId::Reader reader);
void write_producer(schema::ProducerId::Builder builder, const producer_id& producer);

[[nodiscard]] std::vector<core::seq_run> read_runs(capnp::List<schema::SeqRun>::Reader reader);
void write_runs(
  capnp::List<schema::SeqRun>::Builder builder, const std::vector<core::seq_run>& runs);

/// Sizes of the packed strings; empty when the ends do not ascend or do not fit the bytes.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> read_sizes(schema::Packed::Reader reader);

/// Packs the pieces one after the other; this is the only copy of the bodies on their way out.
void write_packed(schema::Packed::Builder builder, std::span<const core::encoded_tasks> pieces);

/// Packs one string per element.
void write_packed(schema::Packed::Builder builder, std::span<const bytes> strings);

/// Number of words that a message needs for packed strings of that size and number.
[[nodiscard]] constexpr std::size_t packed_words(std::size_t byte_count, std::size_t strings) {
  return byte_count / 8 + strings / 2 + 16;
}

} // namespace codeq::encoding
