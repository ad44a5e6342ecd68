// SPDX-License-Identifier: Apache-2.0
#include "storage/records/replica_codec.hpp"

#include "base/assert.hpp"
#include "base/crc32c.hpp"
#include "record.capnp.h"
#include "storage/keys/keyspace.hpp"
#include "storage/records/record_build.hpp"

#include <limits>
#include <optional>

namespace codeq::storage {

namespace {

template <class Integer>
void append_little_endian(std::string& out, Integer number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    out.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

template <class Integer>
Integer read_raw(std::string_view bytes) {
  Integer number = 0;
  for (std::size_t i = sizeof number; i-- > 0;)
    number = static_cast<Integer>(number << 8 | static_cast<unsigned char>(bytes[i]));
  return number;
}

/// Bytes of a packed write before its key: kind, size of the key, size of the value.
constexpr std::size_t write_head_bytes = 1 + sizeof(std::uint16_t) + sizeof(std::uint32_t);

/// Stored in deltas, never renumber.
constexpr std::uint8_t packed_kind(write_set::kind what) {
  switch (what) {
  case write_set::kind::put:
    return 1;
  case write_set::kind::remove:
    return 2;
  case write_set::kind::single_remove:
    return 3;
  }
  CODEQ_ASSERT(!"unknown kind of write");
  return 0;
}

std::optional<write_set::kind> unpacked_kind(std::uint8_t number) {
  for (auto what :
       {write_set::kind::put, write_set::kind::remove, write_set::kind::single_remove})
    if (packed_kind(what) == number)
      return what;
  return std::nullopt;
}

/// Takes `size` bytes from the front; empty when there are fewer.
std::optional<std::string_view> take(std::string_view& bytes, std::size_t size) {
  if (bytes.size() < size)
    return std::nullopt;
  auto taken = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return taken;
}

std::uint32_t checksum_of(const delta& d) {
  std::string head;
  append_little_endian(head, value(d.shard));
  append_little_endian(head, d.at.epoch);
  append_little_endian(head, d.at.number);
  append_little_endian(head, d.previous.epoch);
  // The checksum of another delta is as it was before there was this mark.
  if (d.is_synced)
    append_little_endian(head, std::uint8_t{1});
  return base::crc32c(d.writes, base::crc32c(head));
}

/// Not part of the other checksum, which older versions compute, too.
std::uint32_t horizon_checksum_of(const delta& d) {
  return d.horizon.empty() ? 0 : base::crc32c(d.horizon, checksum_of(d));
}

} // namespace

std::string encode(const replica_record& record) {
  return build<schema::ReplicaRecord>(small_words, [&](auto r) {
    r.setId(static_cast<std::uint64_t>(record.id));
    r.setPromisedEpoch(record.promised);
    r.setIsIncomplete(record.is_incomplete);
    r.setIsDoubtful(record.is_doubtful);
  });
}

result<replica_record> decode_replica(std::string_view value) {
  return parse<schema::ReplicaRecord>(value, [](auto r) -> result<replica_record> {
    return replica_record{
      replication::replica_id{r.getId()},
      r.getPromisedEpoch(),
      r.getIsIncomplete(),
      r.getIsDoubtful()};
  });
}

std::string encode(replication::position at) {
  return build<schema::ReplicaPositionRecord>(small_words, [&](auto r) {
    r.setEpoch(at.epoch);
    r.setNumber(at.number);
  });
}

result<replication::position> decode_position(std::string_view value) {
  return parse<schema::ReplicaPositionRecord>(value, [](auto r) -> result<replication::position> {
    return replication::position{r.getEpoch(), r.getNumber()};
  });
}

std::string encode_epoch_start(std::uint64_t number) {
  return build<schema::EpochStartRecord>(small_words, [&](auto r) { r.setNumber(number); });
}

result<std::uint64_t> decode_epoch_start(std::string_view value) {
  return parse<schema::EpochStartRecord>(
    value, [](auto r) -> result<std::uint64_t> { return r.getNumber(); });
}

std::string encode(const boot_record& record) {
  return build<schema::BootRecord>(small_words, [&](auto r) {
    r.setBootId(record.boot_id.c_str());
    r.setIsClosed(record.is_closed);
    r.setIsSynced(record.is_synced);
  });
}

result<boot_record> decode_boot(std::string_view value) {
  return parse<schema::BootRecord>(value, [](auto r) -> result<boot_record> {
    return boot_record{r.getBootId().cStr(), r.getIsClosed(), r.getIsSynced()};
  });
}

std::string pack(const write_set& writes) {
  std::string packed;
  packed.reserve(writes.byte_size() + writes.operations().size() * write_head_bytes);
  for (const auto& operation : writes.operations()) {
    CODEQ_ASSERT(operation.key.size() <= std::numeric_limits<std::uint16_t>::max());
    packed.push_back(static_cast<char>(packed_kind(operation.what)));
    append_little_endian(packed, static_cast<std::uint16_t>(operation.key.size()));
    append_little_endian(packed, static_cast<std::uint32_t>(operation.value.size()));
    packed += operation.key;
    packed += operation.value;
  }
  return packed;
}

result<write_set> unpack(std::string_view packed, shard_id shard) {
  write_set writes;
  while (!packed.empty()) {
    auto head = take(packed, write_head_bytes);
    if (!head)
      return mismatch("packed writes that end within a write");
    auto what = unpacked_kind(static_cast<std::uint8_t>(head->front()));
    auto key = take(packed, read_raw<std::uint16_t>(head->substr(1)));
    auto value = take(packed, read_raw<std::uint32_t>(head->substr(3)));
    if (!what || !key || !value)
      return mismatch("packed writes of an unknown kind or size");
    if (!is_data_of(shard, *key))
      return mismatch("packed writes of a key that is not of the shard's data");
    if (*what == write_set::kind::put)
      writes.put(std::string(*key), std::string(*value));
    else if (*what == write_set::kind::remove)
      writes.remove(std::string(*key));
    else
      writes.single_remove(std::string(*key));
  }
  return writes;
}

std::string encode(const delta& d) {
  CODEQ_ASSERT(d.previous.number + 1 == d.at.number);
  auto words = small_words + (d.writes.size() + d.horizon.size()) / sizeof(capnp::word);
  return build<schema::DeltaRecord>(words, [&](auto r) {
    r.setShard(value(d.shard));
    r.setEpoch(d.at.epoch);
    r.setNumber(d.at.number);
    r.setPreviousEpoch(d.previous.epoch);
    r.setWrites({reinterpret_cast<const kj::byte*>(d.writes.data()), d.writes.size()});
    r.setChecksum(checksum_of(d));
    r.setIsSynced(d.is_synced);
    if (!d.horizon.empty())
      r.setHorizon({reinterpret_cast<const kj::byte*>(d.horizon.data()), d.horizon.size()});
    r.setHorizonChecksum(horizon_checksum_of(d));
  });
}

result<delta> decode_delta(std::string_view value) {
  return parse<schema::DeltaRecord>(value, [](auto r) -> result<delta> {
    auto writes = r.getWrites().asChars();
    auto horizon = r.getHorizon().asChars();
    delta d{
      shard_id{r.getShard()},
      {r.getEpoch(), r.getNumber()},
      {r.getPreviousEpoch(), r.getNumber() - 1},
      std::string(writes.begin(), writes.size()),
      r.getIsSynced(),
      std::string(horizon.begin(), horizon.size())};
    if (d.at.number == 0 || d.at.epoch < d.previous.epoch)
      return mismatch("a delta without a place");
    if (checksum_of(d) != r.getChecksum() || horizon_checksum_of(d) != r.getHorizonChecksum())
      return mismatch("a delta with a wrong checksum");
    return d;
  });
}

} // namespace codeq::storage
