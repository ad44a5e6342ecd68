// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"
#include "codeq/task_limits.hpp"

#include "client/operator_questions.hpp"
#include "client/operator_replies.hpp"
#include "client/shard_walk.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Requests about limits. Every shard has all definitions and is asked for them; a limit key is on
/// the shard that owns it.
namespace codeq::client {

[[nodiscard]] question ask_limit(std::uint16_t shard, const limit_address& limit);

/// All limits of a tenant.
[[nodiscard]] question ask_limits(std::uint16_t shard, const std::string& tenant);

/// A definition for a limit.
struct limit_change {
  limit_address limit;
  limit_definition definition;
  /// Nothing is to be changed.
  bool is_dry_run = false;
};

[[nodiscard]] question
ask_set_limit(std::uint16_t shard, const limit_change& change, operation whole = {});
[[nodiscard]] question
ask_delete_limit(std::uint16_t shard, const limit_address& limit, operation whole = {});

[[nodiscard]] question ask_limit_keys(
  std::uint16_t shard, const limit_address& limit, const limit_keys_request& page);

/// Asks a shard for the first key from this one on. Only the key itself matters; the answer has it
/// if it is in use there: at its owner, or since tasks of the shard wait for its permits.
[[nodiscard]] question
ask_limit_key(std::uint16_t shard, const limit_address& limit, const std::string& key);

/// Adds what the answer to `ask_limit_key` knows of the key that holds the task back: until when it
/// is closed, its next start, and that the tenant has no room for it, which another shard does not
/// know.
void add_owned(task_explanation& to, const limits_part& part, timestamp now);

/// Adds what the answer to `ask_limit_key` knows of the key: its leases, its next start, and until
/// when it is closed. Other shards, whose tasks wait for its permits, do not know that.
void add_owned(limit_key_info& to, const limits_part& part);

/// Whether the shard that owns a key has told its part of an explanation. If it has not, it would
/// take the time of a question once more.
[[nodiscard]] bool has_told(const queue_explanation& why, std::uint16_t shard);

/// Adds the tasks that wait for the key, of another shard's answer to `ask_limit_key`, to what the
/// shard that owns the key has answered. The leases of other shards count at the owner.
void add_waiting(limit_key_info& to, const limits_part& part);

/// Lets the answer to `ask_delete_limit` of all shards count what the limit held `before`. A shard
/// that hears of the change later counts less then, because those before it have let its tasks go.
void count_before(limit_info& deleted, const limit_info& before);

/// The shard that owns a key. @pre shard_count > 0
[[nodiscard]] std::uint16_t
shard_of_key(const limit_address& limit, const std::string& key, std::uint16_t shard_count);

[[nodiscard]] question ask_close_key(
  std::uint16_t shard, const limit_address& limit, const std::string& key, duration how_long);
[[nodiscard]] question
ask_open_key(std::uint16_t shard, const limit_address& limit, const std::string& key);

/// A shard's answer when it may be that it does not have the limit: such an answer has no limits.
[[nodiscard]] result<limits_part> or_absent(result<limits_part> part);

/// A limit over all shards. Errors: `unknown_limit` when none of them has it. @pre !parts.empty()
[[nodiscard]] result<limit_info>
merge_limit(const limit_address& limit, const std::vector<limits_part>& parts);

/// As `merge_limit`, of a dry run: with the forecast for that definition.
[[nodiscard]] result<limit_info>
merge_preview(const limit_change& change, const std::vector<limits_part>& parts);

/// A merged limit without the part of the shards that did not answer, which may have what the
/// others do not.
[[nodiscard]] result<limit_info>
without(const std::vector<shard_id>& missing, result<limit_info> whole);

/// The limits of a tenant over all shards, by name.
[[nodiscard]] limit_list
merge_limits(const std::string& tenant, const told_parts<limits_part>& told);

/// Whether the limit may exist, given the answers to `ask_limit`: a shard that did not answer may
/// have it. Errors: `unknown_limit`.
[[nodiscard]] result<void>
check_exists(const limit_address& limit, const told_parts<limits_part>& told);

/// The first `most` keys over all shards.
[[nodiscard]] limit_keys_page merge_limit_keys(
  const limit_address& limit, told_parts<limits_part> told, std::size_t most);

/// The only key of an answer to `ask_close_key` or `ask_open_key`. Errors: `protocol_error`.
[[nodiscard]] result<limit_key_info> only_key(result<limits_part> part);

} // namespace codeq::client
