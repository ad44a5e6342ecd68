// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cluster/catalogue_keys.hpp"
#include "cluster/records.hpp"
#include "etcd/messages.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace codeq::cluster {

/// A record and the bytes that etcd has, which the next decision is compared with.
template <class Record>
struct known_record {
  Record record;
  std::string bytes;
  /// The revision of its last change, as far as it is told.
  std::uint64_t modified = 0;
};

/// The latest known records of one cluster. Polls and watches tell changes late, twice or out of
/// order, so a record replaces only an older one. Pure.
class catalogue {
public:
  explicit catalogue(catalogue_keys keys) : keys_(std::move(keys)) {}

  /// What changed; empty when the entry was known already or says nothing.
  using change = std::optional<catalogue_keys::parsed>;

  /// Takes what etcd told about one key.
  change note(const etcd::entry& told);

  /// Takes a complete list of all keys. Nodes and the controller that are not in it are gone.
  /// Returns the keys that changed.
  std::vector<catalogue_keys::parsed> note_all(const etcd::range_answer& all);

  [[nodiscard]] const catalogue_keys& keys() const { return keys_; }

  [[nodiscard]] const std::optional<known_record<cluster_record>>& cluster() const {
    return cluster_;
  }

  [[nodiscard]] const std::optional<known_record<controller_record>>& controller() const {
    return controller_;
  }

  [[nodiscard]] const std::map<std::string, known_record<node_record>>& nodes() const {
    return nodes_;
  }

  [[nodiscard]] const std::map<shard_id, known_record<shard_record>>& shards() const {
    return shards_;
  }

  /// The keys that are there, as far as it is told. Differs from etcd's count when something was
  /// missed.
  [[nodiscard]] std::size_t count() const { return present_.size(); }

  /// Keys whose values cannot be read, with the reason for an operator.
  [[nodiscard]] const std::map<std::string, std::string>& unreadable() const {
    return unreadable_;
  }

private:
  template <class Record>
  std::optional<Record> read(const etcd::entry& told);
  bool note_shard(shard_id number, const etcd::entry& told);
  template <class Record>
  bool note_leased(std::optional<known_record<Record>>& known, const etcd::entry& told);
  bool note_node(const std::string& name, const etcd::entry& told);

  catalogue_keys keys_;
  std::optional<known_record<cluster_record>> cluster_;
  std::optional<known_record<controller_record>> controller_;
  std::map<std::string, known_record<node_record>> nodes_;
  std::map<shard_id, known_record<shard_record>> shards_;
  /// Key -> revision of its last change, of leased keys also after their end.
  std::map<std::string, std::uint64_t> modified_;
  std::set<std::string> present_;
  std::map<std::string, std::string> unreadable_;
};

} // namespace codeq::cluster
