// SPDX-License-Identifier: Apache-2.0
#include "core/commands/routing.hpp"

#include <string>

namespace codeq::core {

namespace {

constexpr std::uint64_t fnv_offset = 0xcbf29ce484222325ull;
constexpr std::uint64_t fnv_prime = 0x100000001b3ull;

std::uint64_t add(std::uint64_t hash, std::string_view text) {
  for (auto c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * fnv_prime;
  return hash;
}

/// Spreads every bit over all others, since the remainder depends on the low ones only.
std::uint64_t mix(std::uint64_t hash) {
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdull;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ull;
  return hash ^ hash >> 33;
}

} // namespace

shard_id shard_of_name(
  const queue_address& queue, std::string_view name, std::uint16_t shard_count) noexcept {
  constexpr std::string_view zero{"\0", 1};
  auto hash = add(add(fnv_offset, queue.tenant), zero);
  hash = add(add(hash, queue.queue), zero);
  return static_cast<shard_id>(mix(add(hash, name)) % shard_count);
}

shard_id shard_of_limit_key(
  std::string_view tenant, const task_limit& use, std::uint16_t shard_count) noexcept {
  constexpr std::string_view zero{"\0", 1};
  constexpr std::string_view of_limits{"\1", 1};
  auto hash = add(add(add(fnv_offset, of_limits), tenant), zero);
  hash = add(add(hash, use.name), zero);
  return static_cast<shard_id>(mix(add(hash, use.key)) % shard_count);
}

std::optional<shard_id> shard_of_task(
  const queue_address& queue,
  std::string_view name,
  const std::vector<task_limit>& limits,
  std::uint16_t shard_count) noexcept {
  if (!name.empty())
    return shard_of_name(queue, name, shard_count);
  if (!limits.empty())
    return shard_of_limit_key(queue.tenant, limits.front(), shard_count);
  return std::nullopt;
}

shard_id
shard_of_follow_up(const enqueue_run& run, shard_id own, std::uint16_t shard_count) noexcept {
  const auto& name = run.group.empty() ? run.key : run.group;
  return shard_of_task(run.queue, name, run.limits, shard_count).value_or(own);
}

} // namespace codeq::core
