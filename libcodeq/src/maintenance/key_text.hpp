// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "storage/keys/keyspace.hpp"

#include <string>
#include <string_view>

/// Keys in words, for operators: `segment 3/1:17` means shard 3, epoch 1, number 17.
namespace codeq::maintenance {

[[nodiscard]] std::string
numbered_in_words(storage::key_tag kind, shard_id shard, std::uint64_t number);

template <storage::key_tag Kind>
[[nodiscard]] std::string in_words(const storage::numbered_key<Kind>& key) {
  return numbered_in_words(Kind, key.shard, key.number);
}

[[nodiscard]] std::string
queue_in_words(storage::key_tag kind, shard_id shard, const queue_address& queue);

template <storage::key_tag Kind>
[[nodiscard]] std::string in_words(const storage::key_of_queue<Kind>& key) {
  return queue_in_words(Kind, key.shard, key.queue);
}

template <storage::key_tag Kind>
[[nodiscard]] std::string in_words(const storage::key_of_schedule<Kind>& key) {
  return queue_in_words(Kind, key.shard, {key.schedule.tenant, key.schedule.name});
}

[[nodiscard]] std::string in_words(const storage::occurrence_key& key);
[[nodiscard]] std::string in_words(const storage::limit_name_key& key);
[[nodiscard]] std::string in_words(const storage::limit_key_key& key);
[[nodiscard]] std::string in_words(const storage::permit_key& key);
[[nodiscard]] std::string in_words(const storage::shard_key& key);
[[nodiscard]] std::string in_words(const storage::replica_key& key);
[[nodiscard]] std::string in_words(const storage::replica_position_key& key);
[[nodiscard]] std::string in_words(const storage::epoch_start_key& key);
[[nodiscard]] std::string in_words(const storage::key_key& key);
[[nodiscard]] std::string in_words(const storage::producer_key& key);
[[nodiscard]] std::string in_words(const storage::audit_key& key);
[[nodiscard]] std::string in_words(const storage::history_key& key);

/// A key of an unknown kind, as bytes.
[[nodiscard]] std::string bytes_in_words(std::string_view key);

/// Epoch and number, for example `1:17`.
[[nodiscard]] std::string number_in_words(std::uint64_t number);

} // namespace codeq::maintenance
