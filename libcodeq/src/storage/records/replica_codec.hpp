// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "replication/membership.hpp"
#include "storage/write_set.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// Records of a store's replicas, and the deltas that replicas exchange. Decoding errors are
/// `corruption`.
namespace codeq::storage {

/// A replica, apart from its data.
struct replica_record {
  replication::replica_id id{};
  replication::epoch_number promised = 0;
  bool is_incomplete = false;
  bool is_doubtful = false;

  friend bool operator==(const replica_record&, const replica_record&) = default;
};

[[nodiscard]] std::string encode(const replica_record& record);
[[nodiscard]] result<replica_record> decode_replica(std::string_view value);

/// The last delta of a replica.
[[nodiscard]] std::string encode(replication::position at);
[[nodiscard]] result<replication::position> decode_position(std::string_view value);

/// The number of the first delta of an epoch.
[[nodiscard]] std::string encode_epoch_start(std::uint64_t number);
[[nodiscard]] result<std::uint64_t> decode_epoch_start(std::string_view value);

/// How the store was open last.
struct boot_record {
  std::string boot_id;
  bool is_closed = false;
  bool is_synced = false;

  friend bool operator==(const boot_record&, const boot_record&) = default;
};

[[nodiscard]] std::string encode(const boot_record& record);
[[nodiscard]] result<boot_record> decode_boot(std::string_view value);

/// The bytes of writes, as deltas and copies contain them.
[[nodiscard]] std::string pack(const write_set& writes);

/// Reads packed writes of a shard. Errors: also `corruption` when one of them is not of the shard's
/// data, so that no replica can be made to write what belongs to others.
[[nodiscard]] result<write_set> unpack(std::string_view packed, shard_id shard);

/// One delta of a shard.
struct delta {
  shard_id shard{};
  replication::position at;
  replication::position previous;
  /// Packed; empty: the start of an epoch.
  std::string writes;
  /// Synced by every replica before it is confirmed, in both durability modes.
  bool is_synced = false;
  /// The horizon of its snapshot, packed; empty: not said.
  std::string horizon{};

  friend bool operator==(const delta&, const delta&) = default;
};

[[nodiscard]] std::string encode(const delta& d);

/// Does not unpack the writes. Errors: also `corruption` for a wrong checksum.
[[nodiscard]] result<delta> decode_delta(std::string_view value);

} // namespace codeq::storage
