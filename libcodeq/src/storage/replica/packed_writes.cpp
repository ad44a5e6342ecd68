// SPDX-License-Identifier: Apache-2.0
#include "storage/replica/packed_writes.hpp"

namespace codeq::storage {

std::string encode(shard_id shard, const replication::entry& e) {
  const auto* body = packed_of(e);
  return encode(delta{
    shard, e.at, e.previous, body ? body->packed() : std::string{}, body && body->is_synced()});
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
  e.body = std::make_shared<const packed_writes>(
    std::make_shared<const std::string>(std::move(found->writes)),
    std::make_shared<const write_set>(std::move(*writes)),
    found->is_synced);
  return e;
}

} // namespace codeq::storage
