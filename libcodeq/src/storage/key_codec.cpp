// SPDX-License-Identifier: Apache-2.0
#include "record.capnp.h"
#include "storage/record_build.hpp"
#include "storage/record_codec.hpp"

namespace codeq::storage {

std::string encode(const core::retained_key& record) {
  return build<schema::KeyRecord>(small_words, [&](auto r) {
    r.setSeq(record.seq);
    r.setSince(record.since);
    r.setExpiresAtMs(ms_of(record.expires_at));
  });
}

result<core::retained_key> decode_key(std::string_view value) {
  return parse<schema::KeyRecord>(value, [](auto r) -> result<core::retained_key> {
    return core::retained_key{r.getSeq(), r.getSince(), time_of(r.getExpiresAtMs())};
  });
}

} // namespace codeq::storage
