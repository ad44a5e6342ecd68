// SPDX-License-Identifier: Apache-2.0
#include "storage/replica/packed_writes.hpp"

namespace codeq::storage {

std::string encode(shard_id shard, const replication::entry& e) {
  delta d{shard, e.at, e.previous, {}};
  if (const auto* body = packed_of(e)) {
    d.writes = body->packed();
    d.is_synced = body->is_synced();
    d.horizon = body->packed_horizon();
  }
  return encode(d);
}

result<replication::entry> decode_entry(shard_id shard, std::string_view bytes) {
  auto found = decode_delta(bytes);
  if (!found)
    return found.error();
  if (found->shard != shard)
    return error{errc::corruption, "a delta of another shard"};
  replication::entry e{found->at, found->previous, nullptr};
  if (found->writes.empty())
    return e;
  auto writes = unpack(found->writes, shard);
  if (!writes)
    return writes.error();
  packed_writes::horizon_pointer horizon;
  if (!found->horizon.empty()) {
    auto told = unpack_horizon(found->horizon, shard);
    if (!told)
      return told.error();
    horizon = std::make_shared<const shard_horizon>(std::move(*told));
  }
  e.body = std::make_shared<const packed_writes>(
    std::move(*found), std::make_shared<const write_set>(std::move(*writes)), std::move(horizon));
  return e;
}

} // namespace codeq::storage
