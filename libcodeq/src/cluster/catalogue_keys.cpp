// SPDX-License-Identifier: Apache-2.0
#include "cluster/catalogue_keys.hpp"

#include "codeq/limits.hpp"

#include "base/assert.hpp"

#include <charconv>

namespace codeq::cluster {

namespace {

constexpr std::string_view nodes = "nodes/";
constexpr std::string_view shards = "shards/";

} // namespace

catalogue_keys::catalogue_keys(std::string_view cluster)
  : prefix_(std::string(catalogue_root) + std::string(cluster) + "/") {
  CODEQ_ASSERT(is_valid_name(cluster));
}

std::string catalogue_keys::node(std::string_view name) const {
  return prefix_ + std::string(nodes) + std::string(name);
}

std::string catalogue_keys::shard(shard_id number) const {
  return prefix_ + std::string(shards) + std::to_string(codeq::value(number));
}

catalogue_keys::parsed catalogue_keys::parse(std::string_view key) const {
  if (key == cluster())
    return cluster_key{};
  if (key == controller())
    return controller_key{};
  if (!key.starts_with(prefix_))
    return other_key{};
  key.remove_prefix(prefix_.size());
  if (key.starts_with(nodes) && is_valid_name(key.substr(nodes.size())))
    return node_key{std::string(key.substr(nodes.size()))};
  if (!key.starts_with(shards))
    return other_key{};
  const auto digits = key.substr(shards.size());
  std::uint16_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const auto is_number = read.ec == std::errc{} && read.ptr == digits.data() + digits.size();
  if (!is_number || number >= limits::shards_max || digits != std::to_string(number))
    return other_key{};
  return shard_key{shard_id{number}};
}

} // namespace codeq::cluster
