// SPDX-License-Identifier: Apache-2.0
#include "encoding/shared_structs.hpp"
#include "record.capnp.h"
#include "storage/record_build.hpp"
#include "storage/record_codec.hpp"

namespace codeq::storage {

std::string encode(const core::queue_configured& e) {
  return build<schema::QueueRecord>(small_words, [&](auto r) {
    r.setPosition(e.position);
    r.setAtMs(ms_of(e.at));
    encoding::write_config(r, e.settings.config);
    r.setPaused(e.settings.paused);
  });
}

result<core::queue_configured> decode_queue(std::string_view value, const queue_address& queue) {
  return parse<schema::QueueRecord>(value, [&](auto r) -> result<core::queue_configured> {
    core::queue_configured e;
    e.position = r.getPosition();
    e.at = time_of(r.getAtMs());
    e.queue = queue;
    e.settings.config = encoding::read_config(r);
    e.settings.paused = r.getPaused();
    return e;
  });
}

} // namespace codeq::storage
