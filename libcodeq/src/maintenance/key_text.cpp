// SPDX-License-Identifier: Apache-2.0
#include "maintenance/key_text.hpp"

#include "base/tuning.hpp"

#include <array>

namespace codeq::maintenance {

namespace {

constexpr std::size_t shown_bytes_max = 64;
constexpr unsigned epoch_shift = 39;

std::string hex(std::string_view bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (char c : bytes.substr(0, shown_bytes_max)) {
    auto byte = static_cast<unsigned char>(c);
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return bytes.size() > shown_bytes_max ? text + "..." : text;
}

constexpr std::string_view name_of(storage::key_tag kind) {
  using storage::key_tag;
  switch (kind) {
  case key_tag::aside:
    return "aside";
  case key_tag::block:
    return "block";
  case key_tag::shard:
    return "snapshot";
  case key_tag::change:
    return "change";
  case key_tag::copied_fate:
    return "copied-fate";
  case key_tag::fate:
    return "fate";
  case key_tag::grant:
    return "grant";
  case key_tag::history:
    return "history";
  case key_tag::key:
    return "key";
  case key_tag::store:
    return "store";
  case key_tag::producer:
    return "producer";
  case key_tag::queue:
    return "queue";
  case key_tag::totals:
    return "totals";
  case key_tag::body:
    return "body";
  case key_tag::outcome:
    return "outcome";
  case key_tag::segment:
    return "segment";
  case key_tag::follow_up:
    return "follow-up";
  case key_tag::checkpoint:
    return "task-checkpoint";
  case key_tag::headers:
    return "headers";
  case key_tag::dead:
    return "dead";
  case key_tag::audit:
    return "audit";
  case key_tag::schedule:
    return "schedule";
  case key_tag::schedule_progress:
    return "schedule-progress";
  case key_tag::occurrence:
    return "occurrence";
  case key_tag::limit:
    return "limit";
  case key_tag::limit_key:
    return "limit-key";
  case key_tag::permit:
    return "permit";
  case key_tag::replica:
    return "replica";
  }
  return "key";
}

std::string named(storage::key_tag kind, shard_id shard, const std::string& name) {
  return std::string(name_of(kind)) + " " + std::to_string(value(shard)) + "/" + name;
}

} // namespace

std::string number_in_words(std::uint64_t number) {
  return std::to_string(number >> epoch_shift) + ":"
         + std::to_string(number & tuning::token_counter_max);
}

std::string numbered_in_words(storage::key_tag kind, shard_id shard, std::uint64_t number) {
  return named(kind, shard, number_in_words(number));
}

std::string bytes_in_words(std::string_view key) {
  return "key 0x" + hex(key);
}

std::string in_words(const storage::shard_key& key) {
  return "snapshot " + std::to_string(value(key.shard));
}

std::string in_words(const storage::replica_key& key) {
  return "replica " + std::to_string(value(key.shard));
}

std::string in_words(const storage::replica_position_key& key) {
  return "replica position " + std::to_string(value(key.shard));
}

std::string in_words(const storage::epoch_start_key& key) {
  return named(storage::key_tag::replica, key.shard, "epoch " + std::to_string(key.epoch));
}

std::string queue_in_words(storage::key_tag kind, shard_id shard, const queue_address& queue) {
  return named(kind, shard, queue.tenant + "/" + queue.queue);
}

std::string in_words(const storage::key_key& key) {
  // Group and key are arbitrary bytes from the producer.
  return named(storage::key_tag::key, key.shard, key.name.queue.tenant + "/" + key.name.queue.queue)
         + " group 0x" + hex(key.name.group) + " name 0x" + hex(key.name.key);
}

std::string in_words(const storage::producer_key& key) {
  return named(
    storage::key_tag::producer,
    key.shard,
    std::to_string(key.producer.high) + "-" + std::to_string(key.producer.low));
}

std::string in_words(const storage::audit_key& key) {
  return named(
    storage::key_tag::audit,
    key.shard,
    std::to_string(key.at_ms) + "-" + std::to_string(key.operation) + " "
      + number_in_words(key.position));
}

std::string in_words(const storage::occurrence_key& key) {
  const auto& [tenant, name] = key.schedule;
  return named(storage::key_tag::occurrence, key.shard, tenant + "/" + name) + "#"
         + std::to_string(key.slot);
}

std::string in_words(const storage::limit_name_key& key) {
  return named(storage::key_tag::limit, key.shard, key.limit.tenant + "/" + key.limit.name);
}

std::string in_words(const storage::limit_key_key& key) {
  // Keys are any bytes.
  return named(storage::key_tag::limit_key, key.shard, key.limit.tenant + "/" + key.limit.name)
         + " 0x" + hex(key.key);
}

std::string in_words(const storage::permit_key& key) {
  return named(
    storage::key_tag::permit, key.shard,
    std::to_string(value(key.asker)) + "#" + std::to_string(key.number));
}

std::string in_words(const storage::history_key& key) {
  return named(storage::key_tag::history, key.shard, number_in_words(key.seq)) + "#"
         + std::to_string(key.slot);
}

} // namespace codeq::maintenance
