// SPDX-License-Identifier: Apache-2.0
#include "record.capnp.h"
#include "storage/record_build.hpp"
#include "storage/record_codec.hpp"

namespace codeq::storage {

std::string encode(const core::lease_checkpoint& checkpoint, timestamp at) {
  auto words = small_words + checkpoint.data.size() / sizeof(capnp::word);
  return build<schema::CheckpointRecord>(words, [&](auto r) {
    r.setToken(value(checkpoint.mark.token));
    r.setNumber(checkpoint.mark.number);
    r.setAtMs(ms_of(at));
    auto data = checkpoint.data.view();
    r.setData({reinterpret_cast<const kj::byte*>(data.data()), data.size()});
  });
}

result<checkpoint_record> decode_task_checkpoint(std::string_view value, sequence seq) {
  return parse<schema::CheckpointRecord>(value, [&](auto r) -> result<checkpoint_record> {
    auto data = r.getData().asChars();
    checkpoint_record record;
    record.checkpoint.seq = seq;
    record.checkpoint.mark = {static_cast<fencing_token>(r.getToken()), r.getNumber()};
    record.checkpoint.data = bytes::from(std::string(data.begin(), data.size()));
    record.at = time_of(r.getAtMs());
    return record;
  });
}

} // namespace codeq::storage
