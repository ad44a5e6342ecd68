// SPDX-License-Identifier: Apache-2.0
#include "maintenance/key_words.hpp"

#include "codeq/limits.hpp"

#include <array>

namespace codeq::maintenance {

namespace {

constexpr std::size_t told_bytes_max = 64;
constexpr unsigned epoch_shift = 39;

std::string hex(std::string_view bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (char c : bytes.substr(0, told_bytes_max)) {
    auto byte = static_cast<unsigned char>(c);
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return bytes.size() > told_bytes_max ? text + "..." : text;
}

std::string numbered(const char* kind, shard_id shard, std::uint64_t number) {
  return std::string(kind) + " " + std::to_string(value(shard)) + "/" + number_in_words(number);
}

std::string named(const char* kind, shard_id shard, const std::string& name) {
  return std::string(kind) + " " + std::to_string(value(shard)) + "/" + name;
}

} // namespace

std::string number_in_words(std::uint64_t number) {
  return std::to_string(number >> epoch_shift) + ":"
         + std::to_string(number & limits::token_counter_max);
}

std::string bytes_in_words(std::string_view key) {
  return "key 0x" + hex(key);
}

std::string in_words(const storage::shard_key& key) {
  return "checkpoint " + std::to_string(value(key.shard));
}

std::string in_words(const storage::segment_key& key) {
  return numbered("segment", key.shard, key.first);
}

std::string in_words(const storage::aside_key& key) {
  return numbered("aside", key.shard, key.first);
}

std::string in_words(const storage::grant_key& key) {
  return numbered("grant", key.shard, key.position);
}

std::string in_words(const storage::outcome_key& key) {
  return numbered("outcome", key.shard, key.position);
}

std::string in_words(const storage::change_key& key) {
  return numbered("change", key.shard, key.position);
}

std::string in_words(const storage::queue_key& key) {
  return named("queue", key.shard, key.queue.tenant + "/" + key.queue.queue);
}

std::string in_words(const storage::follow_up_key& key) {
  return numbered("follow-up", key.shard, key.position);
}

std::string in_words(const storage::block_key& key) {
  return numbered("block", key.shard, key.first);
}

std::string in_words(const storage::fate_key& key) {
  return numbered("fate", key.shard, key.first);
}

std::string in_words(const storage::dead_key& key) {
  return numbered("dead", key.shard, key.seq);
}

std::string in_words(const storage::key_key& key) {
  // Group and key are any bytes of the producer's.
  return named("key", key.shard, key.name.queue.tenant + "/" + key.name.queue.queue) + " group 0x"
         + hex(key.name.group) + " name 0x" + hex(key.name.key);
}

std::string in_words(const storage::body_key& key) {
  return numbered("body", key.shard, key.seq);
}

std::string in_words(const storage::checkpoint_key& key) {
  return numbered("task-checkpoint", key.shard, key.seq);
}

std::string in_words(const storage::producer_key& key) {
  return named(
    "producer",
    key.shard,
    std::to_string(key.producer.high) + "-" + std::to_string(key.producer.low));
}

std::string in_words(const storage::history_key& key) {
  return numbered("history", key.shard, key.seq) + "#" + std::to_string(key.slot);
}

} // namespace codeq::maintenance
